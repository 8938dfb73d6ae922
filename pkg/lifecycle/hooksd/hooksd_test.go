package hooksd

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/containers/common/pkg/hooks"
	current "github.com/containers/common/pkg/hooks/1.0.0"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// options are those of a hook with a program, not installed yet.
func options(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	o := Options{Dir: filepath.Join(dir, "run", "hooks.d"), HookPath: filepath.Join(dir, "nodekeeper-hook"), Args: []string{"--root", "/a<b>"}}
	do(t, os.WriteFile(o.HookPath, []byte("#!/bin/true\n"), 0o755))
	return o
}

// loaded asks CRI-O's loader what a container with these annotations gets.
func loaded(t *testing.T, o Options, annotations map[string]string) *specs.Hooks {
	t.Helper()
	manager, err := hooks.New(t.Context(), []string{o.Dir}, nil)
	do(t, err)
	spec := &specs.Spec{Process: &specs.Process{Args: []string{"etcd"}}}
	_, err = manager.Hooks(spec, annotations, true)
	do(t, err)
	return spec.Hooks
}

func TestCRIOLoadsWhatWasInstalled(t *testing.T) {
	static := map[string]string{"kubernetes.io/config.source": "file", "kubernetes.io/config.hash": "x"}
	for _, poststop := range []bool{false, true} {
		o := options(t)
		o.Poststop = poststop
		do(t, Install(o))
		seconds := 2
		hook := specs.Hook{Path: o.HookPath, Args: []string{"nodekeeper-hook", "--root", "/a<b>"}, Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, Timeout: &seconds}
		want := &specs.Hooks{CreateRuntime: []specs.Hook{hook}}
		if poststop {
			want.Poststop = []specs.Hook{hook}
		}
		if got := loaded(t, o, static); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		for _, other := range []map[string]string{
			nil, {"kubernetes.io/config.source": "api"}, {"kubernetes.io/config.source": "http"},
			{"xkubernetes.io/config.source": "file"}, {"kubernetes.io/config.source.x": "file"}, {"kubernetesXio/config.source": "file"},
			{"kubernetes.io/config.source": "myfile"}, {"kubernetes.io/config.source": "file\nfile"},
		} {
			if got := loaded(t, o, other); got != nil {
				t.Errorf("%v gets %+v", other, got)
			}
		}
		if entries, err := os.ReadDir(o.Dir); err != nil || len(entries) != 1 || entries[0].Name() != FileName {
			t.Errorf("in the directory: %v, %v", entries, err)
		}
		if info, err := os.Stat(o.path()); err != nil || info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%v, %v", info, err)
		}
		if problems := Check(o, []string{o.Dir}); len(problems) != 0 {
			t.Errorf("%q", problems)
		}
	}
}

func TestAHookThatWouldBreakContainersIsNotInstalled(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, o *Options){
		"no program":             func(t *testing.T, o *Options) { do(t, os.Remove(o.HookPath)) },
		"a program not to run":   func(t *testing.T, o *Options) { do(t, os.Chmod(o.HookPath, 0o644)) },
		"a program of everybody": func(t *testing.T, o *Options) { do(t, os.Chmod(o.HookPath, 0o777)) },
		"a directory":            func(_ *testing.T, o *Options) { o.HookPath = filepath.Dir(o.HookPath) },
		"somebody's program": func(t *testing.T, o *Options) {
			asRoot(t)
			do(t, os.Chown(o.HookPath, 1000, 1000))
		},
		"a relative program":   func(_ *testing.T, o *Options) { o.HookPath = "nodekeeper-hook" },
		"a relative directory": func(_ *testing.T, o *Options) { o.Dir = "hooks.d" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			o := options(t)
			harm(t, &o)
			if err := Install(o); err == nil {
				t.Error("installed")
			}
			if _, err := os.Lstat(o.path()); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file: %v", err)
			}
		})
	}
}

func TestInstallReplacesAnOlderFile(t *testing.T) {
	o := options(t)
	do(t, Install(o))
	o.Args = nil
	if problems := Check(o, nil); len(problems) != 1 || !strings.Contains(problems[0], "differs") {
		t.Errorf("%q", problems)
	}
	do(t, Install(o))
	if problems := Check(o, nil); len(problems) != 0 {
		t.Errorf("%q", problems)
	}
}

