package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nodekeeper/nodekeeper/cmd/internal/fixture"
	"github.com/nodekeeper/nodekeeper/cmd/internal/view"
	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/journal"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

func TestCrashesOfOneNodeAndOfAll(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records(fixture.Node), now)
	fixture.RecordsOf(t, s.records(other), other, now.Add(-time.Minute))
	for name, args := range map[string]string{"one": fixture.Node, "all": "--all-nodes", "wide": "--all-nodes -o wide"} {
		code, out, stderr := s.call(append([]string{"crashes", "--live"}, strings.Fields(args)...)...)
		if code != cli.ExitOK || stderr != "" {
			t.Errorf("%s: code %d, %q", args, code, stderr)
		}
		s.golden("crashes-"+name+".txt", out)
		if name != "wide" {
			s.narrow(out)
		}
	}
	code, out, _ := s.call("crashes", fixture.Node, "-n", fixture.Namespace, "--pod", "kube-apiserver", "--class", "oom", "-o", "json")
	var index record.Index
	if err := record.Decode([]byte(out), &index); err != nil || code != cli.ExitOK || len(index.Records) != 1 {
		t.Errorf("code %d, %v, %s", code, err, out)
	}
}

func TestEachTroubleIsOneLineAndTheOthersAreShown(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records(fixture.Node), now)
	for node, says := range map[string]string{
		"gone": "there is no such node", "mute": "the kubelet cannot be reached: error trying to reach service",
		"disabled": "enableSystemLogHandler is false", other: "nodekeeper keeps nothing there",
		"forbidden": `needs get on nodes/proxy: nodes "forbidden" is forbidden: User "eve" cannot get`,
	} {
		for _, command := range []string{"crashes", "status", "acts"} {
			want := cli.ExitFailure
			if command == "status" && node == other {
				want = view.ExitNoAgent
			}
			code, out, stderr := s.call(command, node)
			if code != want || out != "" || !strings.HasPrefix(stderr, "nodekeeper: node "+node+": ") || !strings.Contains(stderr, says) ||
				strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s %s: code %d, %q, %q", command, node, code, out, stderr)
			}
		}
		code, out, stderr := s.call("crashes", "-l", "trouble="+node+"_"+fixture.Node)
		if code != cli.ExitFailure || strings.Count(out, "\n") != 6 || !strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s among others: code %d, %q, %q", node, code, out, stderr)
		}
		if code, _, stderr := s.call("logs", "a/b", "--node", node); code != cli.ExitFailure || !strings.Contains(stderr, says) {
			t.Errorf("logs: code %d, %q", code, stderr)
		}
	}
}

func TestWithoutRights(t *testing.T) {
	s := stage(t)
	s.forbid = true
	for args, says := range map[string]string{"crashes --all-nodes": `list the nodes: nodes is forbidden: User "eve"`, "crashes gone": "needs get on nodes/proxy"} {
		if code, _, stderr := s.call(strings.Fields(args)...); code != cli.ExitFailure || !strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, %q", args, code, stderr)
		}
	}
	s.server.Close()
	if code, _, stderr := s.call("crashes", "gone"); code != cli.ExitFailure || !strings.Contains(stderr, "cannot be reached") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("no API server: code %d, %q", code, stderr)
	}
}

func TestANodeThatHangsEndsWithTheInterruption(t *testing.T) {
	s := stage(t)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if code, _, stderr := s.callIn(ctx, "crashes", "slow"); code != cli.ExitFailure || !strings.Contains(stderr, "node slow: ") {
		t.Errorf("code %d, %q", code, stderr)
	}
}

func TestManyNodesAreAskedAFewAtATime(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records(other), now)
	code, out, stderr := s.call("crashes", "-l", "many", "-o", "json")
	var indexes []record.Index
	if err := json.Unmarshal([]byte(out), &indexes); err != nil || code != cli.ExitOK || len(indexes) != 40 {
		t.Errorf("code %d, %v, %d indexes, %q", code, err, len(indexes), stderr)
	}
	if s.busiest > parallel {
		t.Errorf("%d at a time", s.busiest)
	}
}

