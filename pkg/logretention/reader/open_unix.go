//go:build unix

package reader

import (
	"os"
	"syscall"
)

// How files of this machine are opened. O_NONBLOCK keeps a FIFO from being
// waited for, O_DIRECTORY from being opened at all.
const (
	openFile = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
	openDir  = os.O_RDONLY | syscall.O_DIRECTORY | syscall.O_NONBLOCK
)
