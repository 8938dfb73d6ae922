package machineconfig

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	digestA = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digestB = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	imageA  = "registry.example.com/nodekeeper@" + digestA
	imageB  = "registry.example.com/nodekeeper@" + digestB
)

// The programs of an image, and what may be wrong with one.
const (
	good    = "#!/bin/sh\necho nodekeeper version VERSION '(go1, linux/amd64)'\n"
	hook    = "#!/bin/sh\n# VERSION\nexit 0\n"
	crashes = "#!/bin/sh\nkill -SEGV $$\n"
	silent  = "#!/bin/sh\nexit 0\n"
	hangs   = "#!/bin/sh\nexec sleep 1000\n"
	foreign = "\x7fELF not for this machine"
)

// fakePodman keeps images as directories. What it is to do wrong is in files
// beside them; it writes down how it was called.
const fakePodman = `#!/bin/sh
echo "$*" >>ROOT/calls
fault() { [ -e "ROOT/fault-$1" ] && . "ROOT/fault-$1"; }
case "$1 $2" in
"image exists") fault exists; test -e "ROOT/storage/${3##*@}" ;;
"pull --quiet")
	for image; do :; done
	fault pull
	cp -r "ROOT/registry/${image##*@}" ROOT/storage/ ;;
"create --net=none")
	for image; do :; done
	fault create
	echo "${image##*@}" >ROOT/container ;;
"rm --force") rm -f ROOT/container ;;
"cp nodekeeper-install:"*)
	to=$3
	fault cp
	cp "ROOT/storage/$(cat ROOT/container)${2#*:}" "$3" ;;
*) echo "unknown: $*" >&2; exit 125 ;;
esac
`