func TestBadUsage(t *testing.T) {
	s := stage(t)
	for _, args := range []string{"crashes", "status", "acts", "crashes a --all-nodes", "crashes ../secrets", "status a/b", "crashes a --pod a/b/c",
		"logs", "logs --crash 2026", "logs a/b --node ../x", "logs a b", "logs a/b --tail=-7", "frobnicate", "crashes a --class sad"} {
		code, out, stderr := s.call(strings.Fields(args)...)
		if code != cli.ExitUsage || out != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, %q, %q", args, code, out, stderr)
		}
	}
	if asked := s.asked(); len(asked) > 0 {
		t.Errorf("asked for %q", asked)
	}
	if code, _, stderr := s.call("crashes", "-l", "none"); code != cli.ExitFailure || !strings.Contains(stderr, "no node") {
		t.Errorf("code %d, %q", code, stderr)
	}
	for _, args := range []string{"version", "--help", "logs --help"} {
		if code, out, _ := s.call(strings.Fields(args)...); code != cli.ExitOK || !strings.Contains(out, "nodekeeper") {
			t.Errorf("%s: code %d, %q", args, code, out)
		}
	}
}

func TestAnUnknownCommandIsToldWithThoseLikeIt(t *testing.T) {
	s := stage(t)
	want := `nodekeeper: unknown command "crash": did you mean crashes? oc nodekeeper --help lists all` + "\n"
	if code, out, stderr := s.call("crash"); code != cli.ExitUsage || out != "" || stderr != want {
		t.Errorf("code %d, %q, %q", code, out, stderr)
	}
}

func TestSpansMayBeInDays(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records(fixture.Node), now)
	for _, args := range []string{"crashes " + fixture.Node, "logs " + fixture.Namespace + "/" + fixture.Pod + " -c kube-apiserver"} {
		code, out, stderr := s.call(strings.Fields(args + " --since 7d")...)
		if code != cli.ExitOK || out == "" || stderr != "" {
			t.Errorf("%s: code %d, %q, %q", args, code, out, stderr)
		}
	}
}

func TestLogs(t *testing.T) {
	s := stage(t)
	index := fixture.Records(t, s.records(fixture.Node), now)
	pod := fixture.Namespace + "/" + fixture.Pod
	for args, want := range map[string]string{
		pod + " -c kube-apiserver --tail=1":    fixture.Line(7, 9),
		pod + " -c kube-apiserver -p --tail=1": fixture.Line(5, 9),
		"kube-apiserver -n " + fixture.Namespace + " -c kube-apiserver --tail=1 --node " + fixture.Node: fixture.Line(7, 9),
		"--crash " + index.Records[0].ID + " --limit-bytes 16 --node " + fixture.Node:                   fixture.Line(3, 0)[:16],
		pod + " -c check-endpoints --tail 1":                                                            fixture.Line(6, 9),
	} {
		for _, s.noRange = range []bool{false, true} {
			code, out, stderr := s.call(append([]string{"logs"}, strings.Fields(args)...)...)
			if code != cli.ExitOK || strings.TrimSuffix(out, "\n") != want {
				t.Errorf("%s, without ranges %v: code %d, %q, %q", args, s.noRange, code, out, stderr)
			}
		}
	}
	code, out, stderr := s.call("logs", pod, "-c", "kube-apiserver", "--all")
	if code != cli.ExitOK || strings.Count(out, "\n") != 4*fixture.Lines+4 {
		t.Errorf("code %d, %d lines, %q", code, strings.Count(out, "\n"), stderr)
	}
	if code, _, stderr := s.call("logs", "default/web"); code != cli.ExitFailure || !strings.Contains(stderr, "or its node with --node") {
		t.Errorf("code %d, %q", code, stderr)
	}
}

