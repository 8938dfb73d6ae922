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
		"rendr":        `p has no command "rendr": did you mean render? (all of them: p --help)`,
		"re":           `p has no command "re": did you mean render or report? (all of them: p --help)`,
		"frobnicate":   `p has no command "frobnicate" (all of them: p --help)`,
		"group chekc":  `p group has no command "chekc": did you mean check? (all of them: p group --help)`,
		"group render": `p group has no command "render" (all of them: p group --help)`,
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
