package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/nodekeeper/nodekeeper/test/node"
	"github.com/nodekeeper/nodekeeper/test/node/components"
)

// critestLeavesOut are the specs that a box has no use for, and why. critest
// itself skips more.
var critestLeavesOut = []struct{ specs, why string }{
	{`benchmark`, "benchmarks"},
	{`Image (Manager|Consistency)`, "no container in it"},
	{`HostPID|ContainerPID`, "looks for nginx itself"},
	{`NoNewPrivs`, "looks for a program of its image"},
	{`MaskedPaths`, "needs a shell that has no ls of its own"},
	{`HostIpc`, "needs ipcs, which busybox has not"},
	{`metrics operations`, "CRI-O's metrics are off by default"},
	{`host port and container port`, "CRI-O 1.34.0 panics where there is no nft"},
}

// critest, the runtime interface's own validation, with the hook at every
// container and without it: what passes without passes with it. NRI's specs
// see the life of containers from a plugin, beside the hook.
func TestCritest(t *testing.T) {
	labelled(t, records, slow)
	s := stage(t, node.Options{Critest: true})
	_, err := s.box.Systemctl(s.ctx, "stop", node.Kubelet)
	s.must(err, "stop the kubelet, which would remove critest's pods")
	image, err := components.CritestImage()
	s.must(err, "make an image")
	s.serveImage(node.CritestRegistry, image)

	without := s.critest("without the hook")
	if without.count(types.SpecStatePassed) < 60 {
		t.Fatal("too few specs pass without the hook to tell anything")
	}
	before := s.containersMade()
	s.hookEveryContainer()
	with := s.critest("with the hook")

	for name, spec := range without {
		again, run := with[name]
		// NRI's skip themselves when they see the runtime lose a race.
		if spec.State == types.SpecStatePassed && (!run || again.State.Is(types.SpecStateFailureStates)) {
			t.Errorf("with the hook alone: %v: %s", again.State, name)
		}
	}
	made, events := s.containersMade()-before, s.hookEvents("created")
	s.say("%d containers made, %d events of the hook", made, events)
	if made == 0 || events < made {
		t.Errorf("%d events of the hook for %d containers", events, made)
	}
}

// specs are critest's by their text.
type specs map[string]types.SpecReport

func (s specs) count(states types.SpecState) int {
	n := 0
	for _, spec := range s {
		if spec.State.Is(states) {
			n++
		}
	}
	return n
}

// critest runs its specs, in the same order each time. One that fails thrice in
// a row has failed: those of terminals do once, now and then, on a busy machine.
func (s *scene) critest(when string) specs {
	s.Helper()
	const report = "/tmp/critest.json"
	var skip []string
	for _, part := range critestLeavesOut {
		skip = append(skip, part.specs)
	}
	began := time.Now()
	// An error of its own says no more than that a spec has failed.
	out, _, runErr := s.box.Exec(s.ctx, node.CritestCommand("--ginkgo.seed=1", "--ginkgo.flake-attempts=3", "--ginkgo.no-color",
		"--ginkgo.json-report="+report, "--ginkgo.skip="+strings.Join(skip, "|"))...)
	data, err := s.box.ReadFile(report)
	if err != nil {
		s.Fatalf("critest %s: %v, no report: %v\n%s", when, runErr, err, tail(out, 40))
	}
	s.must(s.box.RemoveFile(report), "remove the report")
	var reports []types.Report
	s.must(json.Unmarshal(data, &reports), "report of critest")
	all, skipped := specs{}, map[string]int{}
	for _, r := range reports {
		for _, spec := range r.SpecReports.WithLeafNodeType(types.NodeTypeIt) {
			all[spec.FullText()] = spec
			switch {
			case spec.State.Is(types.SpecStateSkipped):
				skipped[whySkipped(spec)]++
			case spec.State.Is(types.SpecStateFailureStates):
				s.Logf("%s: %s: %s", spec.State, spec.FullText(), gist(spec.FailureMessage()))
			case spec.NumAttempts > 1:
				s.Logf("passed at attempt %d: %s", spec.NumAttempts, spec.FullText())
			}
		}
	}
	for why, n := range skipped {
		s.Logf("%d skipped: %s", n, why)
	}
	s.say("critest %s: %d passed, %d failed, %d skipped, in %.0f s", when, all.count(types.SpecStatePassed),
		all.count(types.SpecStateFailureStates), all.count(types.SpecStateSkipped), time.Since(began).Seconds())
	return all
}

// whySkipped is the reason above, or critest's own.
func whySkipped(spec types.SpecReport) string {
	for _, part := range critestLeavesOut {
		if regexp.MustCompile(part.specs).MatchString(spec.FullText()) {
			return part.why
		}
	}
	return gist(spec.FailureMessage())
}

// gist is the telling part of a failure, in one line.
func gist(message string) string {
	for _, mark := range []string{"unable to start container process", "desc = "} {
		if _, after, found := strings.Cut(message, mark); found {
			message, _, _ = strings.Cut(mark+after, "\n")
			break
		}
	}
	message = strings.Join(strings.Fields(message), " ")
	return message[:min(len(message), 120)]
}

// hookEveryContainer installs the hook for all containers: critest's are of no
// static pod.
func (s *scene) hookEveryContainer() {
	s.Helper()
	program, err := os.ReadFile(filepath.Join(filepath.Dir(os.Getenv("NODEKEEPER_BINARY")), "nodekeeper-hook"))
	s.must(err, "read the hook")
	s.must(s.box.WriteFile(node.HookProgram, program, 0o755), "install the hook")
	s.must(s.box.WriteFile("/run/containers/oci/hooks.d/50-nodekeeper.json", fmt.Appendf(nil, `{
  "version": "1.0.0",
  "hook": {"path": %q, "args": ["nodekeeper-hook", "--all"]},
  "when": {"always": true},
  "stages": ["createRuntime", "poststop"]
}
`, node.HookProgram), 0o644), "install the hook for every container")
}

// containersMade is how many containers CRI-O has made so far.
func (s *scene) containersMade() int {
	s.Helper()
	journal, err := s.box.Journal(s.ctx, node.CRIO)
	s.must(err, "CRI-O's journal")
	return strings.Count(journal, `msg="Created container `)
}

// hookEvents is how many events of a kind the hook has left for the agent.
func (s *scene) hookEvents(kind string) int {
	s.Helper()
	out, _, err := s.box.Exec(s.ctx, "sh", "-c", "cat /run/nodekeeper/spool/*.event 2>/dev/null || true")
	s.must(err, "read the hook's events")
	return strings.Count(out, fmt.Sprintf(`"kind":%q`, kind))
}