func TestTheTailOfALargeLogIsNotTheWholeLog(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records(fixture.Node), now)
	line := "2026-03-01T11:59:00.000000000+00:00 stdout F " + strings.Repeat("x", 100) + "\n"
	path := filepath.Join(s.records(fixture.Node), record.LivePath("kube-apiserver-7"), "log.0")
	s.write(path, strings.Repeat(line, 200_000)+strings.Replace(line, "xx", "the end", 1))
	code, out, stderr := s.call("logs", fixture.Namespace+"/"+fixture.Pod, "-c", "kube-apiserver", "--tail=3")
	if code != cli.ExitOK || !strings.Contains(out, "the end") || strings.Count(out, "\n") != 3 {
		t.Errorf("code %d, %q, %q", code, out, stderr)
	}
	var bytes int64
	for _, request := range s.asked() {
		var from, to int64
		_, asked, found := strings.Cut(request, "log.0 ")
		if !found {
			continue
		}
		if _, err := fmt.Sscanf(asked, "bytes=%d-%d", &from, &to); err != nil {
			t.Fatalf("%s: %v", request, err)
		}
		bytes += to + 1 - from
	}
	if bytes == 0 || bytes > 1<<20 {
		t.Errorf("asked for %d bytes of the log", bytes)
	}
}

