package kubeconfig

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAKubeletIsKnownByItsLastFlag(t *testing.T) {
	proc := t.TempDir()
	for pid, args := range map[string]string{
		"1":    "/usr/bin/kubelet --kubeconfig=/own --v=2 --kubeconfig=/derived",
		"2":    "kubelet -kubeconfig /derived",
		"3":    "/usr/bin/kubelet --kubeconfig=/derived --kubeconfig=/own",
		"4":    "/usr/bin/kubelet --bootstrap-kubeconfig=/derived",
		"5":    "/bin/sh /usr/local/bin/kubelet-wrapper kubelet --kubeconfig=/derived",
		"6":    "kubelet --kubeconfig",
		"7":    "",
		"self": "kubelet --kubeconfig=/derived",
	} {
		if err := os.Mkdir(filepath.Join(proc, pid), 0o755); err != nil {
			t.Fatal(err)
		}
		line := strings.ReplaceAll(args, " ", "\x00") + "\x00"
		if err := os.WriteFile(filepath.Join(proc, pid, "cmdline"), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := Users(proc, "/derived"); !slices.Equal(got, []int{1, 2}) {
		t.Error(got)
	}
	if got := Users(filepath.Join(proc, "none"), "/derived"); got != nil {
		t.Error(got)
	}
}

func TestAChangeOfAFileIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	var f Files
	now := time.Now()
	if !f.Changed(now) {
		t.Error("what was not seen yet is as it was")
	}
	f.See(now, path)
	if f.Changed(now) {
		t.Error("a file that is not there has changed")
	}
	if err := os.WriteFile(path, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !f.Changed(now) {
		t.Error("a new file was not noticed")
	}
	// Given one that was changed a moment before it was read, then it counts as
	// changed until its time stamp is past.
	f.See(now, path)
	if f.Changed(now.Add(reread / 2)) {
		t.Error("it is read again at once")
	}
	if !f.Changed(now.Add(time.Second)) {
		t.Error("it is not read again")
	}
	later := now.Add(time.Minute)
	f.See(later, path)
	if f.Changed(later.Add(time.Second)) {
		t.Error("it is read for ever")
	}
}
