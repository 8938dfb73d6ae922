package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/cmd/internal/fixture"
	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

func TestCrashes(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records, s.now.Wall)
	for _, form := range []string{"table", "wide"} {
		code, out, stderr := s.call("crashes", "--live", "-o", form)
		if code != cli.ExitOK || stderr != "" {
			t.Errorf("%s: code %d, stderr %q", form, code, stderr)
		}
		s.golden("crashes-"+form+".txt", out)
		if form == "table" {
			s.narrow(out)
		}
	}
	code, out, _ := s.call("crashes", "kube-apiserver", "-n", fixture.Namespace, "--class", "oom,crash", "-o", "json")
	var index record.Index
	if err := record.Decode([]byte(out), &index); err != nil || code != cli.ExitOK || len(index.Records) != 2 {
		t.Errorf("code %d, %v, %s", code, err, out)
	}
}

func TestWithoutRecordsItSaysSo(t *testing.T) {
	s := stage(t)
	for _, args := range []string{"crashes", "export -o " + filepath.Join(s.state, "x.tgz"), "logs a/b"} {
		code, out, stderr := s.call(strings.Fields(args)...)
		if code != cli.ExitFailure || out != "" || !strings.Contains(stderr, "no crash records") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, %q, %q", args, code, out, stderr)
		}
	}
}

func TestARecordThatIsNotThereIsNamed(t *testing.T) {
	s := stage(t)
	for _, args := range []string{"--crash abc", "a/b --crash abc"} {
		code, out, stderr := s.call(append([]string{"logs"}, strings.Fields(args)...)...)
		want := "nodekeeper: no record abc (nodekeeper crashes lists them): " + s.records + ": no crash records: "
		if code != cli.ExitFailure || out != "" || !strings.HasPrefix(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, %q, %q", args, code, out, stderr)
		}
	}
	fixture.Records(t, s.records, s.now.Wall)
	code, _, stderr := s.call("logs", "a/b", "--crash", "abc")
	if code != cli.ExitFailure || !strings.HasPrefix(stderr, "nodekeeper: no record abc (nodekeeper crashes lists them): nothing is kept of pod a/b; there are ") {
		t.Errorf("code %d, %q", code, stderr)
	}
}

func TestSpansMayBeInDays(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records, s.now.Wall)
	pod := fixture.Namespace + "/" + fixture.Pod
	for _, pair := range [][2]string{
		{"crashes --since 1d", "crashes --since 24h"},
		{"logs " + pod + " -c kube-apiserver --since 1d", "logs " + pod + " -c kube-apiserver --since 24h"},
	} {
		code, inDays, stderr := s.call(strings.Fields(pair[0])...)
		if _, inHours, _ := s.call(strings.Fields(pair[1])...); code != cli.ExitOK || inDays != inHours || inDays == "" {
			t.Errorf("%s: code %d, %q, %q", pair[0], code, inDays, stderr)
		}
	}
	for _, args := range []string{"report --since 90d -o -", "export --since 7d -o -", "pause --for 7d"} {
		if code, _, stderr := s.call(strings.Fields(args)...); code != cli.ExitOK {
			t.Errorf("%s: code %d, %q", args, code, stderr)
		}
	}
	for _, args := range []string{"crashes --since 1w", "logs a/b --since -1h", "report --since 7days", "export --since d", "pause --for tomorrow"} {
		code, out, stderr := s.call(strings.Fields(args)...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(stderr, "is no time span: say 7d") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, %q, %q", args, code, out, stderr)
		}
	}
}

