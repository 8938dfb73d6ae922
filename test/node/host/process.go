package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Process names one process for good: a process ID alone may be used again.
type Process struct {
	PID int `json:"pid"`
	// Start is the start time in clock ticks since boot (field 22 of
	// /proc/PID/stat).
	Start uint64 `json:"start"`
}

// Self is the calling process.
func Self() Process { return ProcessOf(os.Getpid()) }

// ProcessOf looks a process up; Start is 0 when it is gone.
func ProcessOf(pid int) Process {
	start, _ := startTime(pid)
	return Process{PID: pid, Start: start}
}

// Alive tells whether exactly this process still runs.
func (p Process) Alive() bool {
	if p.PID <= 0 {
		return false
	}
	start, err := startTime(p.PID)
	return err == nil && start == p.Start
}

func startTime(pid int) (uint64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStartTime(string(stat))
}

// parseStartTime counts its fields from the last ')': the command name before
// it may hold blanks and brackets. A zombie counts as gone.
func parseStartTime(stat string) (uint64, error) {
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	if end < 0 || len(fields) < 20 {
		return 0, fmt.Errorf("unreadable process status %q", stat)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return 0, fmt.Errorf("process is dead")
	}
	return strconv.ParseUint(fields[19], 10, 64)
}
