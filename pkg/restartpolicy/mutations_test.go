//go:build mutations

package restartpolicy

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Without any one inhibitor, or any one claim of a proof, a test of this package
// fails, or a property of its world does: each is there for a reason that is
// written down. The mutated package is built beside the tree, with an overlay.
func TestEachInhibitorAndClaimIsNeeded(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutations() {
		t.Run(m.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "mutation.go")
			if err := os.WriteFile(file, []byte("package restartpolicy\n\nimport \"github.com/nodekeeper/nodekeeper/pkg/node\"\n\nvar _ = node.Yes\n\nfunc init() {\n"+m.code+"}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(dir, "mutation.go"): file}})
			if err != nil {
				t.Fatal(err)
			}
			at := filepath.Join(t.TempDir(), "overlay.json")
			if err := os.WriteFile(at, overlay, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, by := range [][]string{
				{"test", "-overlay", at, "-failfast", "."},
				{"test", "-overlay", at, "-failfast", "-tags", "world", "-timeout", "60m", "./world"},
			} {
				out, err := exec.Command("go", by...).CombinedOutput()
				if err != nil {
					t.Log("caught by " + failed(string(out)))
					return
				}
			}
			t.Error("no test notices that it is gone")
		})
	}
}

// mutation is one way to break the decision: code for an init function.
type mutation struct{ name, code string }

func mutations() []mutation {
	var out []mutation
	for _, i := range inhibitorTable {
		out = append(out, mutation{"inhibitor/" + i.name, fmt.Sprintf(
			"\tfor i := range inhibitorTable {\n\t\tif inhibitorTable[i].name == %q {\n\t\t\tinhibitorTable[i].why = func(*asked) string { return \"\" }\n\t\t}\n\t}\n", i.name)})
	}
	for _, r := range Rows {
		for _, c := range r.Proof {
			out = append(out, mutation{"claim/" + string(r.State) + "/" + c.name, fmt.Sprintf(
				"\tfor _, r := range Rows {\n\t\tfor i := range r.Proof {\n\t\t\tif r.State == %q && r.Proof[i].name == %q {\n\t\t\t\tr.Proof[i].ask = func(question) (node.Answer, string) { return node.Yes, \"\" }\n\t\t\t}\n\t\t}\n\t}\n", r.State, c.name)})
		}
	}
	return out
}

// failed names what failed.
func failed(out string) string {
	names := regexp.MustCompile(`--- FAIL: (\S+)`).FindAllStringSubmatch(out, -1)
	if len(names) == 0 {
		return strings.TrimSpace(out[max(0, len(out)-400):])
	}
	slices.SortStableFunc(names, func(a, b []string) int { return len(b[1]) - len(a[1]) })
	return names[0][1]
}
