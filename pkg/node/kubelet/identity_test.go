package kubelet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/process/processtest"
)

func configOf() config.Kubelet { return config.Default().Kubelet }

// unitOf is what systemd says while the kubelet runs.
func unitOf(pid int) node.Unit {
	return node.Unit{Name: "kubelet.service", LoadState: "loaded", ActiveState: "active", MainPID: pid}
}

func TestIdentifyTellsProcessAndSettings(t *testing.T) {
	h := newHost(t)
	dir := t.TempDir()
	settings := h.write(filepath.Join(dir, "kubelet.conf"), settingsHead+"staticPodPath: /etc/kubernetes/manifests\nmaxPods: 250\nfileCheckFrequency: 5s\nfeatureGates: {A: true, B: true}\n")
	h.begins(10, "/usr/bin/kubelet --config="+settings+" --hostname-override=Worker-0 --root-dir=/r --feature-gates=B=false --manifest-url=http://m --node-labels=x=1")
	i := h.identity(configOf())
	p, s := i.Identify(t.Context(), unitOf(10))
	want := node.KubeletProcess{PID: 10, Started: p.Started, State: "S", Program: "/usr/bin/kubelet", Unit: "kubelet.service"}
	if p != want {
		t.Errorf("process %+v, want %+v", p, want)
	}
	if s.NodeName != "worker-0" || s.NodeNameFrom != "--hostname-override" || s.NodeNameErr != nil || s.Err != nil || len(s.NotReadYet) > 0 {
		t.Errorf("settings %+v", s)
	}
	if s.StaticPodPath != "/etc/kubernetes/manifests" || s.StaticPodURL != "http://m" || s.RootDir != "/r" || s.MaxPods != 250 ||
		s.FileCheckFrequency != 5*time.Second || !s.FeatureGates["A"] || s.FeatureGates["B"] || !s.AllFeatureGates || !slices.Equal(s.NodeLabels, []string{"x"}) {
		t.Errorf("settings %+v", s)
	}
	line := Identified(p, s, "kubelet.service")
	if line != "kubelet, process 10 of kubelet.service, node name worker-0 from --hostname-override" {
		t.Error(line)
	}
}

// Given a kubelet that has read its files.
// When they change, come and go, and come back.
// Then what it has read stays in force, and the files are named; until another
// process reads them.
func TestFilesThatAreYoungerThanTheProcessAreNotInForce(t *testing.T) {
	h := newHost(t)
	dir := t.TempDir()
	settings, dropIns := filepath.Join(dir, "kubelet.conf"), filepath.Join(dir, "conf.d")
	first := settingsHead + "staticPodPath: /first\ncrashLoopBackOff: {maxContainerRestartPeriod: 60s}\n"
	h.write(settings, first)
	old := h.write(filepath.Join(dropIns, "a", "10.conf"), settingsHead+"maxPods: 7\n")
	line := "/usr/bin/kubelet --config=" + settings + " --config-dir=" + dropIns
	h.begins(10, line)
	i := h.identity(configOf())
	look := func(pid int, path string, pods int, unread ...string) {
		t.Helper()
		_, s := i.Identify(t.Context(), unitOf(pid))
		if s.StaticPodPath != path || s.MaxPods != pods || s.MaxContainerRestartPeriod != time.Minute || s.StaticPodPathErr != nil || !slices.Equal(s.NotReadYet, unread) {
			t.Errorf("settings %+v, want %s, %d pods, %q unread", s, path, pods, unread)
		}
	}
	look(10, "/first", 7)
	h.write(settings, strings.Replace(first, "/first", "/second", 1))
	look(10, "/first", 7, settings)
	added := h.write(filepath.Join(dropIns, "20.conf"), settingsHead+"maxPods: 9\n")
	look(10, "/first", 7, added, settings)
	remove(t, old)
	look(10, "/first", 7, added, old, settings)
	h.write(settings, "half a f")
	look(10, "/first", 7, added, old, settings)
	h.write(settings, first)
	look(10, "/first", 7, added, old)
	remove(t, added)
	h.write(settings, strings.Replace(first, "/first", "/third", 1))
	look(10, "/first", 7, old, settings)

	h.passed += time.Minute
	h.Remove(10)
	look(0, "/first", 7, old, settings)
	h.begins(11, line)
	look(11, "/third", 0)
}

