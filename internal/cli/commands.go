package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// OnlyCommands is for the Args of a command that does nothing but hold others:
// an argument that is none of them is told with those that are like it, and
// where all of them are listed.
func OnlyCommands(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	// cobra's own, which it sets only in messages that it writes itself.
	c.SuggestionsMinimumDistance = 2
	meant := ":"
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		meant = ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q%s %s --help lists all", args[0], meant, c.CommandPath())
}