func TestLogsOfEachChoice(t *testing.T) {
	s := stage(t)
	index := fixture.Records(t, s.records, s.now.Wall)
	pod := fixture.Namespace + "/" + fixture.Pod
	for args, want := range map[string]string{
		pod + " -c kube-apiserver --tail 1":                              fixture.Line(7, 9),
		fixture.Namespace + "/kube-apiserver -c kube-apiserver --tail=1": fixture.Line(7, 9),
		pod + " -c kube-apiserver -p --tail 1":                           fixture.Line(5, 9),
		pod + " -c kube-apiserver --previous=2 --tail 1":                 fixture.Line(4, 9),
		pod + " -c kube-apiserver --previous=true --tail 1":              fixture.Line(5, 9),
		pod + " -c check-endpoints --tail 1":                             fixture.Line(6, 9),
		"--crash " + index.Records[0].ID + " --tail 1":                   fixture.Line(3, 9),
		pod + " -c kube-apiserver --limit-bytes 16":                      fixture.Line(7, 0)[:16],
		pod + " -c kube-apiserver --since 51s":                           fixture.Line(7, 9),
	} {
		code, out, stderr := s.call(append([]string{"logs"}, strings.Fields(args)...)...)
		if code != cli.ExitOK || strings.TrimSuffix(out, "\n") != want {
			t.Errorf("%s: code %d, %q, %q", args, code, out, stderr)
		}
	}
}

func TestAllAttemptsAreToldApart(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records, s.now.Wall)
	code, out, stderr := s.call("logs", fixture.Namespace+"/"+fixture.Pod, "-c", "kube-apiserver", "--all")
	var lines, headers int
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "--- ") {
			headers++
		} else {
			lines++
		}
	}
	if code != cli.ExitOK || lines != 4*fixture.Lines || headers != 4 {
		t.Errorf("code %d, %d lines, %d headers, %q\n%s", code, lines, headers, stderr, out)
	}
	if _, out, _ := s.call("logs", fixture.Namespace+"/"+fixture.Pod, "-c", "kube-apiserver", "--all", "--headers=never"); strings.Contains(out, "---") {
		t.Errorf("headers:\n%s", out)
	}
}

func TestThereIsAlwaysALineThatSaysWhatToChoose(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records, s.now.Wall)
	pod := fixture.Namespace + "/" + fixture.Pod
	for args, c := range map[string]struct {
		code int
		says string
	}{
		pod:                             {cli.ExitFailure, "choose with -c"},
		pod + " -c nothing":             {cli.ExitFailure, "there are check-endpoints, kube-apiserver"},
		pod + " --crash 1999":           {cli.ExitFailure, "no record ID starts with 1999"},
		"":                              {cli.ExitUsage, "which pod?"},
		"a/b/c":                         {cli.ExitUsage, "neither POD nor NAMESPACE/POD"},
		pod + " --crash 1 --first":      {cli.ExitUsage, "choose one of"},
		pod + " -p 2":                   {cli.ExitUsage, "--previous=2"},
		pod + " " + pod:                 {cli.ExitUsage, "one pod at a time"},
		pod + " --stream both":          {cli.ExitUsage, "--stream"},
		pod + " --previous=0":           {cli.ExitUsage, "1 is the attempt that ended last"},
		pod + " --tail=-2":              {cli.ExitUsage, "--tail"},
		pod + " --limit-bytes=-1":       {cli.ExitUsage, "--limit-bytes"},
		pod + " --since-time yesterday": {cli.ExitUsage, "--since-time"},
		pod + " --until noon":           {cli.ExitUsage, "--until"},
		pod + " --raw --tail 3":         {cli.ExitUsage, "--tail does not go with --raw"},
		pod + " --escape=perhaps":       {cli.ExitUsage, "auto, always, never"},
		pod + " --since 1m --since-time 2026-03-01T12:00:00Z": {cli.ExitUsage, "choose one of --since and --since-time"},
	} {
		code, out, stderr := s.call(append([]string{"logs"}, strings.Fields(args)...)...)
		if code != c.code || out != "" || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, %q, %q", args, code, out, stderr)
		}
	}
}

