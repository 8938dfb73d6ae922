package nodepackage

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sassoftware/go-rpmutils"

	"github.com/nodekeeper/nodekeeper/tools/image/content"
	"github.com/nodekeeper/nodekeeper/tools/image/program"
)

var when = time.Unix(1_700_000_000, 0)

// small is quickly built: the smallest program stands for both.
func small(t *testing.T) Build {
	t.Helper()
	return Build{
		Source:    program.Source{Root: "../../..", Version: "v1.2.3", Go: "go"},
		Time:      when,
		Platforms: []program.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}},
		Programs:  []program.Program{{Name: "nodekeeper", Package: "./cmd/hook"}, {Name: "nodekeeper-hook", Package: "./cmd/hook"}},
	}
}

// made are the digests of the packages by name, and where they are.
func made(t *testing.T, b Build) (map[string]string, string) {
	t.Helper()
	out := t.TempDir()
	paths, err := b.Packages(t.Context(), t.TempDir(), out)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, path := range paths {
		sum, err := content.Digest(path)
		if err != nil {
			t.Fatal(err)
		}
		sums[filepath.Base(path)] = sum
	}
	return sums, out
}

// held are the files that both kinds of package hold, but the papers.
var held = map[string]struct {
	mode  fs.FileMode
	flags int
}{
	"/usr/local/bin/nodekeeper":                                  {mode: 0o755},
	"/usr/local/bin/nodekeeper-hook":                             {mode: 0o755},
	"/usr/local/libexec/nodekeeper/kubelet-wrapper":              {mode: 0o755},
	"/usr/lib/systemd/system/nodekeeper.service":                 {mode: 0o644},
	"/usr/lib/systemd/system/nodekeeper.service.d/settings.conf": {mode: 0o644},
	"/usr/lib/systemd/system/nodekeeper.socket":                  {mode: 0o644},
	"/usr/lib/systemd/system/nodekeeper-proxy.service":           {mode: 0o644},
	"/usr/lib/systemd/system/nodekeeper-proxy.socket":            {mode: 0o644},
	"/usr/lib/systemd/system/nodekeeper-proxy-revert.service":    {mode: 0o644},
	"/etc/nodekeeper/config.yaml":                                {mode: 0o600, flags: rpmutils.RPMFILE_CONFIG | rpmutils.RPMFILE_NOREPLACE},
}

func TestPackages(t *testing.T) {
	b := small(t)
	sums, out := made(t, b)
	t.Run("for each platform", func(t *testing.T) {
		want := []string{"nodekeeper-1.2.3-1.aarch64.rpm", "nodekeeper-1.2.3-1.x86_64.rpm", "nodekeeper_1.2.3-1_amd64.deb", "nodekeeper_1.2.3-1_arm64.deb"}
		if got := slices.Sorted(maps.Keys(sums)); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
	t.Run("twice the same", func(t *testing.T) {
		t.Setenv("SOURCE_DATE_EPOCH", "1")
		t.Setenv("TZ", "Asia/Tokyo")
		if again, _ := made(t, b); !maps.Equal(again, sums) {
			t.Errorf("%v, and then %v", sums, again)
		}
	})
	t.Run("the rpm", func(t *testing.T) { rpmHoldsTheFiles(t, b, filepath.Join(out, "nodekeeper-1.2.3-1.x86_64.rpm")) })
	t.Run("the deb", func(t *testing.T) { debHoldsTheFiles(t, filepath.Join(out, "nodekeeper_1.2.3-1_amd64.deb")) })
}

func TestEveryUnitIsInThePackage(t *testing.T) {
	units, err := filepath.Glob("../../../packaging/nodekeeper*")
	if err != nil || len(units) == 0 {
		t.Fatal(units, err)
	}
	for _, path := range units {
		if _, ok := held["/usr/lib/systemd/system/"+filepath.Base(path)]; !ok {
			t.Errorf("%s is not", path)
		}
	}
}

func rpmHoldsTheFiles(t *testing.T, b Build, path string) {
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	r, err := rpmutils.ReadRpm(in)
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.Header.GetFiles()
	if err != nil {
		t.Fatal(err)
	}
	papers, seen := 0, map[string]bool{}
	for _, f := range all {
		if !time.Unix(int64(f.Mtime()), 0).Equal(when) || f.UserName() != "root" || f.GroupName() != "root" {
			t.Errorf("%s is of %s:%s and of %v", f.Name(), f.UserName(), f.GroupName(), time.Unix(int64(f.Mtime()), 0))
		}
		mode := fs.FileMode(f.Mode()).Perm()
		want, ok := held[f.Name()]
		switch {
		case ok:
			seen[f.Name()] = true
			if mode != want.mode || f.Flags() != want.flags {
				t.Errorf("%s: mode %o, flags %o", f.Name(), mode, f.Flags())
			}
		case strings.HasPrefix(f.Name(), documents+"/"):
			papers++
		case f.Name() != "/etc/nodekeeper":
			t.Errorf("it holds %s", f.Name())
		}
	}
	if len(seen) != len(held) || papers < 3 {
		t.Errorf("it holds %d of %d files and %d papers", len(seen), len(held), papers)
	}
	for tag, name := range map[int]string{rpmutils.POSTIN: "postinstall.sh", rpmutils.PREUN: "preremove.sh", rpmutils.POSTUN: "postremove.sh"} {
		script, err := os.ReadFile(filepath.Join(b.Source.Root, "packaging/nfpm", name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Header.GetString(tag); err != nil || strings.TrimSpace(got) != strings.TrimSpace(string(script)) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if host, err := r.Header.GetString(rpmutils.BUILDHOST); err != nil || host != "nodekeeper" {
		t.Errorf("it names the machine %q, %v", host, err)
	}
}
