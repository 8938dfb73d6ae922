package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// elsewhere are commands of the documents that no box can run, by their
// beginning, and what does run them.
var elsewhere = map[string]string{
	"make":                        "the project's own targets: the tests and CI call them",
	"oc adm":                      "needs a cluster of OpenShift; nodes/NODE/proxy/logs is read by TestReadThroughTheAPI",
	"oc get":                      "needs a cluster",
	"oc apply":                    "needs a cluster; what it applies is tried on a real API server by test/manifests",
	"oc patch":                    "needs a cluster",
	"oc label":                    "needs a cluster",
	"oc debug":                    "needs a cluster",
	"oc delete":                   "needs a cluster",
	"kubectl":                     "needs a cluster; see test/manifests",
	"nodekeeper run":              "is what the agent of every box is",
	"nodekeeper kubeconfig check": "is no success without the guard; cmd/nodekeeper tests what it says",
	"nodekeeper proxy":            "TestWatchesOfARealKubelet runs it",
}

// What the documents tell an admin to type works on a node: every line of their
// blocks marked "sh", in order, where etcd is a static pod that has crashed.
func TestDocumentedCommands(t *testing.T) {
	labelled(t, records)
	s := stage(t, node.Options{Kubeconfig: node.APIOpen, KubeletConfig: reachable})
	s.agent()
	pod := app("1")
	pod.name, pod.containers = "etcd", []container{{name: "etcd"}}
	s.run(pod)
	dead := s.kill("etcd", "etcd")
	e := s.recorded(time.Minute, "etcd", dead)
	s.back(2*time.Minute, "etcd", dead)

	names := strings.NewReplacer("NODE", "node1", "ID", e.ID)
	ran := 0
	for _, file := range documents(t) {
		for _, line := range marked(t, file) {
			for command := range strings.SplitSeq(line, " ; ") {
				command = strings.TrimSpace(command)
				if why := excused(command); why != "" {
					continue
				}
				ran++
				s.documented(file, names.Replace(command))
			}
		}
	}
	if ran < 20 {
		t.Errorf("only %d commands were run", ran)
	}
	s.say("%d commands", ran)
}

func (s *scene) documented(file, command string) {
	s.Helper()
	if rest, ok := strings.CutPrefix(command, "oc nodekeeper "); ok {
		if _, err := s.plugin(strings.Fields(rest)...); err != nil {
			s.Errorf("%s: %s: %v", file, command, err)
		}
		return
	}
	out, stderr, err := s.box.Exec(s.ctx, "sh", "-c", "exec 2>&1; cd /tmp; "+command)
	if err != nil {
		s.Errorf("%s: %s: %v\n%s%s", file, command, err, out, stderr)
	}
}

// excused says why a command is not run here; empty if it is.
func excused(command string) string {
	for beginning, why := range elsewhere {
		if command == beginning || strings.HasPrefix(command, beginning+" ") {
			return why
		}
	}
	return ""
}

// documents are the texts for users.
func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/runbooks/*.md"} {
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	if len(all) < 5 || !slices.Contains(all, "../../README.md") {
		t.Fatalf("documents: %v", all)
	}
	return all
}

// marked are the lines of the blocks that begin with ```sh, without comments.
func marked(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	in := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			in = !in && line == "```sh"
		case in:
			command, _, _ := strings.Cut(line, " #")
			if command = strings.TrimSpace(command); command != "" && !strings.HasPrefix(command, "#") {
				lines = append(lines, command)
			}
		}
	}
	if in {
		t.Fatalf("%s: a block does not end", file)
	}
	return lines
}
