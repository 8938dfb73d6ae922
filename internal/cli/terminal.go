package cli

import (
	"os"

	"golang.org/x/term"
)

// Terminal tells whether what is written to w appears on a screen.
func Terminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