func nodeFilesOf(t *testing.T, s *scene) *nodeFiles {
	t.Helper()
	server, err := connect(&rest.Config{Host: s.server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return &nodeFiles{cluster: server, node: fixture.Node, dir: "nodekeeper"}
}

func TestAFileReadsTheSameInWhateverWay(t *testing.T) {
	s := stage(t)
	files := nodeFilesOf(t, s)
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, firstBytes - 1, firstBytes, firstBytes + 1, 3*firstBytes + 17} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(random.Uint32())
		}
		s.write(filepath.Join(s.records(fixture.Node), "a~b", "log.0"), string(content))
		for _, s.noRange = range []bool{false, true} {
			f, err := files.Open(context.Background(), "a~b/log.0")
			if err != nil {
				t.Fatal(err)
			}
			at, ok := f.(io.ReaderAt)
			if !ok {
				if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, content) {
					t.Errorf("%d bytes: %v", size, err)
				}
			} else if err := errors.Join(iotest.TestReader(io.NewSectionReader(at, 0, int64(size)), content), iotest.TestReader(onlyReader{f}, content)); err != nil {
				t.Errorf("%d bytes: %v", size, err)
			}
			if ok == (s.noRange || size == 0) {
				t.Errorf("%d bytes, without ranges %v: seekable %v", size, s.noRange, ok)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := files.Open(context.Background(), "nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

type onlyReader struct{ io.Reader }

func TestReadingOnIsOneRequest(t *testing.T) {
	s := stage(t)
	s.write(filepath.Join(s.records(fixture.Node), "log.0"), strings.Repeat("x", 40*firstBytes))
	f, err := nodeFilesOf(t, s).Open(context.Background(), "log.0")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := io.Copy(io.Discard, onlyReader{f}); err != nil || n != 40*firstBytes {
		t.Errorf("%d, %v", n, err)
	}
	if asked := s.asked(); len(asked) > 3 {
		t.Errorf("%q", asked)
	}
}

func (s *scene) publish(node string, st status.Status) {
	s.Helper()
	data, err := json.Marshal(st)
	if err != nil {
		s.Fatal(err)
	}
	path := filepath.Join(s.records(node), status.Name)
	s.write(path, string(data))
	if err := os.Chtimes(path, st.Agent.Taken.Wall, st.Agent.Taken.Wall); err != nil {
		s.Fatal(err)
	}
}

func watched(name string, ago time.Duration) status.Status {
	return status.Status{
		APIVersion: status.APIVersion, Kind: status.Kind,
		Agent: status.Agent{Version: "v1", PID: 1, IntervalSeconds: 5, Taken: node.Instant{Wall: now.Add(-ago), Boot: time.Hour}, BootID: "boot-9"},
		Node: status.Node{Name: name, Kubelet: status.Kubelet{View: node.ViewPods, Healthy: true},
			Manifests: status.Manifests{Dir: "/etc/kubernetes/manifests", Pods: 1}},
		Verdicts: []status.Verdict{{Namespace: fixture.Namespace, Pod: "kube-apiserver-" + name, Container: "kube-apiserver", State: restartpolicy.Healthy, ForSeconds: 90}},
	}
}

func TestStatus(t *testing.T) {
	s := stage(t)
	s.publish(fixture.Node, watched(fixture.Node, 3*time.Second))
	trouble := watched(other, 2*time.Second)
	trouble.Node.Paused = "until noon"
	trouble.Verdicts[0].State, trouble.Verdicts[0].Overdue, trouble.Verdicts[0].BlockedBy = restartpolicy.Forgotten, true, []string{"paused"}
	s.publish(other, trouble)
	for name, c := range map[string]struct {
		args string
		code int
	}{
		"one":  {fixture.Node, cli.ExitOK},
		"all":  {"--all-nodes", view.ExitOverdue},
		"wide": {"--all-nodes -o wide", view.ExitOverdue},
	} {
		code, out, stderr := s.call(append([]string{"status"}, strings.Fields(c.args)...)...)
		if code != c.code || stderr != "" {
			t.Errorf("%s: code %d, %q", c.args, code, stderr)
		}
		s.golden("status-"+name+".txt", out)
		if name != "wide" {
			s.narrow(out)
		}
	}
	if code, out, _ := s.call("status", "-l", "trouble=disabled_"+other); code != view.ExitOverdue || !strings.Contains(out, "forgotten") {
		t.Errorf("code %d, %q", code, out)
	}
	s.publish(fixture.Node, watched(fixture.Node, time.Hour))
	code, out, stderr := s.call("status", "-l", "trouble="+fixture.Node+"_gone")
	if code != view.ExitNoAgent || !strings.Contains(stderr, "node gone: there is no such node\n") ||
		!strings.Contains(stderr, "node "+fixture.Node+": the agent has not looked for 1h0m") || out == "" {
		t.Errorf("code %d, %q, %q", code, out, stderr)
	}
	s.write(filepath.Join(s.records(other), status.Name), `{"apiVersion":"v9","kind":"Status"}`)
	if code, _, stderr := s.call("status", other); code != cli.ExitFailure || !strings.Contains(stderr, "another version") {
		t.Errorf("code %d, %q", code, stderr)
	}
}

func TestActs(t *testing.T) {
	s := stage(t)
	act := func(id, result string, minute int) string {
		return fmt.Sprintf(`{"id":"%s","step":"restart-kubelet","result":"%s","key":{"namespace":"a","name":"b"},"began":{"wall":"2026-03-01T11:%02d:00Z","boot":5000000000},"timeout":5000000000}`+"\n", id, result, minute)
	}
	s.write(filepath.Join(s.records(fixture.Node), journal.Name), act("1", "started", 1)+act("1", "healed", 1)+act("2", "started", 9)+`{"id":"3","st`)
	s.write(filepath.Join(s.records(other), journal.Name), act("1", "refused", 5)+"rubbish\n")
	code, out, stderr := s.call("acts", fixture.Node)
	if code != cli.ExitOK || strings.Count(out, "\n") != 3 || !strings.Contains(out, "healed") {
		t.Errorf("code %d, %q, %q", code, out, stderr)
	}
	code, out, stderr = s.call("acts", "--all-nodes")
	if code != cli.ExitFailure || !strings.Contains(stderr, "node "+other+": acts.jsonl: line 2: ") {
		t.Errorf("code %d, %q", code, stderr)
	}
	s.golden("acts-all.txt", out)
	s.narrow(out)
	_, out, _ = s.call("acts", "--all-nodes", "-o", "json")
	var acts []struct{ Node, Timeout string }
	if err := json.Unmarshal([]byte(out), &acts); err != nil || len(acts) != 3 || acts[1].Node != other || acts[0].Timeout != "5s" {
		t.Errorf("%v, %+v", err, acts)
	}
	if !slices.ContainsFunc(s.asked(), func(r string) bool { return r == "nodekeeper/acts.jsonl " }) {
		t.Error("asked for something else")
	}
}
