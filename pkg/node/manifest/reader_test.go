package manifest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

func TestAManifestIsReadAsTheKubeletRunsIt(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "plain.yaml", manifestOf("plain", "", ""))

	intent := NewReader().Read(dir+"/", "Node-1.Example")

	m := onlyPod(t, intent)
	if want := (node.PodName{Namespace: "default", Name: "plain-node-1.example"}); m.Name != want {
		t.Errorf("name %s, want %s", m.Name, want)
	}
	if m.Path != path || len(m.Digest) != 64 || time.Since(m.Modified) > time.Minute {
		t.Errorf("path %q, digest %q, modified %s", m.Path, m.Digest, m.Modified)
	}
	if m.Pod.Name != m.Name.Name || m.Pod.Namespace != m.Name.Namespace || m.Pod.UID != "" {
		t.Errorf("pod %s/%s with UID %q", m.Pod.Namespace, m.Pod.Name, m.Pod.UID)
	}
	if m.Pod.Spec.RestartPolicy != corev1.RestartPolicyAlways || *m.Pod.Spec.TerminationGracePeriodSeconds != 30 {
		t.Errorf("restart policy %s, grace period %d", m.Pod.Spec.RestartPolicy, *m.Pod.Spec.TerminationGracePeriodSeconds)
	}
}

func TestWhatIsGivenIsKept(t *testing.T) {
	m := onlyPod(t, NewReader().Read("testdata/accepted/flow.json", "n"))
	if m.Name.String() != "kube-system/flow-n" || m.Pod.UID != "given" ||
		m.Pod.Spec.RestartPolicy != corev1.RestartPolicyNever || *m.Pod.Spec.TerminationGracePeriodSeconds != 5 {
		t.Errorf("%s, UID %q, %+v", m.Name, m.Pod.UID, m.Pod.Spec)
	}
}

func TestOnlyALeadingDotHidesAFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "b.yaml.bak", "c", "~d", "#e#", "f.swp", ".hidden.yaml", "..data"} {
		write(t, dir, name, manifestOf("p", "ns"+string('0'+rune(len(name))), ""))
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "sub"), "g.yaml", manifestOf("g", "", ""))
	link(t, filepath.Join(dir, "sub"), filepath.Join(dir, "to-directory"))

	paths, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	if want := []string{"#e#", "a.yaml", "b.yaml.bak", "c", "f.swp", "to-directory", "~d"}; !slices.Equal(names, want) {
		t.Errorf("listed %q, want %q", names, want)
	}
	if intent := NewReader().Read(dir, "n"); len(problemsOf(intent, node.ProblemUnreadable)) > 0 {
		t.Errorf("a link to a directory is a problem: %+v", intent.Problems)
	}
}

func TestALinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	link(t, write(t, t.TempDir(), "target", manifestOf("linked", "", "")), filepath.Join(dir, "linked.yaml"))

	m := onlyPod(t, NewReader().Read(dir, "n"))

	if m.Path != filepath.Join(dir, "linked.yaml") {
		t.Errorf("path %s is not the link's", m.Path)
	}
}

func TestTheLastOfTwoWins(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", manifestOf("same", "", "a"))
	write(t, dir, "b.yaml", manifestOf("other", "", "o"))
	write(t, dir, "a.yaml.bak", manifestOf("same", "default", "b"))
	write(t, dir, "a-old", manifestOf("same", "", "c"))

	intent := NewReader().Read(dir, "n")

	if len(intent.Pods) != 2 || intent.Pods[0].Path != filepath.Join(dir, "a.yaml.bak") {
		t.Fatalf("pods %+v", intent.Pods)
	}
	hidden := problemsOf(intent, node.ProblemDuplicate)
	if len(hidden) != 2 || !strings.HasSuffix(hidden[0].Path, "a-old") || !strings.HasSuffix(hidden[1].Path, "a.yaml") {
		t.Fatalf("problems %+v", intent.Problems)
	}
	for _, p := range hidden {
		if p.Pod != intent.Pods[0].Name || !strings.Contains(p.Message, p.Path+":") || !strings.Contains(p.Message, "a.yaml.bak") {
			t.Errorf("problem %+v does not name both files and the pod", p)
		}
	}
}

func TestADirectoryThatCannotBeReadIsAnErrorAndNotEmpty(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	pattern := filepath.Join(dir, "a[b]")
	if err := os.Mkdir(pattern, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"missing": filepath.Join(dir, "none"), "no path": "", "FIFO": fifo, "device": "/dev/null", "pattern": pattern,
	} {
		if intent := NewReader().Read(path, "n"); intent.Err == nil || strings.Contains(intent.Err.Error(), "\n") {
			t.Errorf("%s: error %v", name, intent.Err)
		}
	}
	if intent := NewReader().Read(dir, ""); intent.Err == nil {
		t.Error("no error without a node name")
	}
	if err := NewReader().Read(filepath.Join(dir, "none"), "n").Err; !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
}

func TestWhatCannotBeReadIsAProblemAndNeverBlocks(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "1-fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	link(t, "/dev/zero", filepath.Join(dir, "2-device"))
	link(t, "nowhere", filepath.Join(dir, "3-dangling"))
	link(t, "4-loop", filepath.Join(dir, "4-loop"))
	large := write(t, dir, "5-large", manifestOf("large", "", ""))
	if err := os.Truncate(large, maxSize); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "6-good", manifestOf("good", "", ""))

	intent := NewReader().Read(dir, "n")

	onlyPodOf(t, intent, "default/good-n")
	problems := problemsOf(intent, node.ProblemUnreadable)
	want := []string{"neither a file nor a directory", "neither a file nor a directory", "symbolic link to " + dir + "/nowhere, which does not exist", "leads back to itself", "10 MiB or larger"}
	if len(problems) != len(want) {
		t.Fatalf("problems %+v", problems)
	}
	for i, p := range problems {
		if !strings.Contains(p.Message, want[i]) || !strings.Contains(p.Message, p.Path) || strings.Contains(p.Message, "\n") {
			t.Errorf("message %q, want %q", p.Message, want[i])
		}
	}
}
