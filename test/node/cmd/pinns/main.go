// Command pinns pins namespaces for CRI-O: new ones of the wanted types are
// bound to files, so that they live without a process.
//
//	pinns -d DIR -f NAME [-s KEY=VALUE[+KEY=VALUE]...] [--ipc[=host]] [--uts[=host]] [--net[=host]] ...
//
// The file of a type is DIR/<type>ns/NAME. Other options are accepted and
// ignored: boxes do not use user namespaces.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

var flags = map[string]int{"ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "net": unix.CLONE_NEWNET}

type request struct {
	dir, name string
	sysctls   []string
	// host tells for each type that was asked for whether to pin the
	// caller's own.
	host map[string]bool
}

func main() {
	// The namespaces must be this thread's when they are bound.
	runtime.LockOSThread()
	if err := pin(parse(os.Args[1:])); err != nil {
		fmt.Fprintln(os.Stderr, "pinns:", err)
		os.Exit(1)
	}
}

func parse(args []string) request {
	wanted := request{host: map[string]bool{}}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		short := !strings.HasPrefix(args[i], "--")
		if short {
			name, value = args[i], ""
			if i+1 < len(args) {
				i++
				value = args[i]
			}
		}
		switch name {
		case "-d", "--dir":
			wanted.dir = value
		case "-f", "--filename":
			wanted.name = value
		case "-s", "--sysctl": // CRI-O joins several with a plus
			wanted.sysctls = append(wanted.sysctls, strings.Split(value, "+")...)
		case "-i", "-u", "-n", "-U", "-c":
			i-- // these stand alone
		case "--ipc", "--uts", "--net":
			wanted.host[name[2:]] = joined && value == "host"
		}
	}
	return wanted
}

func pin(wanted request) error {
	fresh := 0
	for kind, host := range wanted.host {
		if !host {
			fresh |= flags[kind]
		}
	}
	if err := unix.Unshare(fresh); err != nil {
		return fmt.Errorf("make namespaces: %w", err)
	}
	for _, sysctl := range wanted.sysctls {
		key, value, _ := strings.Cut(sysctl, "=")
		path := filepath.Join("/proc/sys", strings.ReplaceAll(key, ".", "/"))
		if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
			return fmt.Errorf("set %s: %w", key, err)
		}
	}
	for kind := range wanted.host {
		target := filepath.Join(wanted.dir, kind+"ns", wanted.name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		file, err := os.Create(target)
		if err != nil {
			return err
		}
		file.Close()
		source := fmt.Sprintf("/proc/self/task/%d/ns/%s", unix.Gettid(), kind)
		if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s namespace: %w", kind, err)
		}
	}
	return nil
}