// Given files that changed before the process was first seen.
// Then nobody knows what it has read: the kubelet's defaults count, which are
// the more patient values, and its manifests are not known.
func TestWhatIsLostIsNotGuessed(t *testing.T) {
	dir := t.TempDir()
	settings, dropIns := filepath.Join(dir, "kubelet.conf"), filepath.Join(dir, "conf.d")
	content := settingsHead + "staticPodPath: /m\ncrashLoopBackOff: {maxContainerRestartPeriod: 1s}\nfeatureGates: {A: true}\nhealthzPort: 0\nfileCheckFrequency: 1s\n"
	for name, c := range map[string]struct {
		change func()
		unread string
	}{
		"a main file": {func() { writeSettings(t, settings, content) }, settings},
		"a drop-in": {func() {
			// Its directory is older.
			if err := os.WriteFile(filepath.Join(dropIns, "a.conf"), []byte(settingsHead+"maxPods: 2\n"), 0); err != nil {
				t.Fatal(err)
			}
		}, filepath.Join(dropIns, "a.conf")},
		"a drop-in that has gone": {func() { remove(t, filepath.Join(dropIns, "a.conf")) }, dropIns},
		"a main file has gone":    {func() { remove(t, settings) }, settings},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.write(settings, content)
			h.write(filepath.Join(dropIns, "a.conf"), settingsHead+"maxPods: 1\n")
			h.begins(10, "/usr/bin/kubelet --config="+settings+" --config-dir="+dropIns)
			c.change()
			cfg := configOf()
			for range 2 {
				_, s := h.identity(cfg).Identify(t.Context(), unitOf(10))
				if s.MaxContainerRestartPeriod != 0 || len(s.FeatureGates) > 0 || s.HealthzURL != "" || s.FileCheckFrequency != 0 || s.MaxPods != 0 || s.AllFeatureGates {
					t.Errorf("settings %+v", s)
				}
				if !slices.Contains(s.NotReadYet, c.unread) {
					t.Errorf("not read yet: %q", s.NotReadYet)
				}
				if known := cfg.StaticPodPath != ""; (s.StaticPodPathErr == nil) != known || (s.StaticPodPath == "") == known {
					t.Errorf("manifests %q, error %v", s.StaticPodPath, s.StaticPodPathErr)
				}
				cfg.StaticPodPath = "/ours"
			}
		})
	}
}

// A link that leads to an older file is younger itself. Nor does a clock that
// is set make a file one that the process has read.
func TestAnOlderFileInItsPlaceIsNotInForce(t *testing.T) {
	h := newHost(t)
	dir := t.TempDir()
	first, second, link := filepath.Join(dir, "1"), filepath.Join(dir, "2"), filepath.Join(dir, "kubelet.conf")
	h.write(first, settingsHead+"staticPodPath: /first\n")
	h.write(second, settingsHead+"staticPodPath: /second\n")
	if err := os.Symlink(first, link); err != nil {
		t.Fatal(err)
	}
	h.begins(10, "/usr/bin/kubelet --config="+link)
	i := h.identity(configOf())
	i.Identify(t.Context(), unitOf(10))
	remove(t, link)
	if err := os.Symlink(second, link); err != nil {
		t.Fatal(err)
	}
	for _, set := range []time.Duration{0, time.Hour, -time.Hour} {
		h.set = set
		if _, s := i.Identify(t.Context(), unitOf(10)); s.StaticPodPath != "/first" || !slices.Equal(s.NotReadYet, []string{link}) {
			t.Errorf("clock set by %s: settings %+v", set, s)
		}
	}
	h.set = 0
	if _, s := h.identity(configOf()).Identify(t.Context(), unitOf(10)); s.StaticPodPathErr == nil {
		t.Errorf("a new agent: settings %+v", s)
	}
}