// machine is a node's files, with the commands that the script calls.
type machine struct {
	*testing.T
	root string
	// boot is how many seconds a booting node waits for another version.
	boot string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{T: t, root: t.TempDir(), boot: "30"}
	for _, dir := range []string{"run", "etc/nodekeeper", "storage", "registry", "path"} {
		if err := os.MkdirAll(m.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.command("podman", strings.ReplaceAll(fakePodman, "ROOT", m.root))
	m.command("restorecon", "#!/bin/sh\necho restorecon \"$*\" >>"+m.path("calls")+"\n")
	m.command("systemd-run", "#!/bin/sh\necho systemd-run \"$*\" >>"+m.path("calls")+"\n")
	m.command("chown", "#!/bin/sh\n")
	m.systemctl("true")
	m.image(digestA, "v1", good, hook)
	m.want(imageA)
	return m
}

// systemctl says whether the kubelet runs; units are always enabled.
func (m *machine) systemctl(kubelet string) {
	m.command("systemctl", "#!/bin/sh\necho systemctl \"$*\" >>"+m.path("calls")+"\ncase $1 in is-active) "+kubelet+" ;; esac\n")
}

func (m *machine) path(name string) string { return filepath.Join(m.root, name) }

func (m *machine) write(name, text string, mode os.FileMode) {
	m.Helper()
	if err := os.WriteFile(m.path(name), []byte(text), mode); err != nil {
		m.Fatal(err)
	}
}

func (m *machine) command(name, text string) { m.write("path/"+name, text, 0o755) }

// fault is shell that a step of podman runs first.
func (m *machine) fault(step, shell string) { m.write("fault-"+step, shell+"\n", 0o644) }

func (m *machine) want(image string) { m.write("etc/nodekeeper/image", image+"\n", 0o644) }

func (m *machine) image(digest, version, program, hook string) {
	m.Helper()
	if err := os.MkdirAll(m.path("registry/"+digest), 0o755); err != nil {
		m.Fatal(err)
	}
	m.write("registry/"+digest+"/nodekeeper", strings.ReplaceAll(program, "VERSION", version), 0o755)
	m.write("registry/"+digest+"/nodekeeper-hook", strings.ReplaceAll(hook, "VERSION", version), 0o755)
}

func (m *machine) read(name string) string {
	text, err := os.ReadFile(m.path(name))
	if err != nil {
		return ""
	}
	return string(text)
}

func (m *machine) forget() { _ = os.Remove(m.path("calls")) }

// install runs the script, which must end with 0 and one line.
func (m *machine) install(args ...string) string {
	m.Helper()
	out, err := m.start(args...).CombinedOutput()
	if err != nil {
		m.Fatalf("%v: %s", err, out)
	}
	line := strings.TrimSuffix(string(out), "\n")
	if line == "" || strings.Contains(line, "\n") || !strings.HasPrefix(line, "nodekeeper-install: ") {
		m.Errorf("not one clear line: %q", out)
	}
	return line
}

func (m *machine) start(args ...string) *exec.Cmd {
	m.Helper()
	script, err := Sources.ReadFile("install.sh")
	if err != nil {
		m.Fatal(err)
	}
	var pairs []string
	for _, dir := range []string{"/usr/local/bin", "/etc/nodekeeper", "/var/lib", "/run"} {
		pairs = append(pairs, "="+dir+"/", "="+m.path(dir)+"/", "="+dir+"\n", "="+m.path(dir)+"\n")
	}
	pairs = append(pairs, "end=$(($(now) + 30))", "end=$(($(now) + "+m.boot+"))")
	text := strings.NewReplacer(pairs...).Replace(string(script))
	if strings.Count(text, m.root) != 6 {
		m.Fatalf("the script has %d paths of its own", strings.Count(text, m.root))
	}
	m.write("install", text, 0o644)
	cmd := exec.CommandContext(m.Context(), "/bin/sh", append([]string{m.path("install")}, args...)...)
	cmd.Env = []string{"PATH=" + m.path("path") + ":/usr/bin:/bin"}
	return cmd
}

// has checks which version is in place, whole and alone.
func (m *machine) has(version string) {
	m.Helper()
	for name, text := range map[string]string{"nodekeeper": good, "nodekeeper-hook": hook} {
		want := ""
		if version != "" {
			want = strings.ReplaceAll(text, "VERSION", version)
		}
		if got := m.read("usr/local/bin/" + name); got != want {
			m.Errorf("%s is %q instead of %q", name, got, want)
		}
	}
	entries, _ := os.ReadDir(m.path("usr/local/bin"))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			m.Errorf("%s is left", e.Name())
		}
		if info, err := e.Info(); err != nil || info.Mode() != 0o755 {
			m.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if m.read("container") != "" {
		m.Error("a container is left")
	}
}

func (m *machine) called(want string) {
	m.Helper()
	if !strings.Contains(m.read("calls"), want) {
		m.Errorf("no %q in %s", want, m.read("calls"))
	}
}

func (m *machine) notCalled(not string) {
	m.Helper()
	if strings.Contains(m.read("calls"), not) {
		m.Errorf("%q in %s", not, m.read("calls"))
	}
}

func says(t *testing.T, line, want string) {
	t.Helper()
	if !strings.Contains(line, want) {
		t.Errorf("%q does not say %q", line, want)
	}
}

func TestAnEmptyNodeGetsThePrograms(t *testing.T) {
	m := newMachine(t)
	says(t, m.install(), "nodekeeper v1 is installed")
	m.has("v1")
	m.called("restorecon -F")
	m.called("systemctl --no-block start nodekeeper.service")
	m.called("pull --quiet " + imageA)
	stamp := m.read("var/lib/nodekeeper/installed")
	for _, want := range []string{`"image":"` + imageA + `"`, `"digest":"` + digestA + `"`, `"version":"v1"`, `"time":"20`} {
		says(t, stamp, want)
	}
}

func TestThePullSecretIsUsedWhereThereIsOne(t *testing.T) {
	m := newMachine(t)
	if err := os.MkdirAll(m.path("var/lib/kubelet"), 0o755); err != nil {
		t.Fatal(err)
	}
	m.write("var/lib/kubelet/config.json", "{}", 0o600)
	m.install()
	m.called("pull --quiet --authfile " + m.path("var/lib/kubelet/config.json") + " " + imageA)
	m.has("v1")
}

func TestNothingIsDoneWhereTheImageIsInstalled(t *testing.T) {
	m := newMachine(t)
	m.install()
	m.forget()
	says(t, m.install(), "nodekeeper v1 is in place")
	if calls := m.read("calls"); calls != "" {
		t.Errorf("it called %s", calls)
	}
	// The registry's name is not what counts.
	m.want("mirror.example.com/other@" + digestA)
	says(t, m.install(), "in place")
	m.notCalled("pull --quiet")
}

func TestAProgramThatBrokeIsInstalledAgain(t *testing.T) {
	for name, text := range map[string]string{"truncated": "#!/bi", "crashes": crashes, "silent": silent, "hangs": hangs, "gone": ""} {
		for _, program := range []string{"nodekeeper", "nodekeeper-hook"} {
			if program == "nodekeeper-hook" && name == "silent" {
				continue // as it should be
			}
			t.Run(name+" "+program, func(t *testing.T) {
				t.Parallel()
				m := newMachine(t)
				m.install()
				m.write("usr/local/bin/"+program, text, 0o755)
				if name == "gone" {
					if err := os.Remove(m.path("usr/local/bin/" + program)); err != nil {
						t.Fatal(err)
					}
				}
				m.forget()
				says(t, m.install(), "installed")
				m.has("v1")
				m.called("create")
			})
		}
	}
}

func TestAnImageOnTheNodeNeedsNoRegistry(t *testing.T) {
	m := newMachine(t)
	m.fault("pull", "exit 125")
	if err := os.Rename(m.path("registry/"+digestA), m.path("storage/"+digestA)); err != nil {
		t.Fatal(err)
	}
	says(t, m.install(), "installed")
	m.has("v1")
	m.notCalled("pull --quiet")
}

func TestAnUpgradeReplacesWhatRuns(t *testing.T) {
	m := newMachine(t)
	m.install()
	m.image(digestB, "v2", good, hook)
	m.want(imageB)
	m.forget()
	says(t, m.install(), "nodekeeper v2 is installed")
	m.has("v2")
	// What an admin stopped stays so.
	m.called("systemctl --no-block try-restart nodekeeper.service")
	m.called("systemctl --no-block try-restart nodekeeper-proxy.service")
	m.notCalled("systemctl --no-block start")
	// And back.
	m.want(imageA)
	says(t, m.install(), "nodekeeper v1 is installed")
	m.has("v1")
}

func TestTheOldProgramsStayWhenTheNewDoNotCome(t *testing.T) {
	for name, c := range map[string]struct {
		step, shell, says string
		again             bool
	}{
		"registry down":      {"pull", "echo 'connection refused' >&2; exit 125", "connection refused", true},
		"killed":             {"pull", "kill -KILL $$", "pull", true},
		"no container":       {"create", "echo 'no space left on device' >&2; exit 125", "no space left on device", true},
		"not in the image":   {"cp", "echo 'could not be found' >&2; exit 125", "could not be found", true},
		"copied half":        {"cp", `printf '#!/bin' >"$to"; echo 'no space left on device' >&2; exit 1`, "no space left on device", true},
		"half and no error":  {"cp", `printf 'half' >"$to"; exit 0`, "do not work", false},
		"more than one line": {"pull", `printf 'a\nb\tc\033[31m\n' >&2; exit 1`, "bc[31m", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.install()
			m.image(digestB, "v2", good, hook)
			m.want(imageB)
			m.fault(c.step, c.shell)
			m.forget()
			line := m.install()
			says(t, line, c.says)
			says(t, line, "nodekeeper v1 stays")
			m.has("v1")
			m.notCalled("try-restart")
			if strings.Contains(m.read("calls"), "systemd-run") != c.again {
				t.Errorf("another try later: %t", !c.again)
			}
			// And as soon as it is possible:
			if err := os.Remove(m.path("fault-" + c.step)); err != nil {
				t.Fatal(err)
			}
			says(t, m.install("600"), "nodekeeper v2 is installed")
			m.has("v2")
		})
	}
}

func TestProgramsThatDoNotWorkAreNotInstalled(t *testing.T) {
	for name, c := range map[string]struct{ program, hook string }{
		"crashes": {crashes, hook}, "says nothing": {silent, hook}, "hangs": {hangs, hook}, "for another machine": {foreign, hook},
		"not nodekeeper": {"#!/bin/sh\necho v2\n", hook}, "hook crashes": {good, crashes}, "hook fails": {good, "#!/bin/sh\nexit 1\n"},
		"hook for another machine": {good, foreign}, "hook waits for input": {good, "#!/bin/sh\ncat; exit 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.install()
			m.image(digestB, "v2", c.program, c.hook)
			m.want(imageB)
			m.forget()
			line := m.install()
			says(t, line, "do not work")
			says(t, line, "nodekeeper v1 stays")
			m.has("v1")
			// The same image would not work later either.
			m.notCalled("systemd-run")
			m.notCalled("try-restart")
		})
	}
}

