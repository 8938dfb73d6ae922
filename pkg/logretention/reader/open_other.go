//go:build !unix

package reader

import "os"

// How files of this machine are opened, where directories have no FIFOs.
const (
	openFile = os.O_RDONLY
	openDir  = os.O_RDONLY
)