// Before the clock is set right, files may seem younger than they are.
func TestWhatWasLostThroughTheClockIsFound(t *testing.T) {
	h := newHost(t)
	settings := h.write(filepath.Join(t.TempDir(), "c"), settingsHead+"staticPodPath: /m\n")
	h.begins(10, "/usr/bin/kubelet --config="+settings)
	i := h.identity(configOf())
	h.set = -time.Hour
	if _, s := i.Identify(t.Context(), unitOf(10)); s.StaticPodPathErr == nil || len(s.NotReadYet) != 1 {
		t.Errorf("settings %+v", s)
	}
	h.set = 0
	if _, s := i.Identify(t.Context(), unitOf(10)); s.StaticPodPath != "/m" || len(s.NotReadYet) > 0 {
		t.Errorf("settings %+v", s)
	}
}

// MicroShift writes the file each time it starts, and its kubelet reads it then.
func TestAProgramThatWritesItsKubeletsSettings(t *testing.T) {
	h := newHost(t)
	h.run(program{Process: processtest.Process{PID: 10, Argv: []string{"microshift", "run"}, Cgroup: "/system.slice/microshift.service"}})
	i := h.identity(configOf())
	p, s := i.Identify(t.Context(), node.Unit{Name: "kubelet.service", LoadState: "not-found"})
	if p.Unit != "microshift.service" || i.last.flags.config != "/var/lib/microshift/resources/kubelet/config/config.yaml" {
		t.Errorf("process %+v", p)
	}
	if line := Identified(p, s, "kubelet.service"); !strings.Contains(line, "of microshift.service (set kubelet.unit to it: it is kubelet.service)") {
		t.Error(line)
	}
	i.last.flags.config, i.last.inForce = h.write(filepath.Join(t.TempDir(), "c"), settingsHead+"staticPodPath: /m\n"), inForce{}
	if _, s = i.Identify(t.Context(), node.Unit{}); s.StaticPodPath != "/m" || len(s.NotReadYet) > 0 {
		t.Errorf("settings %+v", s)
	}
}

// kubeconfigOf writes a kubeconfig whose client certificate is that of a user.
func (h *host) kubeconfigOf(user string, inside bool) string {
	h.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		h.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: user, Organization: []string{"system:nodes"}}}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		h.t.Fatal(err)
	}
	// The kubelet keeps both in one file, the key last or first.
	text := string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte("x")})) + string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
	dir := h.t.TempDir()
	named := "client-certificate: pki/client.pem"
	if inside {
		named = "client-certificate-data: " + base64.StdEncoding.EncodeToString([]byte(text))
	}
	h.write(filepath.Join(dir, "pki", "client.pem"), text)
	return h.write(filepath.Join(dir, "kubeconfig"), "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- {name: c, context: {user: u}}\nusers:\n- {name: other, user: {token: t}}\n- {name: u, user: {"+named+"}}\n")
}