// What one image leaves, the next one must not stumble over.
func TestAnImageWithDirectoriesForProgramsIsNoHindrance(t *testing.T) {
	m := newMachine(t)
	m.fault("cp", "mkdir -p $to/x; exit 0")
	if line := m.install(); !strings.Contains(line, "do not work") {
		t.Error(line)
	}
	m.has("")
	m.fault("cp", "")
	m.install()
	m.has("v1")
}

func TestADirectoryInThePlaceOfTheProgramIsTold(t *testing.T) {
	m := newMachine(t)
	if err := os.MkdirAll(m.path("usr/local/bin/nodekeeper/mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	if line := m.install(); !strings.Contains(line, "put the programs in place") || !strings.Contains(line, "directory") {
		t.Error(line)
	}
	if m.read("var/lib/nodekeeper/installed") != "" {
		t.Error("it is noted as installed")
	}
}

// A full /var, for example.
func TestAnInstallationThatCannotBeNotedIsOneAllTheSame(t *testing.T) {
	m := newMachine(t)
	if err := os.MkdirAll(m.path("var/lib/nodekeeper/installed"), 0o755); err != nil {
		t.Fatal(err)
	}
	if line := m.install(); !strings.Contains(line, "note what is installed") || !strings.HasSuffix(line, "; nodekeeper v1 is in place") {
		t.Error(line)
	}
	m.has("v1")
	m.called("systemctl --no-block start nodekeeper.service")
}

func TestFIFOsAreNotWaitedFor(t *testing.T) {
	for _, name := range []string{"run/nodekeeper-install.lock", "run/nodekeeper-install.out", "var/lib/nodekeeper/installed", "etc/nodekeeper/image"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			m := newMachine(t)
			m.install()
			_ = os.Remove(m.path(name))
			if err := syscall.Mkfifo(m.path(name), 0o600); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			m.install("5")
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			m.has("v1")
		})
	}
}

