package clock

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Clock is the node's real clock. It may be used by several goroutines.
type Clock struct {
	bootID string
}

var _ node.Clock = (*Clock)(nil)

// New reads the boot ID from a proc file system, normally "/proc". A boot ID
// that cannot be read is empty: then nothing that was remembered of an earlier
// process may be taken for this boot's.
func New(proc string) *Clock {
	id, err := os.ReadFile(filepath.Join(proc, "sys/kernel/random/boot_id"))
	if err != nil {
		return &Clock{}
	}
	return &Clock{bootID: strings.TrimSpace(string(id))}
}

// Now reads the wall clock and CLOCK_BOOTTIME. The wall clock carries no
// monotonic reading, so that differences of it show clock steps.
func (c *Clock) Now() node.Instant {
	return node.Instant{Wall: time.Now().Round(0), Boot: SinceBoot()}
}

// BootID is the boot ID as of New, or empty.
func (c *Clock) BootID() string { return c.bootID }

// SinceBoot is CLOCK_BOOTTIME: the time since boot, with the time in which the
// machine was suspended. It is the scale of start times in /proc/PID/stat.
func SinceBoot() time.Duration {
	var now unix.Timespec
	// The call fails only for an unknown clock or a bad address; Linux has had
	// this clock since 2.6.39.
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		panic("clock_gettime(CLOCK_BOOTTIME): " + err.Error())
	}
	return time.Duration(now.Nano())
}
