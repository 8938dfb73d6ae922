package manifest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

func TestWhatOurUnitHidesIsNotTakenForAbsent(t *testing.T) {
	dir, store := t.TempDir(), t.TempDir()
	link(t, "/root/of/nobody.yaml", filepath.Join(dir, "1-direct"))
	link(t, "/home/nobody/of.yaml", filepath.Join(store, "second"))
	link(t, filepath.Join(store, "second"), filepath.Join(dir, "2-through-another"))
	link(t, "/run/user/0/none", filepath.Join(store, "directory"))
	link(t, filepath.Join(store, "directory", "x.yaml"), filepath.Join(dir, "3-through-a-directory"))
	link(t, strings.Repeat("../", 40)+"root/none.yaml", filepath.Join(dir, "4-relative"))
	link(t, filepath.Join(store, "none.yaml"), filepath.Join(dir, "5-elsewhere"))
	link(t, "/rootless/none.yaml", filepath.Join(dir, "6-alike"))

	problems := NewReader().Read(dir, "n").Problems

	if len(problems) != 6 {
		t.Fatalf("problems %+v", problems)
	}
	for i, where := range []string{"/root/of/nobody.yaml", "/home/nobody", "/run/user/0/none", "/root/none.yaml"} {
		if p := problems[i]; p.Kind != node.ProblemHidden || !strings.Contains(p.Message, where) || !strings.Contains(p.Message, "the kubelet may") || strings.Contains(p.Message, "remove") {
			t.Errorf("problem %+v", p)
		}
	}
	for i, where := range map[int]string{4: filepath.Join(store, "none.yaml"), 5: "/rootless/none.yaml"} {
		if p := problems[i]; p.Kind != node.ProblemUnreadable || !strings.Contains(p.Message, where) || !strings.Contains(p.Message, "does not exist") {
			t.Errorf("problem %+v", p)
		}
	}
}

func TestWhatWeMayNotReadTheKubeletMay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	for _, err := range []error{syscall.EACCES, syscall.EPERM} {
		f := unreadable(path, &fs.PathError{Op: "open", Path: path, Err: err})
		if f.kind != node.ProblemHidden || !strings.Contains(f.why, path+" ("+err.Error()+")") {
			t.Errorf("%+v", f)
		}
	}
	if f := unreadable(path, &fs.PathError{Op: "read", Path: path, Err: syscall.EIO}); f.kind != node.ProblemUnreadable || strings.Contains(f.advice, "remove") {
		t.Errorf("%+v", f)
	}
}

func TestADeniedFileIsHidden(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read all files")
	}
	dir := t.TempDir()
	if err := os.Chmod(write(t, dir, "a.yaml", manifestOf("a", "", "")), 0); err != nil {
		t.Fatal(err)
	}
	if p := problemsOf(NewReader().Read(dir, "n"), node.ProblemHidden); len(p) != 1 {
		t.Fatalf("problems %+v", p)
	}
}

func TestAHiddenDirectoryIsNotMissing(t *testing.T) {
	err := NewReader().Read("/root/of/nobody", "n").Err
	if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "cannot see /root/of") {
		t.Errorf("error %v", err)
	}
}
