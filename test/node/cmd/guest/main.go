// Command guest does in a virtual machine what the test outside asks for: see
// package control.
package main

import (
	"fmt"
	"net/rpc"
	"os"
	"path/filepath"
	"strings"

	"github.com/nodekeeper/nodekeeper/test/node/machine/control"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(1)
	}
}

// serve returns when the other side is gone or not there yet: its unit begins
// again.
func serve() error {
	server := rpc.NewServer()
	if err := server.RegisterName(control.Service, control.Guest{}); err != nil {
		return err
	}
	device, err := device()
	if err != nil {
		return err
	}
	port, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	server.ServeConn(port)
	return nil
}

// device finds the port by its name; there is no udev that would link it.
func device() (string, error) {
	names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
	if err != nil {
		return "", err
	}
	for _, file := range names {
		name, err := os.ReadFile(file)
		if err == nil && strings.TrimSpace(string(name)) == control.Port {
			return filepath.Join("/dev", filepath.Base(filepath.Dir(file))), nil
		}
	}
	return "", fmt.Errorf("no virtual serial port is named %s", control.Port)
}