func TestUninstallTakesTheFileOnly(t *testing.T) {
	o := options(t)
	do(t, Uninstall(o.Dir)) // even the directory is not there
	do(t, Install(o))
	do(t, os.WriteFile(filepath.Join(o.Dir, "60-other.json"), []byte("{}"), 0o644))
	for range 2 {
		do(t, Uninstall(o.Dir))
		if entries, err := os.ReadDir(o.Dir); err != nil || len(entries) != 1 {
			t.Errorf("in the directory: %v, %v", entries, err)
		}
	}
	if absent(o.HookPath) {
		t.Error("the program is gone")
	}
}

func TestCheckSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(t *testing.T, o Options, later string)
		says string
	}{
		"the file is missing": {func(t *testing.T, o Options, _ string) { do(t, Uninstall(o.Dir)) }, "is missing"},
		"the file is edited": {func(t *testing.T, o Options, _ string) {
			data, err := os.ReadFile(o.path())
			do(t, err)
			do(t, os.WriteFile(o.path(), []byte(strings.Replace(string(data), "^file$", "file", 1)), 0o644))
		}, "differs"},
		"the file is a directory": {func(t *testing.T, o Options, _ string) {
			do(t, os.Remove(o.path()))
			do(t, os.Mkdir(o.path(), 0o755))
		}, "not a regular file"},
		"the program is missing":     {func(t *testing.T, o Options, _ string) { do(t, os.Remove(o.HookPath)) }, "no such file"},
		"the program is not to run":  {func(t *testing.T, o Options, _ string) { do(t, os.Chmod(o.HookPath, 0o644)) }, "not executable"},
		"the program is everybody's": {func(t *testing.T, o Options, _ string) { do(t, os.Chmod(o.HookPath, 0o757)) }, "can be written to"},
		"the program is somebody's": {func(t *testing.T, o Options, _ string) {
			asRoot(t)
			do(t, os.Chown(o.HookPath, 1000, 1000))
		}, "belongs to user 1000"},
		"garbage beside it": {func(t *testing.T, o Options, _ string) {
			do(t, os.WriteFile(filepath.Join(o.Dir, "99-other.json"), []byte("{"), 0o644))
		}, "99-other.json keeps CRI-O from starting"},
		"garbage in a later directory": {func(t *testing.T, _ Options, later string) {
			do(t, os.WriteFile(filepath.Join(later, "99-other.json"), []byte("{"), 0o644))
		}, "99-other.json keeps CRI-O from starting"},
		"an unknown version beside it": {func(t *testing.T, o Options, _ string) {
			do(t, os.WriteFile(filepath.Join(o.Dir, "99-other.json"), []byte(`{"version":"9.0.0"}`), 0o644))
		}, "unrecognized hook version"},
		"a FIFO beside it": {func(t *testing.T, o Options, _ string) {
			do(t, unix.Mkfifo(filepath.Join(o.Dir, "99-other.json"), 0o644))
		}, "is no file"},
		"the same name later": {func(t *testing.T, o Options, later string) {
			data, err := os.ReadFile(o.path())
			do(t, err)
			do(t, os.WriteFile(filepath.Join(later, FileName), data, 0o644))
		}, "takes the last of one name"},
	} {
		t.Run(name, func(t *testing.T) {
			o, later := options(t), t.TempDir()
			do(t, Install(o))
			c.harm(t, o, later)
			problems := Check(o, []string{"/no/such/dir", o.Dir, later})
			said := strings.Join(problems, "\n")
			if !strings.Contains(said, c.says) || strings.Contains(strings.Join(problems, ""), "\n") {
				t.Errorf("said %q, want %q", problems, c.says)
			}
		})
	}
}

