package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const journald = "/usr/lib/systemd/systemd-journald"

// eventually waits for a condition, at most twenty seconds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("not within 20 s: %s", what)
		case <-tick.C:
		}
	}
}

// startJournald runs a journald with a namespace of the test's own, and returns
// the namespace and a stream that writes into it as services do.
func startJournald(t *testing.T) (namespace string, stream net.Conn) {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("needs root")
		}
		t.Skip("needs root: a journald of its own is not to be had")
	}
	if _, err := os.Stat(journald); err != nil {
		t.Skipf("no journald here, the fake one has to do: %v", err)
	}
	namespace = fmt.Sprintf("nodekeeper-%d", os.Getpid())
	settings := "/run/systemd/journald@" + namespace + ".conf.d"
	sockets := "/run/systemd/journal." + namespace
	if err := os.MkdirAll(settings, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		files, _ := filepath.Glob("/run/log/journal/*." + namespace)
		for _, path := range append(files, settings, sockets) {
			if err := os.RemoveAll(path); err != nil {
				t.Error(err)
			}
		}
	})
	text := "[Journal]\nStorage=volatile\nRateLimitIntervalSec=2s\nRateLimitBurst=100\n"
	if err := os.WriteFile(settings+"/test.conf", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command(journald, namespace)
	daemon.Env = append(os.Environ(), "SYSTEMD_LOG_TARGET=console")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Kill()
		_ = daemon.Wait()
	})
	eventually(t, "journald listens", func() bool {
		var err error
		stream, err = net.Dial("unix", sockets+"/stdout")
		return err == nil
	})
	t.Cleanup(func() { _ = stream.Close() })
	// Identifier, unit, priority, level prefix, and where else it goes.
	if _, err := fmt.Fprintf(stream, "kubelet\nkubelet.service\n6\n1\n0\n0\n0\n"); err != nil {
		t.Fatal(err)
	}
	return namespace, stream
}

func TestARealJournal(t *testing.T) {
	namespace, stream := startJournald(t)
	me := node.KubeletProcess{PID: os.Getpid(), Started: readClocks().boot - time.Minute}
	inNamespace := func(ctx context.Context, take func(entry) error, arguments ...string) error {
		return journalctl(ctx, take, append([]string{"--namespace=" + namespace}, arguments...)...)
	}
	r := &Reader{ask: inNamespace, now: readClocks}
	say := func(texts ...string) {
		if _, err := fmt.Fprintln(stream, strings.ReplaceAll(strings.Join(texts, "\n"), "1234", fmt.Sprint(me.PID))); err != nil {
			t.Fatal(err)
		}
	}
	ask := func() node.Told {
		r.asked -= every
		return r.Told(t.Context(), me)
	}

	// Given lines of a kubelet; which unit the test is in, journald knows.
	say(started)
	eventually(t, "the unit is known", func() bool {
		out, _ := exec.Command("journalctl", "--namespace="+namespace, "-q", "-n1", "-o", "json", fmt.Sprint("_PID=", me.PID)).Output()
		var fields struct {
			Unit string `json:"_SYSTEMD_UNIT"`
		}
		_ = json.Unmarshal(out, &fields)
		me.Unit = fields.Unit
		return me.Unit != ""
	})
	before := readClocks().boot
	say(failing, write("two\nlines \x1b[31m", "pod", "ns/hard", "podUID", "u"), strings.ReplaceAll(failing, `err="`, `err="`+strings.Repeat("y", 5000)+" "))

	// When they are read, then at the time at which they came.
	var told node.Told
	eventually(t, "both pods are told", func() bool {
		told = ask()
		return told.Err == nil && len(told.Pods) == 2
	})
	at := told.Pods[app].At
	if at < before-time.Second || at > readClocks().boot || told.Pods[app].Reason != "CrashLoopBackOff" || told.Last < at {
		t.Errorf("told %+v, last %v, now %v", told.Pods[app], told.Last, readClocks().boot)
	}
	if m := told.Pods[node.PodName{Namespace: "ns", Name: "hard"}].Message; m != "two lines [31m" {
		t.Errorf("message %q", m)
	}
	if known := told.From; known > before {
		t.Errorf("known since %v, began at %v", known, before)
	}

	// When journald drops lines, From moves up with its notice.
	flood := readClocks().boot
	say(strings.Repeat("I1201 03:00:00.000000    1234 x.go:1] flood\n", 2000) + started)
	eventually(t, "journald says that it dropped some", func() bool {
		say(started)
		told = ask()
		return told.Err == nil && told.From > flood
	})

	// When the file of the last entry is deleted, what is missing is unknown.
	gone := readClocks().boot
	for _, what := range []string{"--rotate", "--vacuum-files=1"} {
		if out, err := exec.Command("journalctl", "--namespace="+namespace, what).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", what, err, out)
		}
	}
	say(strings.ReplaceAll(failing, "app-node1", "late-node1"))
	eventually(t, "the late pod is told", func() bool {
		told = ask()
		return told.Err == nil && len(told.Pods) == 3
	})
	if told.From < gone {
		t.Errorf("known since %v before the file was deleted", gone-told.From)
	}
}
