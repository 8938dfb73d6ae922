package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/cmd/internal/fixture"
	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

func (s *scene) meta(path string) record.Meta {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(s.records, path, record.MetaFile))
	var m record.Meta
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		s.Fatal(err)
	}
	return m
}

func TestHoldAndRelease(t *testing.T) {
	s := stage(t)
	r := fixture.Records(t, s.records, s.now.Wall).Records[0]
	code, out, stderr := s.call("hold", r.ID, "--reason", "case 0815")
	want := r.ID + " " + fixture.Namespace + "/" + fixture.Pod + "/kube-apiserver: held; to end it: nodekeeper release " + r.ID + "\n"
	if code != cli.ExitOK || out != want {
		t.Errorf("code %d, %q, %q", code, out, stderr)
	}
	if hold := s.meta(r.Path).Hold; hold == nil || hold.Reason != "case 0815" {
		t.Errorf("%+v", hold)
	}
	// The agent takes a hold up into the index; there is none here.
	if err := os.Remove(filepath.Join(s.records, record.IndexFile)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{": released\n", ": there was no hold\n"} {
		if code, out, stderr := s.call("release", r.ID[:len(r.ID)-1]); code != cli.ExitOK || !strings.HasSuffix(out, want) {
			t.Errorf("code %d, %q, %q", code, out, stderr)
		}
	}
	if hold := s.meta(r.Path).Hold; hold != nil {
		t.Errorf("%+v", hold)
	}
}

func TestHoldOfWhatIsNotThere(t *testing.T) {
	s := stage(t)
	fixture.Records(t, s.records, s.now.Wall)
	for args, want := range map[string]int{"hold 1999": cli.ExitFailure, "release 2026": cli.ExitFailure, "hold": cli.ExitUsage, "release 1 2": cli.ExitUsage} {
		if code, out, stderr := s.call(strings.Fields(args)...); code != want || out != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, %q, %q", args, code, out, stderr)
		}
	}
}
