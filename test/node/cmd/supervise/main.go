// Command supervise holds one box: it mounts the box's root in a mount
// namespace of its own, boots it, and takes everything away again when its
// standard input ends, that is also when the test process was killed.
//
//	supervise DIR          DIR holds spec.json and record.json
//	supervise enter GROUPS... -- COMMAND...   internal: enter control groups, then become COMMAND
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "enter" {
		fail(enter(os.Args[2:]))
		return
	}
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: supervise DIR"))
	}
	// The box ends with standard input, not with the terminal's Ctrl-C.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	fail(supervise(os.Args[1]))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "supervise:", err)
		os.Exit(1)
	}
}

// enter does not return when all goes well. Signals ignored by the supervisor
// would be ignored by everything in the box too.
func enter(args []string) error {
	signal.Reset()
	for len(args) > 0 && args[0] != "--" {
		if err := os.WriteFile(args[0], []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
			return fmt.Errorf("enter control group: %w", err)
		}
		args = args[1:]
	}
	if len(args) < 2 {
		return fmt.Errorf("enter: no command")
	}
	return syscall.Exec(args[1], args[1:], os.Environ())
}