func TestOfAPodThatWasNeverRecordedTheKubeletsFilesAreRead(t *testing.T) {
	s := stage(t)
	for _, recorded := range []bool{false, true} {
		if recorded {
			fixture.Records(t, s.records, s.now.Wall)
		}
		fixture.KubeletLog(t, s.pods, "default", "web", "nginx", 1, s.now.Wall)
		fixture.KubeletLog(t, s.pods, "default", "web", "nginx", 2, s.now.Wall)
		for args, want := range map[string]string{"": fixture.Line(2, 9), " -c nginx --previous": fixture.Line(1, 9)} {
			code, out, stderr := s.call(append([]string{"logs", "--tail=1"}, strings.Fields("default/web"+args)...)...)
			if code != cli.ExitOK || out != want+"\n" {
				t.Errorf("recorded %v, %q: code %d, %q, %q", recorded, args, code, out, stderr)
			}
		}
		if code, _, stderr := s.call("logs", "default/other"); code != cli.ExitFailure || !strings.Contains(stderr, "the kubelet has no log of default/other in "+s.pods+", and ") {
			t.Errorf("code %d, %q", code, stderr)
		}
	}
}

func TestControlCharactersAreEscapedOnDemand(t *testing.T) {
	s := stage(t)
	dir := filepath.Join(s.pods, "default_web_uid-1", "nginx")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.write(filepath.Join(dir, "0.log"), "2026-03-01T12:00:00.000000000+00:00 stdout F \x1b[2J\n")
	for escape, want := range map[string]string{"auto": "\x1b[2J\n", "never": "\x1b[2J\n", "always": `\x1b[2J` + "\n"} {
		if code, out, _ := s.call("logs", "default/web", "--escape="+escape); code != cli.ExitOK || out != want {
			t.Errorf("%s: code %d, %q", escape, code, out)
		}
	}
}

// broken is a pipe whose reader is gone.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestThatNobodyReadsOnIsNoFailure(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records, s.now.Wall)
	var said strings.Builder
	p := &program{out: broken{}, err: &said, clock: s}
	args := []string{"logs", fixture.Namespace + "/" + fixture.Pod, "-c", "kube-apiserver", "--config", s.config}
	if code := p.execute(context.Background(), args); code != cli.ExitOK || said.String() != "" {
		t.Errorf("code %d, %q", code, said.String())
	}
}

// unpack reads an archive: contents by name below its directory.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for in := tar.NewReader(gz); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		top, name, _ := strings.Cut(h.Name, "/")
		if top != "nodekeeper-"+fixture.Node+"-20260301T120000Z" || h.Mode != 0o600 {
			t.Errorf("%s, mode %o", h.Name, h.Mode)
		}
		files[name] = string(data)
	}
}

func TestExport(t *testing.T) {
	s := stage(t)
	index := fixture.Records(t, s.records, s.now.Wall)
	s.publish(troubled(s.now))
	s.acted()
	s.now.Wall = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	to := filepath.Join(s.state, "crash.tgz")
	if code, out, stderr := s.call("export", "--live", "-o", to); code != cli.ExitOK || out != "" || stderr != "" {
		t.Fatalf("code %d, %q, %q", code, out, stderr)
	}
	if info, err := os.Stat(to); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	files := unpack(t, to)
	names := []string{"acts.jsonl", "index.json", "status.json", "version.txt",
		"live/kube-apiserver-7/birth.json", "live/kube-apiserver-7/capture.json", "live/kube-apiserver-7/log.0"}
	for _, r := range index.Records {
		names = append(names, r.Path+"/meta.json", r.Path+"/log.0.gz", r.Path+"/log.1")
		for _, name := range []string{"meta.json", "log.0.gz", "log.1"} {
			want, err := os.ReadFile(filepath.Join(s.records, r.Path, name))
			if err != nil || string(want) != files[r.Path+"/"+name] {
				t.Errorf("%s/%s differs, %v", r.Path, name, err)
			}
		}
	}
	for _, name := range names {
		if files[name] == "" {
			t.Errorf("no %s", name)
		}
		delete(files, name)
	}
	if len(files) > 0 {
		t.Errorf("and %v", files)
	}
}

