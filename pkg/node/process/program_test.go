package process

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"
)

const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestControlGroupsTellServiceAndContainer(t *testing.T) {
	for name, c := range map[string]struct {
		groups, first string
		unit          string
		contained     bool
	}{
		"a service":                       {"0::/system.slice/kubelet.service\n", "0::/init.scope\n", "kubelet.service", false},
		"a service of slices":             {"0::/a.slice/a-b.slice/kubelet.service/sub\n", "", "kubelet.service", false},
		"a session":                       {"0::/user.slice/user-0.slice/session-1.scope\n", "", "", false},
		"a user's own service":            {"0::/user.slice/user-0.slice/user@0.service/app.slice/kubelet.service\n", "", "user@0.service", false},
		"none":                            {"0::/\n", "0::/\n", "", false},
		"another control group":           {"0::/kube.slice\n", "", "", false},
		"version 1":                       {"9:memory:/x\n1:name=systemd:/system.slice/kubelet.service\n0::/\n", "9:memory:/\n1:name=systemd:/init.scope\n", "kubelet.service", false},
		"both versions":                   {"9:memory:/x\n0::/system.slice/kubelet.service\n", "", "kubelet.service", false},
		"another's hierarchy":             {"9:memory:/system.slice/kubelet.service\n", "", "", false},
		"a pod of the systemd driver":     {"0::/kubepods.slice/kubepods-pod1.slice/crio-" + id + ".scope\n", "", "", true},
		"a pod of cgroupfs":               {"4:pids:/kubepods/pod1/x\n1:name=systemd:/\n", "", "", true},
		"a container of Docker":           {"0::/system.slice/docker-" + id + ".scope/system.slice/kubelet.service\n", "", "", true},
		"on a host that is a container":   {"0::/docker/" + id + "/system.slice/kubelet.service\n", "0::/docker/" + id + "/init.scope\n", "kubelet.service", false},
		"on one without systemd":          {"0::/docker/" + id + "/x\n", "0::/docker/" + id + "\n", "", false},
		"in a container of such a host":   {"0::/docker/" + id + "/kubepods/x\n", "0::/docker/" + id + "\n", "", true},
		"beside the host's control group": {"0::/docker/" + id + "/x\n", "0::/other\n", "", true},
	} {
		unit, contained := inGroups(c.groups, c.first)
		if unit != c.unit || contained != c.contained {
			t.Errorf("%s: unit %q, contained %v", name, unit, contained)
		}
	}
}

func TestProgramOfARealProcess(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	// Start returns when the program has been executed.
	p, err := ThisHost().Program(cmd.Process.Pid)
	if err != nil || !slices.Equal(p.Argv, []string{"sleep", "600"}) || p.Dir != cmd.Dir || p.User != os.Geteuid() || p.Contained {
		t.Errorf("got %+v, error %v", p, err)
	}
	pids, err := ThisHost().Named(func(comm string) bool { return comm == "sleep" })
	if err != nil || !slices.Contains(pids, cmd.Process.Pid) {
		t.Errorf("got %v, error %v", pids, err)
	}
}

func TestProgramOfNoProcess(t *testing.T) {
	if _, err := (Host{Proc: t.TempDir()}).Program(7); !errors.Is(err, ErrGone) {
		t.Errorf("error %v", err)
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("Name:\tx\nUid:\t0\t0\t0\t0\nNSpid:\t1\t2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if user, nested, err := parseStatus(text); err != nil && (user != 0 || nested) {
			t.Errorf("%d, %v with an error", user, nested)
		}
	})
}
