package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	nodeview "github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
	"github.com/nodekeeper/nodekeeper/test/node"
)

// settings are the agent's in a test: short hold-offs and no jitter, so that a
// test sees a deadline and not the start of the box. Deadlines keep their
// defaults unless a test says otherwise.
const settings = `apiVersion: nodekeeper.io/v1alpha1
kind: Configuration
interval: 2s
lookTimeout: 5s
runtime: {ociRuntimes: [runc, crun, runtime]} # runtime is the plain box's wrapper
restart:
  jitter: 0s
  holdOffs: {boot: 0s, kubeletStart: 15s, runtimeStart: 15s, manifestChange: 5s, clockStep: 10s}
`

// scene is one node with its agent.
type scene struct {
	*testing.T
	on    ground
	box   *node.Box // on itself, unless that is a virtual machine
	ctx   context.Context
	began time.Time
}

// ground is what a scene needs of its node: a box or a virtual machine.
type ground interface {
	Exec(ctx context.Context, args ...string) (stdout, stderr string, err error)
	PutManifest(name string, content []byte) error
	ContainerRecords(ctx context.Context, pod string) ([]node.Container, error)
	RunningContainer(ctx context.Context, pod, name string) (node.Container, error)
	KillContainer(ctx context.Context, containerID string) error
	InstallAgent(ctx context.Context, program, configYAML string) error
	StartAgent(ctx context.Context) error
	Journal(ctx context.Context, unit string) (string, error)
	Collect(ctx context.Context, dir string) error
	Stop() error
}

// standing stages a box of the profile that every case of the restart guarantee
// runs in, a node like those of OpenShift; with -plain one whose kubelet shows its
// pods to everybody.
func standing(t *testing.T, options node.Options) *scene {
	t.Helper()
	if !*plain && !*deliver {
		options.Profile = node.OpenShift
	}
	return stage(t, options)
}

// stage boots a box. The box and what it shows are gone when the test ends; a
// failed test leaves everything that can be collected in a folder.
func stage(t *testing.T, options node.Options) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Minute)
	t.Cleanup(cancel)
	options.OpenShift = options.OpenShift || *deliver
	box, err := node.Start(ctx, options)
	if err != nil {
		t.Fatalf("box: %v", err)
	}
	s := &scene{T: t, on: box, box: box, ctx: ctx, began: time.Now()}
	s.clear()
	if *deliver {
		s.on = delivered{box, join(s)}
	}
	return s
}

// clear stops the node when the test ends.
func (s *scene) clear() {
	s.Cleanup(func() {
		if s.Failed() {
			s.collect()
		}
		if err := s.on.Stop(); err != nil {
			s.Errorf("stop the node: %v", err)
		}
	})
}

func (s *scene) collect() {
	root := os.Getenv("NODEKEEPER_ARTIFACTS")
	if root == "" {
		root = filepath.Join(os.TempDir(), "nodekeeper-e2e")
	}
	dir := filepath.Join(root, s.Name())
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.on.Collect(ctx, dir); err != nil {
		s.Logf("collect: %v", err)
	}
	s.Logf("collected in %s", dir)
	if out, _, err := s.on.Exec(ctx, node.AgentProgram, "status", "-o", "wide"); err == nil || out != "" {
		s.Logf("status:\n%s", out)
	}
	if journal, err := s.on.Journal(ctx, node.Agent); err == nil {
		s.Logf("agent journal:\n%s", tail(journal, 60))
	}
}