func TestExportOfLessAndToThePipe(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records, s.now.Wall)
	code, out, stderr := s.call("export", "kube-apiserver", "--since", "90m", "-o", "-")
	if code != cli.ExitOK || strings.Contains(stderr, "evicted") {
		t.Fatalf("code %d, %q", code, stderr)
	}
	path := filepath.Join(s.state, "piped.tgz")
	s.write(path, out)
	records := 0
	for name := range unpack(t, path) {
		if strings.HasSuffix(name, record.MetaFile) {
			records++
		}
	}
	if records != 1 {
		t.Errorf("%d records of the last 90 minutes", records)
	}
}

func TestAnExportWithoutRecordsSaysSo(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records, s.now.Wall)
	to := filepath.Join(s.state, "crash.tgz")
	code, _, stderr := s.call("export", "nosuch", "-o", to)
	if code != cli.ExitOK || !strings.Contains(stderr, "no crash records are chosen") {
		t.Errorf("code %d, %q", code, stderr)
	}
	if _, packed := unpack(t, to)["acts.jsonl"]; !packed {
		t.Error("the acts are not there")
	}
}

func TestAnExportThatFailsLeavesNothing(t *testing.T) {
	s := stage(t)
	index := fixture.Records(t, s.records, s.now.Wall)
	// A FIFO in the place of a log is refused.
	log := filepath.Join(s.records, index.Records[1].Path, "log.1")
	if err := errors.Join(os.Remove(log), syscall.Mkfifo(log, 0o600)); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(s.state, "crash.tgz")
	s.write(to, "older")
	code, _, stderr := s.call("export", "-o", to)
	content, err := os.ReadFile(to)
	if code != cli.ExitFailure || !strings.Contains(stderr, "not a regular file") || err != nil || string(content) != "older" {
		t.Errorf("code %d, %q, %q, %v", code, stderr, content, err)
	}
	entries, err := os.ReadDir(s.state)
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.Contains(e.Name(), "partial") }) {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestARecordThatIsEvictedMeanwhileIsLeftOut(t *testing.T) {
	s := stage(t)
	index := fixture.Records(t, s.records, s.now.Wall)
	if err := os.RemoveAll(filepath.Join(s.records, index.Records[0].Path)); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(s.state, "crash.tgz")
	code, _, stderr := s.call("export", "-o", to)
	if code != cli.ExitOK || !strings.Contains(stderr, index.Records[0].Path+" was evicted meanwhile") {
		t.Errorf("code %d, %q", code, stderr)
	}
	if unpack(t, to)[index.Records[1].Path+"/log.1"] == "" {
		t.Error("the others are not there")
	}
}

// counting is an output that tells when a text has come.
type counting struct {
	want string
	text strings.Builder
	came func()
}

func (c *counting) Write(p []byte) (int, error) {
	c.text.Write(p)
	if strings.Contains(c.text.String(), c.want) {
		c.came()
	}
	return len(p), nil
}

func TestFollowingGoesOnUntilItIsInterrupted(t *testing.T) {
	s := stage(t)
	index := fixture.Records(t, s.records, s.now.Wall)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	log, err := os.OpenFile(filepath.Join(s.records, index.Live[0].Path, "log.0"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	// What is there comes first; then a line is written, and its coming ends it.
	out := &counting{want: fixture.Line(7, 9), came: nil}
	out.came = func() {
		out.want, out.came = "one more", cancel
		if _, err := log.WriteString("2026-03-01T12:00:00.000000000+00:00 stdout F one more\n"); err != nil {
			t.Error(err)
		}
	}
	var said strings.Builder
	p := &program{out: out, err: &said, clock: s}
	args := []string{"logs", fixture.Namespace + "/" + fixture.Pod, "-c", "kube-apiserver", "-f", "--config", s.config}
	if code := p.execute(ctx, args); code != cli.ExitOK || said.String() != "" || !strings.HasSuffix(out.text.String(), fixture.Line(7, 9)+"\none more\n") {
		t.Errorf("code %d, %q, %q", code, said.String(), out.text.String())
	}
}