func TestADamagedFileIsWrittenAgain(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, o Options){
		"no JSON":             func(t *testing.T, o Options) { do(t, os.WriteFile(o.path(), []byte("{"), 0o644)) },
		"empty":               func(t *testing.T, o Options) { do(t, os.Truncate(o.path(), 0)) },
		"an unknown version":  func(t *testing.T, o Options) { do(t, edit(o, current.Version, "9.0.0")) },
		"an unknown stage":    func(t *testing.T, o Options) { do(t, edit(o, "createRuntime", "someday")) },
		"a bad expression":    func(t *testing.T, o Options) { do(t, edit(o, "^file$", "(")) },
		"a program elsewhere": func(t *testing.T, o Options) { do(t, edit(o, o.HookPath, "relative")) },
		"a FIFO": func(t *testing.T, o Options) {
			do(t, os.Remove(o.path()))
			do(t, unix.Mkfifo(o.path(), 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			do(t, Install(o))
			harm(t, o)
			if mended, err := Mend(o); err != nil || mended == nil || !strings.Contains(mended.Error(), o.path()) {
				t.Errorf("mended: %v, %v", mended, err)
			}
			if problems := Check(o, nil); len(problems) != 0 {
				t.Errorf("%q", problems)
			}
		})
	}
}

// edit changes the installed file in place.
func edit(o Options, from, to string) error {
	data, err := os.ReadFile(o.path())
	if err != nil {
		return err
	}
	return os.WriteFile(o.path(), []byte(strings.ReplaceAll(string(data), from, to)), 0o644)
}

func TestWhatIsNoHarmIsLeftAlone(t *testing.T) {
	o := options(t)
	if mended, err := Mend(o); mended != nil || err != nil || !absent(o.path()) {
		t.Errorf("never installed: %v, %v", mended, err)
	}
	do(t, Install(o))
	do(t, edit(o, "createRuntime", "poststart"))
	if mended, err := Mend(o); mended != nil || err != nil {
		t.Errorf("an admin's: %v, %v", mended, err)
	}
	if problems := Check(o, nil); len(problems) != 1 {
		t.Errorf("%q", problems)
	}
}

func TestAHookWhoseProgramCannotRunIsTakenAway(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"gone":       os.Remove,
		"not to run": func(path string) error { return os.Chmod(path, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			do(t, Install(o))
			do(t, harm(o.HookPath))
			if mended, err := Mend(o); mended != nil || err == nil || !absent(o.path()) {
				t.Errorf("%v, %v", mended, err)
			}
		})
	}
}

// What does not keep CRI-O from starting is none of our business: the oracle
// is CRI-O's loader itself.
func TestCheckIsOfOneMindWithTheLoader(t *testing.T) {
	whole := func(change func(m map[string]any)) string {
		m := map[string]any{"version": "1.0.0", "hook": map[string]any{"path": "/bin/true"}, "when": map[string]any{"always": true}, "stages": []string{"poststop"}}
		change(m)
		data, err := json.Marshal(m)
		do(t, err)
		return string(data)
	}
	for name, text := range map[string]string{
		"good":            whole(func(map[string]any) {}),
		"unknown key":     whole(func(m map[string]any) { m["more"] = 1 }),
		"missing program": whole(func(m map[string]any) { m["hook"] = map[string]any{"path": "/no/such/program"} }),
		"unknown stage":   whole(func(m map[string]any) { m["stages"] = []string{"never"} }),
		"no stages":       whole(func(m map[string]any) { delete(m, "stages") }),
		"bad regexp":      whole(func(m map[string]any) { m["when"] = map[string]any{"annotations": map[string]string{"(": ""}} }),
		"old version":     `{"hook":"/bin/true","stages":["poststop"],"cmds":["x"]}`,
		"empty":           "",
		"null":            "null",
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			do(t, Install(o))
			do(t, os.WriteFile(filepath.Join(o.Dir, "60-other.json"), []byte(text), 0o644))
			_, err := hooks.New(t.Context(), []string{o.Dir}, nil)
			if problems := Check(o, []string{o.Dir}); (err != nil) != (len(problems) > 0) {
				t.Errorf("the loader says %v, we say %q", err, problems)
			}
		})
	}
}

func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this needs root")
	}
}

func TestWhatOnlyRootMayReadSaysSo(t *testing.T) {
	denied := &fs.PathError{Op: "open", Path: "/run/hooks.d", Err: fs.ErrPermission}
	if got := said(denied); got != "open /run/hooks.d: permission denied: run it as root" {
		t.Error(got)
	}
	if got := said(errors.New("a: too large")); got != "a: too large" {
		t.Error(got)
	}
}
