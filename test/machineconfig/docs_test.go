package machineconfig

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/machineconfig"
)

// block is a fenced block of a document.
type block struct{ info, text string }

func blocks(t *testing.T, path string) (out []block) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split("\n"+string(text), "\n```")
	if len(parts)%2 == 0 {
		t.Fatalf("%s: a block is not closed", path)
	}
	for i := 1; i < len(parts); i += 2 {
		info, body, _ := strings.Cut(parts[i], "\n")
		out = append(out, block{info, body})
	}
	return out
}

var documents = []string{"../../docs/install.md", "../../docs/uninstall.md"}

// The commands of the documents that need no cluster, in their order.
func TestTheDocumentsCommandsWork(t *testing.T) {
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range documents {
		out := filepath.Join(t.TempDir(), "out")
		ran := 0
		for _, b := range blocks(t, path) {
			if b.info != "sh" {
				continue
			}
			ran++
			cmd := exec.CommandContext(t.Context(), "bash", "-euc", b.text)
			cmd.Dir = top
			cmd.Env = append(os.Environ(), "MAKEFLAGS=OUT="+out)
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s\n%s", path, err, b.text, text)
			}
		}
		rendered, _ := filepath.Glob(out + "/machineconfig/*/README.md")
		if ran < 2 || len(rendered) == 0 {
			t.Errorf("%s: %d blocks, %q", path, ran, rendered)
		}
	}
}

var file = regexp.MustCompile(`(?m)(?:-f |^cp )(\S+)`)

// Those that need a cluster name files that are rendered.
func TestTheDocumentsNameFilesThatExist(t *testing.T) {
	there := map[string]bool{}
	for _, role := range []string{"master", "worker", "canary"} {
		for _, step := range machineconfig.Steps() {
			for path := range render(t, machineconfig.Options{Role: role, Image: image, Features: machineconfig.Features(), Step: step}) {
				there["_output/machineconfig/"+role+"/"+path] = true
			}
		}
	}
	for _, path := range documents {
		seen := 0
		for _, b := range blocks(t, path) {
			if b.info != "sh" && b.info != "sh cluster" && b.info != "yaml" {
				t.Errorf("%s: a block of %q: neither run nor marked as needing a cluster", path, b.info)
			}
			if b.info != "sh cluster" {
				continue
			}
			dir := ""
			for line := range strings.Lines(b.text) {
				words := strings.Fields(line)
				if words[0] == "cd" {
					dir = words[1] + "/"
					continue
				}
				if !slices.Contains([]string{"oc", "openshift-install", "cp"}, words[0]) {
					t.Errorf("%s: %s needs no cluster", path, line)
				}
				for _, m := range file.FindAllStringSubmatch(line, -1) {
					seen++
					if !exists(there, dir+m[1]) {
						t.Errorf("%s: nothing renders %s", path, dir+m[1])
					}
				}
			}
		}
		if seen == 0 {
			t.Errorf("%s names no files", path)
		}
	}
	// The guides that are rendered name them too.
	each(t, "README.md", func(t *testing.T, _ string, content []byte) {
		for _, m := range file.FindAllStringSubmatch(string(content), -1) {
			if !slices.ContainsFunc([]string{"master", "worker", "canary"}, func(role string) bool {
				return exists(there, "_output/machineconfig/"+role+"/"+m[1])
			}) {
				t.Errorf("nothing renders %s", m[1])
			}
		}
	})
}

// exists takes a file, a directory, or a pattern.
func exists(there map[string]bool, name string) bool {
	for path := range there {
		if ok, _ := filepath.Match(name, path); ok || strings.HasSuffix(name, "/") && strings.HasPrefix(path, name) {
			return true
		}
	}
	return false
}
