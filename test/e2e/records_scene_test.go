package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/test/node"
)

// records are the crash records of a pod's container, as the index on the node
// has them.
func (s *scene) records(pod, name string) []record.Entry {
	s.Helper()
	var out []record.Entry
	for _, e := range s.index().Records {
		if e.Pod == pod+"-node1" && e.Container == name {
			out = append(out, e)
		}
	}
	return out
}

// index is the root index; an empty one as long as there is none.
func (s *scene) index() record.Index {
	s.Helper()
	data, err := s.box.ReadFile(path.Join(record.DefaultRoot, record.IndexFile))
	if err != nil {
		return record.Index{}
	}
	var index record.Index
	if err := record.Decode(data, &index); err != nil {
		s.Fatalf("index: %v", err)
	}
	return index
}

// recorded waits for the record of one attempt.
func (s *scene) recorded(limit time.Duration, pod string, c node.Container) record.Entry {
	s.Helper()
	var found record.Entry
	s.eventually(limit, fmt.Sprintf("%s/%s attempt %d is recorded", pod, c.Name, c.Attempt), func() bool {
		for _, e := range s.records(pod, c.Name) {
			if e.ContainerID == c.ID {
				found = e
				return true
			}
		}
		return false
	})
	s.say("class %s (%s), exit %s, %d segments, %d gaps", found.Class, found.ClassReason, exitText(found), len(found.Segments), len(found.Gaps))
	return found
}

func exitText(e record.Entry) string {
	if e.ExitCode == nil {
		return "unknown"
	}
	return fmt.Sprint(*e.ExitCode)
}

// kept is the log of a record, byte for byte, its segments joined.
func (s *scene) kept(e record.Entry) []byte {
	s.Helper()
	var out bytes.Buffer
	for _, segment := range e.Segments {
		data, err := s.box.ReadFile(path.Join(record.DefaultRoot, e.Path, segment.Name))
		s.must(err, "read segment")
		if segment.Compressed() {
			r, err := gzip.NewReader(bytes.NewReader(data))
			s.must(err, "open "+segment.Name)
			data, err = io.ReadAll(r)
			s.must(err, "read "+segment.Name)
		}
		out.Write(data)
	}
	return out.Bytes()
}

// wantRecord fails unless a record has this class and exit code (-1: unknown)
// and is complete.
func (s *scene) wantRecord(e record.Entry, class record.Class, exit int32) {
	s.Helper()
	if e.Class != class {
		s.Errorf("class %s (%s), want %s", e.Class, e.ClassReason, class)
	}
	if (e.ExitCode == nil) != (exit < 0) || (e.ExitCode != nil && *e.ExitCode != exit) {
		s.Errorf("exit code %s, want %d", exitText(e), exit)
	}
	if !e.Complete() {
		s.Errorf("gaps: %+v", e.Gaps)
	}
}

// nodekeeper runs the program in the box and returns what it printed.
func (s *scene) nodekeeper(args ...string) string {
	s.Helper()
	out, stderr, err := s.box.Exec(s.ctx, append([]string{node.AgentProgram}, args...)...)
	if err != nil {
		s.Fatalf("nodekeeper %s: %v %s", strings.Join(args, " "), err, stderr)
	}
	return out
}

// logs are what nodekeeper logs prints of a record.
func (s *scene) logs(e record.Entry, more ...string) string {
	s.Helper()
	return s.nodekeeper(append([]string{"logs", e.Namespace + "/" + e.Pod, "-c", e.Container, "--crash", e.ID}, more...)...)
}

// keepTruth links the log of a container away before anybody deletes it, and
// returns a function that reads it.
func (s *scene) keepTruth(c node.Container) func() []byte {
	s.Helper()
	truth := "/var/log/truth-" + c.ID
	_, stderr, err := s.box.Exec(s.ctx, "sh", "-c", "ln /var/log/pods/*_"+c.PodUID+"/"+c.Name+"/"+fmt.Sprint(c.Attempt)+".log "+truth)
	if err != nil {
		s.Fatalf("keep the truth: %v %s", err, stderr)
	}
	return func() []byte {
		data, err := s.box.ReadFile(truth)
		s.must(err, "read the truth")
		return data
	}
}

// foreign lists files below the pod logs that no kubelet makes.
func (s *scene) foreign() string {
	s.Helper()
	out, _, err := s.box.Exec(s.ctx, "sh", "-c", `find /var/log/pods -type f | grep -Ev '/[0-9]+\.log(\.[0-9]{8}-[0-9]{6}(\.gz|\.tmp)?)?$' || true`)
	s.must(err, "list pod logs")
	return strings.TrimSpace(out)
}

// actsOf are the IDs of the acts that name a record.
func (s *scene) actsOf(e record.Entry) []string {
	s.Helper()
	var acts []struct{ ID, Record string }
	s.must(json.Unmarshal([]byte(s.nodekeeper("acts", "-o", "json")), &acts), "acts")
	var ids []string
	for _, a := range acts {
		if a.Record == e.Path {
			ids = append(ids, a.ID)
		}
	}
	return ids
}
