package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/cmd/internal/fixture"
	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// collected are the files of a collection and their contents.
func collected(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(data)
		if info, _ := d.Info(); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// alone takes away what the tests' machine has.
func alone(t *testing.T) {
	t.Helper()
	t.Setenv("PATH", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
}

func TestGatherOfThisNode(t *testing.T) {
	alone(t)
	s := stage(t)
	index := fixture.Records(t, s.records, s.now.Wall)
	s.publish(status.Status{APIVersion: status.APIVersion, Kind: status.Kind, Node: status.Node{Name: fixture.Node}})
	s.write(filepath.Join(s.state, "acts.jsonl"), "{}\n")
	to := filepath.Join(t.TempDir(), "must-gather")
	code, out, stderr := s.call("gather", "--dest-dir", to)
	if code != cli.ExitOK || out != "" {
		t.Fatalf("code %d, %q, %q", code, out, stderr)
	}
	files := collected(t, to)
	if lines := strings.Split(files["version"], "\n"); lines[0] != "nodekeeper" || lines[1] != versionText() {
		t.Errorf("version: %q", files["version"])
	}
	node := "nodes/" + fixture.Node + "/"
	for _, name := range []string{"status.json", "acts.jsonl", "config.yaml", "index.json"} {
		if files[node+name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	for _, r := range index.Records {
		var meta record.Meta
		if err := json.Unmarshal([]byte(files[node+"records/"+r.Path+"/meta.json"]), &meta); err != nil || meta.ID != r.ID {
			t.Errorf("%s: %v", r.Path, err)
		}
		if log := files[node+"records/"+r.Path+"/log.txt"]; !strings.Contains(log, fixture.Line(r.Attempt.Attempt, 9)) {
			t.Errorf("%s: log %q", r.Path, log)
		}
	}
	if live := files[node+"records/"+strings.TrimPrefix(index.Live[0].Path, ".")+"/log.txt"]; !strings.Contains(live, fixture.Line(7, 9)) {
		t.Errorf("the live log: %q", live)
	}
	if missing := files["missing.txt"]; !strings.Contains(missing, "journal.txt") || !strings.Contains(missing, "installed") || !strings.Contains(stderr, "journal.txt") {
		t.Errorf("missing: %q, %q", missing, stderr)
	}
}

func TestGatherWhereThereIsNothing(t *testing.T) {
	alone(t)
	to, root := t.TempDir(), t.TempDir()
	var said strings.Builder
	p := &program{out: &said, err: &said, clock: stage(t)}
	if code := p.execute(context.Background(), []string{"gather", "--root", root, "--dest-dir", to}); code != cli.ExitOK {
		t.Fatalf("code %d: %s", code, said.String())
	}
	files := collected(t, to)
	for _, what := range []string{"status.json", "acts.jsonl", "records", "config.yaml", "journal.txt"} {
		if !strings.Contains(files["missing.txt"], "nodes/this: "+what+": ") {
			t.Errorf("nothing is said of %s:\n%s", what, files["missing.txt"])
		}
	}
	if len(files) != 2 {
		t.Errorf("%v", files)
	}
}

func TestGatherFollowsNoLinkOutOfTheNode(t *testing.T) {
	alone(t)
	s := stage(t)
	to, root := t.TempDir(), t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	s.write(secret, "of another machine")
	for _, name := range []string{"etc/nodekeeper/image", "var/lib/nodekeeper/acts.jsonl", "run/nodekeeper/status.json", "var/log/nodekeeper"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700), os.Symlink(secret, filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}
	// Within the node, links are followed.
	s.write(filepath.Join(root, "real"), "of this node")
	if err := os.Symlink("../../../real", filepath.Join(root, "var/lib/nodekeeper/installed")); err != nil {
		t.Fatal(err)
	}
	// A FIFO in the place of what is written is not waited for.
	if err := syscall.Mkfifo(filepath.Join(to, "version"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(root))
	var said strings.Builder
	p := &program{out: &said, err: &said, clock: s}
	if code := p.execute(context.Background(), []string{"gather", "--root", filepath.Base(root), "--dest-dir", to}); code != cli.ExitOK {
		t.Fatalf("code %d: %s", code, said.String())
	}
	files := collected(t, to)
	if files["nodes/this/installed"] != "of this node" || files["version"] == "" {
		t.Errorf("%v", files)
	}
	for name, text := range files {
		if strings.Contains(text, "of another machine") {
			t.Errorf("%s is from outside", name)
		}
	}
	if n := strings.Count(files["missing.txt"], "a link leads out of"); n != 4 {
		t.Errorf("%d links are told: %s", n, files["missing.txt"])
	}
}

func TestGatherIsBounded(t *testing.T) {
	alone(t)
	s := stage(t)
	index := fixture.Records(t, s.records, s.now.Wall)
	newest := index.Records[len(index.Records)-1]
	// A log of 40 MiB in one record, and one endless line in another.
	line := fmt.Sprintf("2026-03-01T11:00:00.000000000+00:00 stdout F %s\n", strings.Repeat("x", 1000))
	s.write(filepath.Join(s.records, newest.Path, record.SegmentName(0, false)), strings.Repeat(line, 40<<10))
	s.write(filepath.Join(s.records, index.Records[0].Path, record.SegmentName(0, false)), strings.Repeat("y", 10<<20))
	s.write(filepath.Join(s.state, "acts.jsonl"), strings.Repeat("a", 17<<20))
	if err := os.Symlink("/etc/passwd", filepath.Join(s.records, "timeline.jsonl")); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	// A journal without an end, whose reader does not end with it either.
	if err := os.WriteFile(filepath.Join(bin, "journalctl"), []byte("#!/bin/sh\nwhile :; do echo a line of the journal; done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	to := t.TempDir()
	if code, _, stderr := s.call("gather", "--dest-dir", to, "--record-bytes", "65536", "--node-bytes", "400000"); code != cli.ExitOK {
		t.Fatalf("code %d, %q", code, stderr)
	}
	total := 0
	for name, text := range collected(t, to) {
		if total += len(text); strings.HasSuffix(name, "log.txt") && len(text) > 65537 {
			t.Errorf("%s has %d bytes", name, len(text))
		}
		if strings.Contains(text, "root:") {
			t.Errorf("%s is what a link led to", name)
		}
	}
	if total > 410000 || total < 300000 {
		t.Errorf("%d bytes of one node", total)
	}
}

// What a node says of itself chooses names of files: none leads out.
func TestGatherWritesNowhereElse(t *testing.T) {
	c, err := newCollection(filepath.Join(t.TempDir(), "a"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	part := c.of("nodes/n", 1<<20)
	for _, name := range []string{"../../../x", "/x", "a/../../x", ""} {
		part.save(name, []byte("x"))
	}
	if len(part.problems) != 4 || part.err != nil {
		t.Errorf("%v, %v", part.problems, part.err)
	}
	if err := os.Symlink("/", filepath.Join(c.root.Name(), "out")); err != nil {
		t.Fatal(err)
	}
	if c.save("out/tmp/x", []byte("x")); c.err == nil {
		t.Error("written through a link")
	}
}

func TestGatherThatCannotWriteFails(t *testing.T) {
	alone(t)
	s := stage(t)
	file := filepath.Join(s.state, "file")
	s.write(file, "")
	if code, _, stderr := s.call("gather", "--dest-dir", filepath.Join(file, "x")); code != cli.ExitFailure || stderr == "" {
		t.Errorf("code %d, %q", code, stderr)
	}
}

func TestGatherBadUsage(t *testing.T) {
	alone(t)
	s := stage(t)
	for _, args := range []string{"--node n1", "--record-bytes 0", "--node-bytes -1", "--since -1h"} {
		if code, _, stderr := s.call(append([]string{"gather", "--dest-dir", t.TempDir()}, strings.Fields(args)...)...); code != cli.ExitUsage {
			t.Errorf("%s: code %d, %q", args, code, stderr)
		}
	}
}

func TestGatherSinceOfMustGather(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "2h": 2 * time.Hour, "3d": 72 * time.Hour, "-1h": 0, "yesterday": 0} {
		got, err := gatherSince(func(string) string { return text })
		if got != want || (err != nil) != (text == "-1h" || text == "yesterday") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	alone(t)
	t.Setenv("MUST_GATHER_SINCE", "yesterday")
	s := stage(t)
	to := t.TempDir()
	code, _, stderr := s.call("gather", "--dest-dir", to)
	if entries, err := os.ReadDir(to); code != 0 || err != nil || len(entries) == 0 || !strings.Contains(stderr, "MUST_GATHER_SINCE") {
		t.Errorf("code %d, %d entries, %v: %q", code, len(entries), err, stderr)
	}
}

func TestUnderTheNameOfGather(t *testing.T) {
	for _, c := range [][2]string{{"/usr/bin/gather", "gather"}, {"/usr/bin/gather --since 1h", "gather --since 1h"}, {"nodekeeper status", "status"}, {"nodekeeper", ""}} {
		if got := strings.Join(commandLine(strings.Fields(c[0])), " "); got != c[1] {
			t.Errorf("%s: %q", c[0], got)
		}
	}
}

// served is a cluster whose kubelets serve /var/log as theirs do.
func served(t *testing.T, logs map[string]string) *apiServer {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/nodes", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"items":[{"metadata":{"name":"n1"}},{"metadata":{"name":"gone"}},{"metadata":{"name":"../x"}}]}`)
	})
	mux.HandleFunc("GET /api/v1/namespaces/nodekeeper-promote/pods", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"items":[{"metadata":{"name":"p1"}}]}`)
	})
	mux.HandleFunc("GET /api/v1/namespaces/nodekeeper-promote/pods/p1/log", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "a pass")
	})
	for node, dir := range logs {
		at := "/api/v1/nodes/" + node + "/proxy/logs/"
		mux.Handle("GET "+at, http.StripPrefix(at, http.FileServer(http.Dir(dir))))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return &apiServer{base: server.URL, token: "secret", client: server.Client()}
}

func TestGatherOfACluster(t *testing.T) {
	s := stage(t)
	log := t.TempDir()
	index := fixture.RecordsOf(t, filepath.Join(log, "nodekeeper"), "n1", s.now.Wall)
	s.write(filepath.Join(log, "nodekeeper", "status.json"), `{"of":"n1"}`)
	server := served(t, map[string]string{"n1": log})
	to := t.TempDir()
	var said strings.Builder
	p := &program{out: &said, err: &said, clock: s}
	if err := p.collect(t.Context(), to, server, nil, collecting{recordBytes: 1 << 20, nodeBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	files := collected(t, to)
	if files["cluster/promote-logs/p1.txt"] != "a pass" || files["nodes/n1/status.json"] != `{"of":"n1"}` {
		t.Errorf("%q", files)
	}
	for _, r := range index.Records {
		if log := files["nodes/n1/records/"+r.Path+"/log.txt"]; !strings.Contains(log, fixture.Line(r.Attempt.Attempt, 9)) {
			t.Errorf("%s: log %q", r.Path, log)
		}
	}
	for _, what := range []string{"nodes/gone: records: ", "nodes/n1: journal.txt: the kubelet answers no queries", "cluster: machineconfigpools.json: "} {
		if !strings.Contains(files["missing.txt"], what) {
			t.Errorf("nothing is said of %s\n%s", what, files["missing.txt"])
		}
	}
	for name := range files {
		if strings.Contains(name, "nodes/x") || strings.HasPrefix(name, "x") {
			t.Errorf("%s", name)
		}
	}

	only := t.TempDir()
	if err := p.collect(t.Context(), only, server, []string{"n1"}, collecting{recordBytes: 100, nodeBytes: 1 << 20, since: 90 * 60e9}); err != nil {
		t.Fatal(err)
	}
	files = collected(t, only)
	logs := 0
	for name, text := range files {
		if strings.HasPrefix(name, "nodes/gone") {
			t.Errorf("%s was not asked for", name)
		}
		if strings.HasSuffix(name, "log.txt") {
			if logs++; len(text) > 101 {
				t.Errorf("%s has %d bytes", name, len(text))
			}
		}
	}
	// The one that ended within the time, and the live one.
	if logs != 2 {
		t.Errorf("%d logs", logs)
	}
}

func TestInAPodTheServiceAccountIsUsed(t *testing.T) {
	dir := t.TempDir()
	getenv := func(name string) string {
		return map[string]string{"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}[name]
	}
	if _, err := inPod(getenv, dir); err == nil {
		t.Error("a pod without a token")
	}
	for name, text := range map[string]string{"token": "secret\n", "ca.crt": "rubbish"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := inPod(getenv, dir); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("%v", err)
	}
}
