package podlogs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePod(t *testing.T) {
	want := Pod{Namespace: "kube-system", Name: "etcd-node-1", UID: "3c0ef7dcb1f8c0a6b8b8e1f2a3b4c5d6"}
	if got, ok := ParsePod(want.String()); !ok || got != want {
		t.Errorf("%+v %t", got, ok)
	}
	for _, bad := range []string{"", "a", "a_b", "a_b_c_d", "_b_c", "a__c", "a_b_"} {
		if p, ok := ParsePod(bad); ok {
			t.Errorf("%q is %+v", bad, p)
		}
	}
}

func TestParseFile(t *testing.T) {
	good := map[string]File{
		"0.log":                    {Attempt: 0},
		"12.log":                   {Attempt: 12},
		"0.log.20261130-090337":    {Rotated: "0.log.20261130-090337"},
		"7.log.20261130-090337.gz": {Attempt: 7, Rotated: "7.log.20261130-090337", Compressed: true},
		"4294967295.log":           {Attempt: 4294967295},
	}
	for name, want := range good {
		want.Name = name
		if got, ok := ParseFile(name); !ok || got != want {
			t.Errorf("%q is %+v %t", name, got, ok)
		}
	}
	for _, bad := range []string{"", ".log", "a.log", "00.log", "0.log.tmp", "0.log.gz", "0.logx", "0.log.1", "-1.log", "4294967296.log",
		"0.log.20261130-090337.tmp", "0.log.20261130-090337.gz.tmp", "0.log.20261130-0903370", "0.log\n"} {
		if f, ok := ParseFile(bad); ok {
			t.Errorf("%q is %+v", bad, f)
		}
	}
}

func TestFilesComeInTheOrderOfWriting(t *testing.T) {
	dir := t.TempDir()
	want := []string{
		"1.log",
		"2.log.20261130-090337.gz", "2.log.20261130-090347", "2.log.20261130-090347.gz", "2.log.20261130-090357", "2.log",
		"10.log",
	}
	for _, name := range append([]string{"2.log.tmp", "README", "2.log.20261130-090337.gz.tmp"}, want...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDirectoriesThatAreNotAreErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Files(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if names, err := Names(filepath.Join(dir, "link")); err == nil {
		t.Errorf("link: %v", names)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Names(filepath.Join(dir, "file")); err == nil {
		t.Error("a file is no directory")
	}
}

func FuzzParseFile(f *testing.F) {
	for _, name := range []string{"0.log", "0.log.20261130-090337.gz", "0.log.tmp", "x"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if file, ok := ParseFile(name); ok && (file.Name != name || (file.Rotated == "" && file.Compressed)) {
			t.Errorf("%q is %+v", name, file)
		}
	})
}
