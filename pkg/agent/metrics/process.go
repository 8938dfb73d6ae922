package metrics

import (
	"bytes"
	"os"
	"strconv"
)

// ticks of CPU time in a second, as /proc has them on every Linux platform of
// Go.
const ticks = 100

// addProcess adds what can be read, under the names of Prometheus' own clients.
func (m *Metrics) addProcess(p *page) {
	if cpu, pages, ok := usage(); ok {
		p.add("process_cpu_seconds_total", cpu/ticks)
		p.add("process_resident_memory_bytes", pages*float64(os.Getpagesize()))
	}
	if dir, err := os.Open("/proc/self/fd"); err == nil {
		names, err := dir.Readdirnames(-1)
		_ = dir.Close()
		if err == nil {
			p.add("process_open_fds", float64(len(names)-1)) // this directory is one
		}
	}
	p.add("process_start_time_seconds", float64(m.began.UnixMilli())/1000)
}

// usage reads proc_pid_stat(5). The name in parentheses may hold spaces; the
// field after it is the third.
func usage() (cpu, pages float64, ok bool) {
	data, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, false
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 22 {
		return 0, 0, false
	}
	number := func(field int) float64 {
		n, err := strconv.ParseFloat(string(fields[field-3]), 64)
		ok = ok && err == nil
		return n
	}
	ok = true
	cpu, pages = number(14)+number(15), number(24)
	return cpu, pages, ok
}