// say logs a line with the seconds since the box was up.
func (s *scene) say(format string, args ...any) {
	s.Helper()
	s.Logf("%6.1fs  %s", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// agent installs and starts nodekeeper with the test settings and more lines
// of configuration: see configuration.
func (s *scene) agent(more ...string) {
	s.Helper()
	program := os.Getenv("NODEKEEPER_BINARY")
	if program == "" {
		s.Fatal("NODEKEEPER_BINARY is not set: run make test-e2e")
	}
	s.must(s.on.InstallAgent(s.ctx, program, configuration(more)), "install agent")
	s.must(s.on.StartAgent(s.ctx), "start agent")
	s.say("agent started")
}

// withView is the agent's configuration with a certificate that the kubelet shows its
// pods to; empty where it shows them to everybody.
func (s *scene) withView() string {
	if *plain {
		return ""
	}
	const pair = "/etc/kubernetes/pki/apiserver-kubelet-client."
	return "kubelet: {clientCertificate: " + pair + "crt, clientKey: " + pair + "key}"
}

// configuration is the test settings with more lines: under restart:, but for
// those that begin with "retention:", "logs:", "proxy:", "announce:" or "kubelet:".
func configuration(lines []string) string {
	var restart, other strings.Builder
	retention, logs := "", ""
	for _, l := range lines {
		if l == "" {
			continue
		}
		if more, ok := strings.CutPrefix(l, "retention: "); ok {
			retention = ", " + more
		} else if more, ok := strings.CutPrefix(l, "logs: "); ok {
			logs = ", " + more
		} else if strings.HasPrefix(l, "proxy:") || strings.HasPrefix(l, "announce:") || strings.HasPrefix(l, "kubelet:") {
			other.WriteString(l + "\n")
		} else {
			restart.WriteString("  " + l + "\n")
		}
	}
	// A box's disk is the machine's, however full that is.
	return settings + restart.String() + other.String() +
		"logs: {retention: {keepFreePercent: 0" + retention + "}" + logs + "}\n"
}

func (s *scene) must(err error, what string) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// eventually waits until ok holds, asking every half second.
func (s *scene) eventually(limit time.Duration, what string, ok func() bool) {
	s.Helper()
	deadline := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(deadline) {
			s.Fatalf("after %v still not: %s", limit, what)
		}
		time.Sleep(500 * time.Millisecond)
	}
	s.say("%s", what)
}

// throughout checks that ok holds all the time.
func (s *scene) throughout(span time.Duration, what string, ok func() error) {
	s.Helper()
	for deadline := time.Now().Add(span); time.Now().Before(deadline); time.Sleep(2 * time.Second) {
		if err := ok(); err != nil {
			s.Fatalf("%s: %v", what, err)
		}
	}
	s.say("%s for %v", what, span)
}

// acts is the agent's act journal.
func (s *scene) acts() []restartpolicy.Act {
	s.Helper()
	out, stderr, err := s.on.Exec(s.ctx, node.AgentProgram, "acts", "-o", "json")
	if err != nil {
		s.Fatalf("acts: %v %s", err, stderr)
	}
	// Spans of time are printed as text; these fields hide the act's own.
	var printed []struct {
		restartpolicy.Act
		Target   any     `json:"target"`
		Began    instant `json:"began"`
		Finished instant `json:"finished"`
		Timeout  any     `json:"timeout"`
	}
	if err := json.Unmarshal([]byte(out), &printed); err != nil {
		s.Fatalf("acts: %v in %q", err, out)
	}
	acts := make([]restartpolicy.Act, len(printed))
	for i, p := range printed {
		acts[i] = p.Act
		acts[i].Began, acts[i].Finished = p.Began.of(s.T), p.Finished.of(s.T)
	}
	return acts
}

// instant is a moment as the program prints it.
type instant struct {
	Wall time.Time
	Boot string
}

func (i instant) of(t *testing.T) nodeview.Instant {
	t.Helper()
	if i.Boot == "" {
		return nodeview.Instant{Wall: i.Wall}
	}
	boot, err := time.ParseDuration(i.Boot)
	if err != nil {
		t.Fatalf("acts: %v", err)
	}
	return nodeview.Instant{Wall: i.Wall, Boot: boot}
}

// kinds are the steps that were carried out, in order.
func (s *scene) kinds() string {
	s.Helper()
	var kinds []string
	for _, a := range s.acts() {
		if a.Result != restartpolicy.ResultRefused {
			kinds = append(kinds, string(a.Kind))
		}
	}
	return strings.Join(kinds, " ")
}

// wantActs fails unless exactly these steps were carried out.
func (s *scene) wantActs(kinds ...restartpolicy.StepKind) {
	s.Helper()
	var want []string
	for _, k := range kinds {
		want = append(want, string(k))
	}
	if got := s.kinds(); got != strings.Join(want, " ") {
		for _, a := range s.acts() {
			s.Logf("act: %s %s %s: %s %s", a.Kind, a.Key, a.State, a.Result, a.Detail)
		}
		s.Fatalf("acts: %q, want %q", got, strings.Join(want, " "))
	}
}

// noActs fails if any step was carried out.
func (s *scene) noActs() error {
	if got := s.kinds(); got != "" {
		return fmt.Errorf("acts: %s", got)
	}
	return nil
}

// verdicts is what the agent's status says.
func (s *scene) verdicts() []verdict {
	out, _, _ := s.on.Exec(s.ctx, node.AgentProgram, "status", "-o", "json")
	var status struct {
		Verdicts []verdict `json:"verdicts"`
	}
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		s.Logf("status: %v", err)
	}
	return status.Verdicts
}

type verdict struct {
	Namespace, Pod, Container string
	Verdict                   restartpolicy.State
	Detail                    string
	BlockedBy                 []string
}

// says tells whether the status has a row with this state whose pod, container
// or detail contains text.
func (s *scene) says(state restartpolicy.State, text string) bool {
	for _, v := range s.verdicts() {
		if v.Verdict == state && strings.Contains(v.Pod+" "+v.Container+" "+v.Detail, text) {
			return true
		}
	}
	return false
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
