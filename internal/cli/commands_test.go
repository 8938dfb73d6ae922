package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestAnUnknownCommandIsToldWithThoseLikeIt(t *testing.T) {
	nothing := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "p", Args: OnlyCommands, Run: nothing, SilenceErrors: true, SilenceUsage: true}
	group := &cobra.Command{Use: "group", Args: OnlyCommands, Run: nothing}
	group.AddCommand(&cobra.Command{Use: "check", Run: nothing})
	root.AddCommand(&cobra.Command{Use: "render", Run: nothing}, &cobra.Command{Use: "report", Run: nothing}, group)
	for args, want := range map[string]string{
		"":             "",
		"group":        "",
		"rendr":        `unknown command "rendr": did you mean render? p --help lists all`,
		"re":           `unknown command "re": did you mean render or report? p --help lists all`,
		"frobnicate":   `unknown command "frobnicate": p --help lists all`,
		"group chekc":  `unknown command "chekc": did you mean check? p group --help lists all`,
		"group render": `unknown command "render": p group --help lists all`,
	} {
		root.SetArgs(strings.Fields(args))
		said := ""
		if err := root.Execute(); err != nil {
			said = err.Error()
		}
		if said != want {
			t.Errorf("%q: %s, want %s", args, said, want)
		}
	}
}
