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

// places are where the blocks that are not run here can be, and the commands
// that such a block may have.
var places = map[string][]string{
	"sh cluster":  {"oc", "openshift-install", "cp"},
	"sh registry": {"make", "go"},
	"sh package":  {"apt-get", "systemctl", "nodekeeper", "rm"},
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
			commands, marked := places[b.info]
			if !marked && !slices.Contains([]string{"sh", "yaml", "ini"}, b.info) {
				t.Errorf("%s: a block of %q: neither run nor marked with what it needs", path, b.info)
			}
			// All from one directory: the blocks are typed into one shell.
			for line := range strings.Lines(b.text) {
				if words := strings.Fields(line); marked && !slices.Contains(commands, words[0]) {
					t.Errorf("%s: %s is nothing for %q", path, line, b.info)
				}
				if b.info != "sh cluster" {
					continue
				}
				for _, m := range file.FindAllStringSubmatch(line, -1) {
					seen++
					if !exists(there, m[1]) {
						t.Errorf("%s: nothing renders %s", path, m[1])
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

var (
	change = regexp.MustCompile(`^oc (apply|delete) .*(machineconfigs/|mc 99-)`)
	wait   = regexp.MustCompile(`^oc wait mcp (\S+) --for=condition=(\S+) --timeout=(\S+)$`)
)

// A pool goes on saying Updated for some seconds after a change (machine-config-operator
// pkg/controller/render renderDelay): a wait for that alone can end at once. So each
// change is followed by a wait for it to end, before the pool may act where it is
// paused, and then by one for the nodes.
func TestAWaitForAPoolBeginsWhenThePoolKnowsOfTheChange(t *testing.T) {
	seen := 0
	follow := func(t *testing.T, name, text string) {
		changed, begun, paused := false, "", false
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			m := wait.FindStringSubmatch(line)
			switch {
			case change.MatchString(line):
				changed = true
			case strings.Contains(line, `"paused":`):
				paused = strings.Contains(line, "true")
				if !paused && begun == "" {
					t.Errorf("%s: the pool goes on before it knows of the change: %s", name, line)
				}
			case m == nil:
				if strings.HasPrefix(line, "oc wait") {
					t.Errorf("%s: %s", name, line)
				}
			case m[2] == "Updated=False" && m[3] == "5m" && changed:
				begun = m[1]
			case m[2] == "Updated" && m[3] == "120m" && begun == m[1] && !paused:
				seen++
				changed, begun = false, ""
			default:
				t.Errorf("%s: it waits for what was there before: %s", name, line)
			}
		}
		if changed || begun != "" {
			t.Errorf("%s: a change is not waited for: %s", name, text)
		}
	}
	for _, path := range documents {
		for _, b := range blocks(t, path) {
			if b.info == "sh cluster" {
				follow(t, path, b.text)
			}
		}
	}
	each(t, "README.md", func(t *testing.T, path string, content []byte) {
		var commands []string
		for line := range strings.Lines(string(content)) {
			if command, ok := strings.CutPrefix(line, "    "); ok {
				commands = append(commands, command)
			}
		}
		follow(t, path, strings.Join(commands, ""))
	})
	// 6 of the documents, 5 of each role's guides.
	if seen != 6+3*5 {
		t.Errorf("%d waits", seen)
	}
}

// What the documents name of a package is in it, and what they put beside it is what
// its removal looks for.
func TestTheDocumentsNameWhatIsInThePackages(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	list, removal := read("packaging/nfpm/nfpm.yaml"), read("packaging/nfpm/preremove.sh")
	dropin, wrapper := "", ""
	for _, b := range blocks(t, "../../docs/install.md") {
		if b.info == "ini" {
			lines := strings.Split(b.text, "\n")
			if len(lines) < 4 || lines[1] != "[Service]" || lines[2] != "ExecStart=" {
				t.Fatalf("%q", lines)
			}
			dropin = strings.TrimPrefix(lines[0], "# ")
			wrapper, _, _ = strings.Cut(strings.TrimPrefix(lines[3], "ExecStart="), " ")
		}
		if b.info != "sh package" {
			continue
		}
		for _, unit := range regexp.MustCompile(`nodekeeper[a-z-]*\.(service|socket)`).FindAllString(b.text, -1) {
			if !strings.Contains(list, "/usr/lib/systemd/system/"+unit+",") {
				t.Errorf("no package has %s", unit)
			}
		}
	}
	if wrapper == "" || !strings.Contains(list, "dst: "+wrapper+",") || !strings.Contains(removal, wrapper) || !strings.Contains(removal, " "+filepath.Dir(dropin)+" ") {
		t.Errorf("%q in %q", wrapper, dropin)
	}
	leaving := read("docs/uninstall.md")
	away, remove := strings.Index(leaving, "\nrm "+dropin+"\n"), strings.Index(leaving, "\napt-get remove ")
	if away < 0 || away > remove {
		t.Errorf("%s is in the way of the removal", dropin)
	}
}

// The digest is there only when the image is made, and is that of all platforms.
// tools/image/oci tests that the push keeps it.
func TestTheDocumentsPushTheImageThatTheyRender(t *testing.T) {
	builder, err := os.ReadFile("../../tools/image/build.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`layout := filepath.Join(out, "image")`, `oci.Archive(layout+".tar"`, `os.WriteFile(layout+".digest", []byte(digest.String()+"\n")`,
		`"layout", "../../_output/image"`, `fmt.Println(reference)`,
	} {
		if !strings.Contains(string(builder), want) {
			t.Errorf("the builder is without %s: look at docs/install.md", want)
		}
	}
	for _, b := range blocks(t, "../../docs/install.md") {
		if b.info == "sh registry" {
			if !strings.HasPrefix(b.text, "make image\ngo run -C tools/image . push ") {
				t.Errorf("%s", b.text)
			}
			return
		}
	}
	t.Error("nothing says how the image gets to a registry")
}
