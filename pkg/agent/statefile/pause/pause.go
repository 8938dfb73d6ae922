package pause

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Name is the file in the state directory.
const Name = "pause.json"

// Longest is the longest pause. Who wants more sets restart.dryRun, or opts a
// pod out by annotation.
const Longest = 7 * 24 * time.Hour

const readLimit = 16 << 10

// Pause is the content of the file.
type Pause struct {
	// Reason is what the admin said, on one line.
	Reason string `json:"reason,omitempty"`
	// Seconds is how long the pause was meant to be.
	Seconds int64 `json:"seconds"`
	// Until is its end on the wall clock of the time when it was set.
	Until time.Time `json:"until"`
	// BootID and BootUntil are its end within the boot in which it was set.
	BootID    string        `json:"bootID"`
	BootUntil time.Duration `json:"bootUntil"`
}

// For returns a pause that begins now.
func For(length time.Duration, reason, bootID string, now node.Instant) (Pause, error) {
	if length < time.Second || length > Longest {
		return Pause{}, fmt.Errorf("a pause of %s is not possible: from 1s to %d days", length, Longest/(24*time.Hour))
	}
	return Pause{
		Reason:    oneLine(reason),
		Seconds:   int64(length / time.Second),
		Until:     now.Wall.Add(length),
		BootID:    bootID,
		BootUntil: now.Boot + length,
	}, nil
}

// left is how long the pause lasts from now on; negative once it is over.
func (p Pause) left(bootID string, now node.Instant) time.Duration {
	if p.BootID == bootID {
		return p.BootUntil - now.Boot
	}
	return min(p.Until.Sub(now.Wall), p.length()-now.Boot)
}

func (p Pause) length() time.Duration { return time.Duration(p.Seconds) * time.Second }

// plausible tells a pause that For may have made: a longer one than it allows
// would never end.
func (p Pause) plausible() bool {
	return p.Seconds > 0 && p.Seconds <= int64(Longest/time.Second) && p.BootUntil >= 0
}

// Active says until when and why all acts are paused, or is empty. It is what
// [node.Observer] asks.
func Active(dir, bootID string, now node.Instant) string {
	p, err := read(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return err.Error() + ": run nodekeeper resume"
	}
	left := p.left(bootID, now)
	if left <= 0 {
		return ""
	}
	if p.BootID == bootID && left > p.length() {
		return filepath.Join(dir, Name) + " lasts longer than it says: run nodekeeper resume"
	}
	text := "until " + now.Wall.Add(left).UTC().Format("2006-01-02 15:04:05 UTC")
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

func read(dir string) (Pause, error) {
	path := filepath.Join(dir, Name)
	data, err := statefile.Read(path, readLimit)
	if err != nil {
		return Pause{}, err
	}
	var p Pause
	if err := json.Unmarshal(data, &p); err != nil {
		return Pause{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if !p.plausible() {
		return Pause{}, fmt.Errorf("%s makes no sense", path)
	}
	return p, nil
}

// Set writes the pause; it holds from the agent's next look on.
func Set(dir string, p Pause) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return statefile.Replace(filepath.Join(dir, Name), append(data, '\n'), 0o600, true)
}

// Clear ends any pause. It is no error if there is none.
func Clear(dir string) error {
	err := os.Remove(filepath.Join(dir, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	runes := []rune(strings.Join(strings.Fields(text), " "))
	return string(runes[:min(len(runes), 200)])
}