func TestAnEmptyNodeSaysThatItHasNothing(t *testing.T) {
	m := newMachine(t)
	m.fault("pull", "echo 'no route to host' >&2; exit 125")
	says(t, m.install(), "no route to host; there is no nodekeeper that works on this node")
	m.has("")
	m.called("systemd-run --quiet --collect --unit=nodekeeper-install-retry-")
	m.called("--on-active=5min /bin/sh " + m.path("install") + " 600")
}

func TestAnImageThatIsNoneIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "by tag": "registry.example.com/nodekeeper:v1", "no digest": "registry.example.com/nodekeeper@sha256:",
		"an option": "--root=/x@" + digestA, "two words": "a b@" + digestA, "a quote": `a"b@` + digestA, "a command": "$(touch /x)@" + digestA,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.want(text)
			says(t, m.install(), "does not say IMAGE@sha256:DIGEST")
			m.notCalled("pull --quiet")
		})
	}
	m := newMachine(t)
	if err := os.Remove(m.path("etc/nodekeeper/image")); err != nil {
		t.Fatal(err)
	}
	says(t, m.install(), "does not say")
}

func TestAPodmanThatHangsIsNotWaitedFor(t *testing.T) {
	for name, shell := range map[string]string{
		"asleep":           "sleep 1000",
		"deaf":             "trap '' TERM; while :; do sleep 1; done",
		"with a child":     "sleep 1000 & wait",
		"child has output": "setsid sleep 20 & exit 1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.fault("pull", shell)
			began := time.Now()
			says(t, m.install("3"), "pull")
			if took := time.Since(began); took > 12*time.Second {
				t.Errorf("it took %v", took)
			}
			m.has("")
			m.called("systemd-run")
		})
	}
}

