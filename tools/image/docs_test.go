package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/tools/image/program"
)

// What the document tells to type works on a real build, and says what it should.
func TestTheDocumentedCommands(t *testing.T) {
	for _, name := range []string{"jq", "sh", "sha256sum", "cmp", "skopeo"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not there: the document's commands are not run")
		}
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the document's commands are for amd64")
	}
	text, err := os.ReadFile("../../docs/supply-chain.md")
	if err != nil {
		t.Fatal(err)
	}
	tree := built(t)
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(tree, "_output", name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	digest := strings.TrimPrefix(read("image.digest"), "sha256:")
	var sum string
	for block := range strings.SplitSeq(string(text), "```sh build\n") {
		commands, _, ok := strings.Cut(block, "\n```")
		if !ok {
			continue
		}
		for command := range strings.SplitSeq(commands, "\n") {
			switch {
			case strings.HasPrefix(command, "git clone"), strings.HasPrefix(command, "make "), strings.Contains(command, "docker://"):
				// Done by built, of one platform, or in need of a registry.
				continue
			}
			out := run(t, tree, command)
			var want string
			switch {
			case strings.Contains(command, "image.digest"), strings.Contains(command, "oci-archive"):
				want = digest
			case strings.Contains(command, "SHA256SUMS") && strings.HasPrefix(command, "cat"):
				want = "nodekeeper_1.2.3-1_amd64.deb"
			case strings.Contains(command, "SHA256SUMS"):
				want = "nodekeeper_1.2.3-1_amd64.deb: OK"
			case strings.HasSuffix(command, "show"):
				listed(t, out)
			case strings.HasSuffix(command, "show /nodekeeper | sha256sum"):
				sum, _, _ = strings.Cut(out, " ")
			case strings.Contains(command, "checksumValue"):
				want = sum
			case strings.Contains(command, "referenceLocator"):
				want = "pkg:golang/github.com/spf13/cobra@"
			case strings.Contains(command, "licenseDeclared"):
				want = " Apache-2.0\n"
			case strings.Contains(command, "cmp"):
				if out != "" {
					t.Errorf("%s says %s", command, out)
				}
			default:
				t.Errorf("%s: nobody knows what it should say", command)
			}
			if !strings.Contains(out, want) {
				t.Errorf("%s says %q, without %q", command, out, want)
			}
		}
	}
	if sum == "" {
		t.Error("the document does not say how to compare a program")
	}
}

// listed fails unless these are all files but the licences.
func listed(t *testing.T, out string) {
	t.Helper()
	want := []string{"/kubectl-nodekeeper", "/nodekeeper", "/nodekeeper-hook", "/nodekeeper-promote", "/plugins/kubectl-nodekeeper-linux-amd64", "/sbom.spdx.json"}
	var got []string
	for line := range strings.Lines(out) {
		w := strings.Fields(line)
		name := w[len(w)-1]
		if strings.HasPrefix(name, "/licenses/") || strings.HasSuffix(name, "/") {
			continue
		}
		got = append(got, name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("in the image are %q", got)
	}
}

// built is a copy of the source in which an image and packages were made.
func built(t *testing.T) string {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "nodekeeper")
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(tree, sources{os.DirFS(top)}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	for _, what := range []string{"build", "packages"} {
		run(t, tree, "go run -C tools/image . "+what+" -version v1.2.3 -revision abcdef -only linux/amd64")
	}
	return tree
}

func run(t *testing.T, dir, command string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sh", "-c", command)
	c.Dir = dir
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, stderr.String())
	}
	return string(out)
}

// sources are the repository without what programs and packages are not made of.
type sources struct{ fs.FS }

func (s sources) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(s.FS, name)
	return slices.DeleteFunc(all, func(d fs.DirEntry) bool {
		return name == "." && slices.Contains([]string{".git", "_output", "test"}, d.Name())
	}), err
}

func TestTheMakefileAndTheImageCompileAlike(t *testing.T) {
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^BUILD +:= CGO_ENABLED=0 \$\(GO\) build (.*)$`).FindSubmatch(text)
	if m == nil {
		t.Fatal("the Makefile has no BUILD as it used to be")
	}
	flags := slices.DeleteFunc(program.Source{Version: "$(VERSION)"}.Flags(), func(f string) bool { return f == "-buildvcs=false" })
	if got := strings.ReplaceAll(string(m[1]), `"`, ""); got != strings.Join(flags, " ") {
		t.Errorf("the Makefile compiles with %s, the image with %q", got, flags)
	}
}
