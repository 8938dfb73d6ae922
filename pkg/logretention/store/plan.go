package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// A change of several files of one directory, such as a segment that is
// replaced by a compressed one, must not be seen half done: a log that lost its
// middle would be shown as whole. So the new files are made under temporary
// names, the new capture.json or meta.json too, and then planFile appears:
// from there on the change is only carried on, by this process or the next.
const (
	planFile = temporary + "plan"
	bodyFile = temporary + "body"
)

// plan is planFile.
type plan struct {
	// Target is what bodyFile becomes: capture.json or meta.json.
	Target string `json:"target"`
	// Place are segments that lie ready under temporary names.
	Place []string `json:"place,omitempty"`
	// Drop are segments that go.
	Drop []string `json:"drop,omitempty"`
}

func (p plan) check() error {
	if p.Target != record.MetaFile && p.Target != record.CaptureFile {
		return fmt.Errorf("target %q", p.Target)
	}
	for _, name := range slices.Concat(p.Place, p.Drop) {
		if _, _, ok := record.ParseSegment(name); !ok {
			return fmt.Errorf("segment %q", name)
		}
	}
	return nil
}

// errUnfinished: an earlier change of the same directory is not finished. The
// caller reads the directory again, which finishes it.
var errUnfinished = errors.New("an earlier change has not been finished")

// carryOut makes the change of dir that p describes, with body as the new
// content of p.Target. The temporary files of p.Place exist; if it fails before
// there is a plan, they are removed.
func (s *Store) carryOut(dir string, p plan, body any) error {
	if _, err := os.Lstat(filepath.Join(dir, planFile)); err == nil {
		return errUnfinished
	}
	durable := p.Target == record.MetaFile
	err := s.putJSON(filepath.Join(dir, bodyFile), body, durable)
	s.Step("plan:body")
	if err == nil {
		err = s.putJSON(filepath.Join(dir, planFile), p, durable)
	}
	if err != nil {
		return errors.Join(err, removeFiles(dir, bodyFile), removeFiles(dir, temporaryNames(p.Place)...))
	}
	s.Step("plan:made")
	return s.carryOn(dir, p)
}

// carryOn does what is left to do of a plan.
func (s *Store) carryOn(dir string, p plan) error {
	if err := s.failing("rename", filepath.Join(dir, p.Target)); err != nil {
		return err
	}
	for _, name := range p.Place {
		if err := os.Rename(filepath.Join(dir, temporary+name), filepath.Join(dir, name)); err != nil && !missing(err) {
			return err
		}
		s.Step("plan:placed")
	}
	if err := removeFiles(dir, p.Drop...); err != nil {
		return err
	}
	s.Step("plan:dropped")
	if err := os.Rename(filepath.Join(dir, bodyFile), filepath.Join(dir, p.Target)); err != nil && !missing(err) {
		return err
	}
	if p.Target == record.MetaFile {
		if err := statefile.SyncDir(dir); err != nil {
			return err
		}
	}
	s.Step("plan:body-placed")
	return removeFiles(dir, planFile)
}

func temporaryNames(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = temporary + name
	}
	return out
}

// resume finishes the plan of a directory, if there is one that can be read,
// and removes what was not finished. A plan that cannot be read was never made:
// it appears whole.
func (s *Store) resume(dir string) error {
	data, err := statefile.Read(filepath.Join(dir, planFile), record.MaxMetaBytes)
	if err == nil {
		var p plan
		if err = errors.Join(json.Unmarshal(data, &p), p.check()); err == nil {
			if err := s.carryOn(dir, p); err != nil {
				return err
			}
		}
	}
	return s.sweep(dir)
}