// A node that has a program waits for 30 s at most while it boots.
func TestABootDoesNotWaitLongForAnotherVersion(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install()
	m.boot = "3"
	m.systemctl("exit 3")
	m.want(imageB)
	m.fault("pull", "sleep 1000")
	began := time.Now()
	says(t, m.install(), "nodekeeper v1 stays")
	if took := time.Since(began); took < 2*time.Second || took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestOneAtATime(t *testing.T) {
	m := newMachine(t)
	m.fault("create", "test ! -e "+m.path("busy")+" || echo two at once >>"+m.path("clash")+"; touch "+m.path("busy")+"; sleep 0.3; rm "+m.path("busy"))
	m.start() // writes the script
	var all sync.WaitGroup
	for range 5 {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", m.path("install"))
		cmd.Env = []string{"PATH=" + m.path("path") + ":/usr/bin:/bin"}
		all.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "\n") != 1 {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	m.has("v1")
	if text := m.read("clash"); text != "" {
		t.Error(text)
	}
	if n := strings.Count(m.read("calls"), "pull --quiet"); n != 1 {
		t.Errorf("%d pulls", n)
	}
}

func TestAnImageThatChangesMeanwhileIsInstalledToo(t *testing.T) {
	m := newMachine(t)
	m.image(digestB, "v2", good, hook)
	m.fault("create", "echo "+imageB+" >"+m.path("etc/nodekeeper/image"))
	out, err := m.start().CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	says(t, string(out), "nodekeeper v2 is installed")
	m.has("v2")
}

func TestAnotherOneThatDoesNotEndIsNotWaitedFor(t *testing.T) {
	m := newMachine(t)
	holder := exec.CommandContext(t.Context(), "flock", m.path("run/nodekeeper-install.lock"), "sleep", "1000")
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Process.Kill(); _ = holder.Wait() })
	for exec.CommandContext(t.Context(), "flock", "-n", m.path("run/nodekeeper-install.lock"), "true").Run() == nil {
		time.Sleep(10 * time.Millisecond) // until the holder has it
	}
	says(t, m.install("1"), "another installation does not end")
	m.called("systemd-run")
}

func TestItEndsWellWithNothingThere(t *testing.T) {
	m := newMachine(t)
	for _, name := range []string{"podman", "systemctl", "systemd-run"} {
		if err := os.Remove(m.path("path/" + name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := m.start()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "there is no nodekeeper") {
		t.Errorf("%v: %s", err, out)
	}
	if err := os.RemoveAll(m.path("run")); err != nil {
		t.Fatal(err)
	}
	if out, err := m.start().CombinedOutput(); err != nil || !strings.Contains(string(out), "cannot open") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestTheShellOfTheScriptsIsClean(t *testing.T) {
	check, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not there: the scripts are not checked by it")
	}
	for _, name := range []string{"install.sh", "kubelet-drop-in.sh"} {
		if out, err := exec.CommandContext(t.Context(), check, "--shell=sh", name).CombinedOutput(); err != nil {
			t.Errorf("%s", out)
		}
	}
}
