package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Decode reads one of the package's JSON files into v, which is a *Meta,
// *Birth, *Capture or *Index. What a reader could trip over is an error: another
// version, a path or a segment that leads elsewhere, a class nobody knows.
// Fields that are not known are left out: the writer may be newer.
func Decode(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return err
	}
	switch v := v.(type) {
	case *Meta:
		return v.check()
	case *Birth:
		return errors.Join(kind(v.APIVersion, v.Kind, KindBirth), v.Attempt.check())
	case *Capture:
		return errors.Join(kind(v.APIVersion, v.Kind, KindCapture), pieces(v.Segments, v.Gaps))
	case *Index:
		return v.check()
	}
	return fmt.Errorf("decode into %T", v)
}

func kind(version, got, want string) error {
	if version != APIVersion || got != want {
		return fmt.Errorf("%q %q, want %q %q", version, got, APIVersion, want)
	}
	return nil
}

func (a Attempt) check() error {
	if a.Pod == "" || a.Container == "" || !IsContainerID(a.ContainerID) {
		return fmt.Errorf("incomplete: pod %q, container %q, container ID %q", a.Pod, a.Container, a.ContainerID)
	}
	return nil
}

func (m *Meta) check() error {
	err := errors.Join(kind(m.APIVersion, m.Kind, KindRecord), m.Attempt.check(), pieces(m.Segments, m.Gaps))
	if err == nil && !IsID(m.ID) {
		err = fmt.Errorf("record ID %q", m.ID)
	}
	if err == nil && !slices.Contains(Classes[:], m.Class) {
		err = fmt.Errorf("class %q", m.Class)
	}
	return err
}

func pieces(segments []Segment, gaps []Gap) error {
	for i, s := range segments {
		if _, _, ok := ParseSegment(s.Name); !ok || s.Bytes < 0 {
			return fmt.Errorf("segment %d: name %q, %d bytes", i, s.Name, s.Bytes)
		}
	}
	for i, g := range gaps {
		if g.Before < 0 || g.Before > len(segments) || g.Offset < 0 {
			return fmt.Errorf("gap %d: before %d of %d segments, offset %d", i, g.Before, len(segments), g.Offset)
		}
	}
	return nil
}

func (x *Index) check() error {
	if err := kind(x.APIVersion, x.Kind, KindIndex); err != nil {
		return err
	}
	for i := range x.Records {
		e := &x.Records[i]
		if want := ContainerDir(e.Namespace, e.Pod, e.Container) + "/" + e.ID; e.Path != want {
			return fmt.Errorf("record %d: path %q, want %q", i, e.Path, want)
		}
		if err := e.check(); err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
	}
	for i, l := range x.Live {
		if err := l.Attempt.check(); err != nil {
			return fmt.Errorf("live attempt %d: %w", i, err)
		}
		if l.Path != LivePath(l.ContainerID) {
			return fmt.Errorf("live attempt %d: path %q", i, l.Path)
		}
		if err := pieces(l.Segments, l.Gaps); err != nil {
			return fmt.Errorf("live attempt %d: %w", i, err)
		}
	}
	return nil
}
