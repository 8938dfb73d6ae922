package journal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"time"
)

const (
	// askTimeout bounds one run of journalctl.
	askTimeout = 10 * time.Second
	// longestEntry bounds one entry as JSON. journald cuts lines at 48 KiB
	// (LineMax=), each byte of which may take six.
	longestEntry = 1 << 20
	// suppressed is the MESSAGE_ID of journald's notice that it dropped messages
	// of a unit. systemd src/systemd/sd-messages.h SD_MESSAGE_JOURNAL_DROPPED.
	suppressed = "a596d6fe7bfa4994828e72309e95d61e"
)

// errEnough is returned by who takes the entries and wants no more.
var errEnough = errors.New("enough")

// ask runs journalctl with the arguments and hands over one entry after the
// other.
type ask func(ctx context.Context, take func(entry) error, arguments ...string) error

// entry is one entry of the journal.
type entry struct {
	cursor string
	// mono is CLOCK_MONOTONIC and wall the wall clock when journald received it.
	mono time.Duration
	wall time.Time
	text string
	// dropped is set for journald's notice that it dropped messages.
	dropped bool
}

// journalctl asks the journal of this host.
func journalctl(ctx context.Context, take func(entry) error, arguments ...string) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "journalctl", arguments...)
	// A child that holds the pipe must not hold up who asks.
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, longestEntry)
	var taken error
	for taken == nil && lines.Scan() {
		var e entry
		if e, taken = parseEntry(lines.Bytes()); taken == nil {
			taken = take(e)
		}
	}
	if taken = errors.Join(taken, lines.Err()); taken != nil && ctx.Err() == nil {
		cancel()
		_ = cmd.Wait() // It was killed.
		if errors.Is(taken, errEnough) {
			return nil
		}
		return taken
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case stderr.Len() > 0:
		// It passes over files that it cannot read, and ends well.
		return fmt.Errorf("journalctl: %s", oneLine(stderr.String()))
	}
	return err
}

// parseEntry reads one line of journalctl -o json.
func parseEntry(line []byte) (entry, error) {
	var fields struct {
		Cursor   string          `json:"__CURSOR"`
		Mono     string          `json:"__MONOTONIC_TIMESTAMP"`
		Wall     string          `json:"__REALTIME_TIMESTAMP"`
		Message  json.RawMessage `json:"MESSAGE"`
		Identity json.RawMessage `json:"MESSAGE_ID"`
	}
	if err := json.Unmarshal(line, &fields); err != nil {
		return entry{}, fmt.Errorf("an entry: %w", err)
	}
	mono, err := strconv.ParseInt(fields.Mono, 10, 64)
	wall, wallErr := strconv.ParseInt(fields.Wall, 10, 64)
	if err != nil || wallErr != nil || mono < 0 || mono > math.MaxInt64/int64(time.Microsecond) || fields.Cursor == "" {
		return entry{}, fmt.Errorf("an entry has no cursor or no time: %q, %q, %q", fields.Cursor, fields.Mono, fields.Wall)
	}
	return entry{cursor: fields.Cursor, mono: time.Duration(mono) * time.Microsecond, wall: time.UnixMicro(wall),
		text: fieldText(fields.Message), dropped: fieldText(fields.Identity) == suppressed}, nil
}

// fieldText is a field's text. journalctl prints what is not printable as an
// array of bytes.
func fieldText(field json.RawMessage) string {
	var text string
	if json.Unmarshal(field, &text) == nil {
		return text
	}
	var octets []byte
	if json.Unmarshal(field, &octets) == nil {
		return string(octets)
	}
	return ""
}
