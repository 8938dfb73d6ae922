package remedy

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// withLog gives a container a log on disk.
func (n *scripted) withLog(c *node.Container, content string) string {
	n.t.Helper()
	dir := n.t.TempDir()
	c.LogPath = filepath.Join(dir, "0.log")
	if err := os.WriteFile(c.LogPath, []byte(content), 0o600); err != nil {
		n.t.Fatal(err)
	}
	return c.LogPath
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestEvidenceOfAnActOnOnePod(t *testing.T) {
	n := newScripted(t)
	e, step := n.given("stop old")
	n.withLog(n.main(), "of the one that runs\n")
	log := n.withLog(&n.sb(1).Containers[0], "of the old one\n")
	n.sb(1).Containers[0].FinishedAt = time.Date(292277, 1, 1, 0, 0, 0, 0, time.UTC)
	dir := ""
	n.onAct = func(context.Context, string) error {
		// What is saved is there before the act.
		dir = filepath.Join(e.EvidenceDir, names(t, e.EvidenceDir))
		n.sb(1).Ready = false
		return os.Remove(log)
	}
	out, _ := n.expect(t, e, t.Context(), step, restartpolicy.ResultDone, "the sandbox is stopped")
	if out.Evidence != dir || !strings.HasSuffix(dir, "-stop-old-sandbox-sandbox-old") || !actDirectory.MatchString(filepath.Base(dir)) {
		t.Errorf("evidence in %s, at the act %s", out.Evidence, dir)
	}
	if got, want := names(t, dir), "app-node1_main_3.log facts.json journal-kubelet.service.txt manifest-app.yaml outcome.txt"; got != want {
		t.Errorf("saved %s, want %s", got, want)
	}
	if got := read(t, dir, "app-node1_main_3.log"); got != "of the old one\n" {
		t.Errorf("log %q", got)
	}
	if got := read(t, dir, "outcome.txt"); !strings.HasPrefix(got, "done: ") {
		t.Errorf("outcome %q", got)
	}
	var facts struct {
		Why  restartpolicy.Step
		Pods []struct {
			Pod       string
			View      struct{ UID string }
			Sandboxes []struct{ Containers []struct{ Finished string } }
		}
		Kubelet struct{ Unit struct{ MainPID int } }
	}
	if err := json.Unmarshal([]byte(read(t, dir, "facts.json")), &facts); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(facts.Why, step) || facts.Pods[0].View.UID != "uid-new" || len(facts.Pods[0].Sandboxes) != 2 || facts.Kubelet.Unit.MainPID != 100 {
		t.Errorf("facts %+v", facts)
	}
	if got := facts.Pods[0].Sandboxes[1].Containers[0].Finished; !strings.HasPrefix(got, "292277-01-01") {
		t.Errorf("an absurd date became %q", got)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestEvidenceOfANodeWideActHasEveryDeadLogAndOldGeneration(t *testing.T) {
	n := newScripted(t)
	e, step := n.given("restart kubelet")
	n.twoGenerations()
	n.withLog(n.main(), "dead\n")
	n.withLog(&n.sb(1).Containers[0], "old\n")
	other := sandbox("etcd", n.snap.Taken.Wall)
	other.Pod.Name = "etcd-node1"
	other.Containers = append(other.Containers, other.Containers[0])
	other.Containers[1].State, other.Containers[1].Attempt = node.ContainerExited, 2
	other.Containers[0].Attempt = 4
	stale := other.Containers[0]
	stale.Name, stale.Process = "side", node.Process{State: node.ProcessGone, CgroupEmpty: true}
	other.Containers = append(other.Containers, stale)
	api := sandbox("api", n.snap.Taken.Wall)
	api.Source = "api"
	api.Containers[0].State = node.ContainerExited
	n.snap.Intent.Pods = append(n.snap.Intent.Pods, node.Manifest{Name: other.Pod, Path: "/none/etcd.yaml", Pod: n.snap.Intent.Pods[0].Pod})
	n.snap.Kubelet.View.Pods = append(n.snap.Kubelet.View.Pods, node.PodView{Name: other.Pod, UID: "uid-etcd"})
	n.snap.Runtime.Sandboxes = append(n.snap.Runtime.Sandboxes, other, api)
	n.withLog(&n.sb(2).Containers[0], "runs\n")
	n.withLog(&n.sb(2).Containers[1], "died\n")
	n.withLog(&n.sb(2).Containers[2], "nobody has noticed\n")
	n.withLog(&n.sb(3).Containers[0], "not ours\n")
	n.onAct = func(context.Context, string) error { n.kubeletUp(); return nil }

	out := e.Do(t.Context(), step, n.confirm)
	if got, want := names(t, out.Evidence), "app-node1_main_3.log app-node1_main_3_uid-old.log etcd-node1_main_2.log etcd-node1_side_4.log facts.json journal-kubelet.service.txt manifest-app.yaml missing.txt outcome.txt"; got != want {
		t.Errorf("saved %s, want %s", got, want)
	}
	if got := read(t, out.Evidence, "missing.txt"); !strings.Contains(got, "/none/etcd.yaml: open /none/etcd.yaml: no such file") {
		t.Errorf("missing %q", got)
	}
	if out.Result != restartpolicy.ResultDone || !strings.Contains(out.Detail, "evidence incomplete: 1 ") {
		t.Errorf("outcome %+v", out)
	}
}

func TestSaveEvidenceOfAVerdict(t *testing.T) {
	n := newScripted(t)
	n.waitingForOld()
	n.withLog(n.main(), "last words\n")
	s := n.look(t.Context())
	for _, v := range n.judged() {
		if v.State != restartpolicy.WaitingForOld {
			continue
		}
		dir, missing := n.executor().SaveEvidence(t.Context(), s, v)
		if len(missing) > 0 || read(t, dir, "app-node1_main_3.log") != "last words\n" || !strings.Contains(dir, "-verdict-waiting-for-old-") {
			t.Errorf("%s, missing %v", dir, missing)
		}
		return
	}
	t.Error("no verdict")
}

func TestTheRuntimesJournalIsKeptBeforeItsRestart(t *testing.T) {
	inBubble(t, func(t *testing.T, n *scripted) {
		e, step := n.given("restart runtime")
		n.onAct = func(context.Context, string) error { n.runtimeUp(); return nil }
		out := e.Do(t.Context(), step, n.confirm)
		if got := read(t, out.Evidence, "journal-crio.service.txt"); got != "journal of crio.service\n" {
			t.Errorf("journal %q", got)
		}
		if got := read(t, out.Evidence, "missing.txt"); !strings.Contains(got, "the runtime does not answer") {
			t.Errorf("missing %q", got)
		}
	})
}

func TestLogsThatAreNoPlainFilesAreNotTaken(t *testing.T) {
	cases := map[string]struct {
		make func(path string) error
		want string
	}{
		"symbolic link": {func(path string) error { return os.Symlink("/etc/passwd", path) }, "a symbolic link, not followed"},
		"pipe":          {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "not a regular file"},
		"directory":     {func(path string) error { return os.Mkdir(path, 0o700) }, "not a regular file"},
		"nothing":       {func(string) error { return nil }, "no such file"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := newScripted(t)
			e, step := n.given("stop container")
			n.main().LogPath = filepath.Join(t.TempDir(), "0.log")
			if err := c.make(n.main().LogPath); err != nil {
				t.Fatal(err)
			}
			dir, missing := e.evidence.save(t.Context(), subjectOf(&n.snap, step, ""))
			if len(missing) != 1 || !strings.Contains(missing[0], c.want) || !strings.Contains(read(t, dir, "missing.txt"), c.want) {
				t.Errorf("missing %v", missing)
			}
			if strings.Contains(names(t, dir), ".log") {
				t.Error("it was taken all the same")
			}
		})
	}
}

func TestALogOnAnotherFileSystemIsCopied(t *testing.T) {
	n := newScripted(t)
	e, step := n.given("stop container")
	n.withLog(n.main(), "0123456789")
	e.evidence.link = func(*os.File, string) error { return syscall.EXDEV }
	e.evidence.limits.logBytes = 4
	dir, missing := e.evidence.save(t.Context(), subjectOf(&n.snap, step, ""))
	if got := read(t, dir, "app-node1_main_3.log"); got != "6789" {
		t.Errorf("log %q", got)
	}
	if len(missing) != 1 || !strings.Contains(missing[0], "only its last 4 bytes of 10") {
		t.Errorf("missing %v", missing)
	}
}

func TestALogIsLinkedWhereItCanBe(t *testing.T) {
	n := newScripted(t)
	e, step := n.given("stop container")
	path := n.withLog(n.main(), "text")
	dir, _ := e.evidence.save(t.Context(), subjectOf(&n.snap, step, ""))
	if !sameFile(path, filepath.Join(dir, "app-node1_main_3.log")) {
		t.Skip("no hard links between these directories")
	}
}

func TestTheBytesOfAnActAreBounded(t *testing.T) {
	n := newScripted(t)
	e, step := n.given("stop old")
	n.withLog(&n.sb(1).Containers[0], strings.Repeat("x", 10_000))
	e.evidence.limits.actBytes = 6_000
	dir, missing := e.evidence.save(t.Context(), subjectOf(&n.snap, step, ""))
	if size := sizeOf(dir); size > 6_000+1_000 {
		t.Errorf("%d bytes in %s", size, names(t, dir))
	}
	if len(missing) == 0 || !strings.Contains(read(t, dir, "missing.txt"), "limit of bytes") {
		t.Errorf("missing %v", missing)
	}
}

// full is a file on a disk with no space left.
type full struct{ f file }

func (w full) Write(p []byte) (int, error) {
	n, _ := w.f.Write(p[:len(p)/2])
	return n, syscall.ENOSPC
}
func (w full) Close() error { return w.f.Close() }

func TestAFullDiskNeverFailsTheAct(t *testing.T) {
	cases := map[string]func(e *Executor){
		"half written": func(e *Executor) {
			e.evidence.create = func(path string) (file, error) {
				f, err := createFile(path)
				return full{f}, err
			}
		},
		"nothing can be made": func(e *Executor) {
			e.evidence.create = func(string) (file, error) { return nil, syscall.ENOSPC }
		},
		"no directory can be made": func(e *Executor) { e.evidence.dir = "/dev/null/acts" },
		"the journal is silent": func(e *Executor) {
			e.evidence.journal = func(context.Context, string) ([]byte, error) { return nil, errors.New("no journal") }
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := newScripted(t)
			e, step := n.given("stop container")
			c(e)
			n.onAct = func(context.Context, string) error { n.main().State = node.ContainerExited; return nil }
			n.expect(t, e, t.Context(), step, restartpolicy.ResultDone, "evidence incomplete")
			n.called("stop-container main-new")
		})
	}
}

func TestADiskThatHangsDelaysTheActByItsBoundAndNoMore(t *testing.T) {
	inBubble(t, func(t *testing.T, n *scripted) {
		e, step := n.given("stop container")
		mend := make(chan struct{})
		e.evidence.create = func(string) (file, error) { <-mend; return nil, errors.New("EIO") }
		n.onAct = func(context.Context, string) error { n.main().State = node.ContainerExited; return nil }
		out, took := n.expect(t, e, t.Context(), step, restartpolicy.ResultDone, "the disk did not take it within 10s")
		if took > 12*time.Second || out.Evidence == "" {
			t.Errorf("took %s, %+v", took, out)
		}
		n.staleRunning()
		n.main().State = node.ContainerRunning
		_, took = n.expect(t, e, t.Context(), step, restartpolicy.ResultDone, "still being written")
		if took > time.Second {
			t.Errorf("the second act took %s", took)
		}
		close(mend)
	})
}

func TestSlowLogsAreLeftOutOnceTheTimeIsUp(t *testing.T) {
	inBubble(t, func(t *testing.T, n *scripted) {
		e, step := n.given("stop old")
		n.withLog(&n.sb(1).Containers[0], "text")
		e.evidence.create = func(path string) (file, error) {
			time.Sleep(10500 * time.Millisecond)
			return createFile(path)
		}
		_, missing := e.evidence.save(t.Context(), subjectOf(&n.snap, step, ""))
		if len(missing) == 0 || !strings.Contains(strings.Join(missing, ";"), "did not take it within 10s") && !strings.Contains(strings.Join(missing, ";"), "no time left") {
			t.Errorf("missing %v", missing)
		}
		time.Sleep(time.Minute)
	})
}