func TestTheNodesName(t *testing.T) {
	h := newHost(t)
	file, data, admin := h.kubeconfigOf("system:node:n1", false), h.kubeconfigOf("system:node:n1", true), h.kubeconfigOf("admin", false)
	none := filepath.Join(t.TempDir(), "none")
	for name, c := range map[string]struct {
		flags      flags
		atStart    string
		want, from string
		says       string
	}{
		"the override":                            {flags{hostname: " Node-1 ", kubeconfigs: []string{file}}, "h", "node-1", "--hostname-override", ""},
		"the certificate":                         {flags{kubeconfigs: []string{file}}, "", "n1", "client certificate", ""},
		"the certificate within":                  {flags{kubeconfigs: []string{data}}, "n1", "n1", "client certificate", ""},
		"the certificate before the proxy's":      {flags{kubeconfigs: []string{file, none}}, "", "n1", "client certificate", ""},
		"the host":                                {flags{}, "h", "h", "host name", ""},
		"the host before it has joined":           {flags{kubeconfigs: []string{none}}, "h", "h", "host name", ""},
		"the certificate of a cloud's":            {flags{cloud: "aws", hostname: "o", kubeconfigs: []string{file}}, "h", "n1", "client certificate", ""},
		"the override with a cloud outside":       {flags{cloud: "external", hostname: "o"}, "h", "o", "--hostname-override", ""},
		"nothing":                                 {flags{}, "", "", "", "no --kubeconfig"},
		"a kubeconfig that is not there":          {flags{kubeconfigs: []string{none}}, "", "", "", none},
		"the certificate of another":              {flags{kubeconfigs: []string{admin}}, "", "", "", `"admin", which is no node`},
		"two that differ":                         {flags{kubeconfigs: []string{file}}, "h", "", "", "of node n1, and the host was called h"},
		"a cloud's that is not in a certificate":  {flags{cloud: "aws", hostname: "o"}, "h", "", "", "no --kubeconfig"},
		"a file that is no kubeconfig, but named": {flags{kubeconfigs: []string{filepath.Join(filepath.Dir(file), "pki", "client.pem")}}, "", "", "", "not YAML"},
	} {
		got, from, err := provedName(c.flags, c.atStart)
		if got != c.want || from != c.from || (err == nil) != (c.says == "") {
			t.Errorf("%s: %q from %q, error %v", name, got, from, err)
		}
		if err != nil && (!strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "set kubelet.nodeName") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestTheHostsNameWhenTheKubeletStarted(t *testing.T) {
	for name, c := range map[string]struct {
		// boot is what /etc/hostname holds; late is set if it was written after the
		// kubelet had started. looks are the names at looks before that.
		boot  string
		late  bool
		looks []string
		want  string
	}{
		"as at boot":                       {"host-1\n", false, nil, "host-1"},
		"written after the start":          {"host-1\n", true, nil, ""},
		"another than at boot":             {"localhost\n", false, nil, ""},
		"nothing at boot":                  {"", false, nil, ""},
		"seen before":                      {"", false, []string{"HOST-1"}, "host-1"},
		"seen before and changed, back":    {"", false, []string{"host-1", "other"}, ""},
		"seen before, with a file of late": {"host-1", true, []string{"host-1"}, "host-1"},
	} {
		h := newHost(t)
		if c.boot != "" && !c.late {
			h.write(h.nameFile, c.boot)
		}
		i := h.identity(configOf())
		for _, seen := range c.looks {
			h.name = seen
			h.passed += time.Minute
			i.Identify(t.Context(), node.Unit{})
		}
		h.begins(10, "/usr/bin/kubelet")
		h.passed += time.Minute
		h.name = "Host-1"
		if c.late {
			h.write(h.nameFile, c.boot)
		}
		_, s := i.Identify(t.Context(), unitOf(10))
		if s.NodeName != c.want || (s.NodeNameErr == nil) != (c.want != "") {
			t.Errorf("%s: %q, error %v", name, s.NodeName, s.NodeNameErr)
		}
	}
}

// A host that is renamed changes nothing for a kubelet that runs: nor for an
// agent that has begun since, if the kubelet has a certificate.
func TestRenamingTheHostChangesNothing(t *testing.T) {
	for name, line := range map[string]func(*host) string{
		"with an override": func(*host) string { return "/usr/bin/kubelet --hostname-override=host-1" },
		"with a certificate": func(h *host) string {
			return "/usr/bin/kubelet --kubeconfig=" + h.kubeconfigOf("system:node:host-1", false)
		},
		"with its name alone": func(*host) string { return "/usr/bin/kubelet" },
	} {
		h := newHost(t)
		h.write(h.nameFile, "host-1\n")
		h.begins(10, line(h))
		i := h.identity(configOf())
		_, before := i.Identify(t.Context(), unitOf(10))
		h.name = "other"
		h.write(h.nameFile, "other\n")
		h.passed += time.Minute
		_, after := i.Identify(t.Context(), unitOf(10))
		if before.NodeName != "host-1" || after.NodeName != before.NodeName || after.NodeNameFrom != before.NodeNameFrom {
			t.Errorf("%s: %q, then %q, error %v", name, before.NodeName, after.NodeName, after.NodeNameErr)
		}
		_, anew := h.identity(configOf()).Identify(t.Context(), unitOf(10))
		if want := name != "with its name alone"; (anew.NodeName == "host-1") != want || anew.NodeName == "other" {
			t.Errorf("%s: a new agent takes it for %q", name, anew.NodeName)
		}
		// Another process is asked anew.
		h.begins(11, "/usr/bin/kubelet --hostname-override=third")
		if _, s := i.Identify(t.Context(), unitOf(11)); s.NodeName != "third" {
			t.Errorf("%s: a new process is called %q", name, s.NodeName)
		}
	}
}

// Nor do other processes, in pods or not.
func TestOtherProcessesChangeNothing(t *testing.T) {
	h := newHost(t)
	h.begins(10, "/usr/bin/kubelet --hostname-override=n")
	i := h.identity(configOf())
	p, s := i.Identify(t.Context(), unitOf(10))
	for _, other := range []program{
		proc(20, 1, inPod, "/usr/bin/kubelet --hostname-override=pod"),
		proc(21, 1, inDocker, "/usr/bin/kubelet --hostname-override=kind"),
		proc(22, 1, "/user.slice/user-0.slice/session-1.scope", "/root/kubelet --hostname-override=test"),
	} {
		h.run(other)
		// Systemd is silent at one of the looks.
		for _, unit := range []node.Unit{unitOf(10), {Name: "kubelet.service"}} {
			if q, u := i.Identify(t.Context(), unit); q != p || u.NodeName != s.NodeName {
				t.Errorf("%+v, %q", q, u.NodeName)
			}
		}
	}
}

func TestAKubeletThatDoesNotRun(t *testing.T) {
	h := newHost(t)
	i := h.identity(config.Kubelet{Config: []string{h.write(filepath.Join(t.TempDir(), "c"), settingsHead+"staticPodPath: /m\n")}})
	p, s := i.Identify(t.Context(), unitOf(0))
	if p.Err == nil || p.PID != 0 || s.NodeName != "" || s.NodeNameErr == nil || s.StaticPodPath != "/m" {
		t.Errorf("never seen: process %+v, settings %+v", p, s)
	}
	h.begins(10, "/usr/bin/kubelet --hostname-override=n --pod-manifest-path=/flag")
	i.Identify(t.Context(), unitOf(10))
	h.Remove(10)
	p, s = i.Identify(t.Context(), unitOf(0))
	if p.Err == nil || s.NodeName != "n" || s.StaticPodPath != "/flag" {
		t.Errorf("gone: process %+v, settings %+v", p, s)
	}
	if line := Identified(p, s, ""); !strings.HasPrefix(line, "kubelet: no kubelet runs") || !strings.Contains(line, "node name n") {
		t.Error(line)
	}
	// Which of two it is nobody knows, nor under which name.
	h.run(proc(20, 1, "/a.service", "/usr/bin/kubelet --hostname-override=a"))
	h.run(proc(21, 1, "/b.service", "/usr/bin/kubelet --hostname-override=b"))
	p, s = i.Identify(t.Context(), unitOf(0))
	if p.Err == nil || s.NodeName != "" || s.NodeNameErr == nil || !strings.Contains(s.NodeNameErr.Error(), "set kubelet.unit") {
		t.Errorf("two: process %+v, settings %+v", p, s)
	}
}
