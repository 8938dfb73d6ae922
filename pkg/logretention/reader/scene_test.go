package reader

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// scene is a record root under construction.
type scene struct {
	t    *testing.T
	root string
}

func newScene(t *testing.T) *scene { return &scene{t: t, root: t.TempDir()} }

func (s *scene) files() *Dir {
	s.t.Helper()
	d, err := Local(s.root)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { d.Close() })
	return d
}

func (s *scene) put(name string, data []byte) {
	s.t.Helper()
	path := filepath.Join(s.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if strings.HasSuffix(name, ".gz") {
		data = compress(data)
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) putJSON(name string, v any) {
	s.t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	s.put(name, data)
}

func compress(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

// who is attempt n of etcd, in a container of its own.
func who(n int) record.Attempt {
	return record.Attempt{Namespace: "kube-system", Pod: "etcd-node1", PodUID: "1a2b3c4d", Container: "etcd", Attempt: uint32(n), ContainerID: fmt.Sprintf("c%d", n)}
}

// meta is attempt n, which crashed n minutes after noon.
func meta(n int, segments ...record.Segment) record.Meta {
	end := noon.Add(time.Duration(n) * time.Minute)
	begin := end.Add(-30 * time.Second)
	code := int32(1)
	return record.Meta{
		APIVersion: record.APIVersion, Kind: record.KindRecord, ID: record.ID(begin, "1a2b3c4d", uint32(n)),
		Attempt: who(n), Class: record.Crash, ExitCode: &code, ExitKnownFrom: record.SourceCRI,
		Started: &begin, Finished: &end, Recorded: end, Segments: segments,
	}
}

func birth(n int) record.Birth {
	return record.Birth{APIVersion: record.APIVersion, Kind: record.KindBirth, Attempt: who(n), Seen: noon.Add(time.Duration(n) * time.Minute), By: record.SourceHook}
}

func entryOf(m record.Meta) record.Entry {
	return record.Entry{Path: record.ContainerDir(m.Namespace, m.Pod, m.Container) + "/" + m.ID, Meta: m}
}

// record puts an attempt that has ended, its segments log.0, log.1 and so on.
// A text that begins with "gz:" is compressed.
func (s *scene) record(n int, texts ...string) record.Entry {
	s.t.Helper()
	var segments []record.Segment
	for i, text := range texts {
		text, gz := strings.CutPrefix(text, "gz:")
		segments = append(segments, record.Segment{Name: record.SegmentName(i, gz), Bytes: int64(len(text))})
	}
	e := entryOf(meta(n, segments...))
	for i, text := range texts {
		s.put(e.Path+"/"+segments[i].Name, []byte(strings.TrimPrefix(text, "gz:")))
	}
	s.putJSON(e.Path+"/"+record.MetaFile, e.Meta)
	return e
}

// write gives what Write writes.
func write(t *testing.T, files Files, attempts []Attempt, o Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(context.Background(), &out, files, attempts, o); err != nil {
		t.Fatalf("write: %v", err)
	}
	return out.String()
}

func ptr[T any](v T) *T { return &v }

// line is one record of the log, n milliseconds after noon.
func line(n int, stream, tag, text string) string {
	return noon.Add(time.Duration(n)*time.Millisecond).Format("2006-01-02T15:04:05.000000000+00:00") + " " + stream + " " + tag + " " + text + "\n"
}
