package immutable

import (
	"errors"
	"strconv"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

// errVersions is for states that cannot follow each other: versions that went
// back, as of a cluster restored from a backup.
var errVersions = errors.New("the API server's resourceVersions went back")

// state is what the API server said of a key at one version. It is never
// changed.
type state struct {
	// version is where a WATCH may resume, and number the same to compare.
	version string
	number  uint64
	// object is nil for a missing one.
	object *wire.Object
	// objectNumber is the version of the object's last change.
	objectNumber uint64
	// since is from which version on this object, or its absence, is known.
	since uint64
}

func newState(version string, object *wire.Object) (*state, error) {
	s := &state{version: version, object: object}
	var err error
	if s.number, err = parseVersion(version); err != nil {
		return nil, err
	}
	s.since = s.number
	if object != nil {
		if s.objectNumber, err = parseVersion(object.ResourceVersion); err != nil {
			return nil, err
		}
		if s.objectNumber > s.number {
			return nil, errVersions
		}
		s.since = s.objectNumber
	}
	return s, nil
}

func parseVersion(version string) (uint64, error) {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil || n == 0 {
		return 0, wire.ErrResourceVersion
	}
	return n, nil
}

func (s *state) size() int64 {
	if s == nil || s.object == nil {
		return 0
	}
	return int64(len(s.object.Protobuf))
}

func (s *state) immutable() bool { return s != nil && s.object != nil && s.object.Immutable }

func (s *state) missing() bool { return s != nil && s.object == nil }

// event is one that a stream is told. Without an object it is a bookmark of the
// version.
type event struct {
	what    watch.EventType
	object  *wire.Object
	version string
	// initialEventsEnd is for the bookmark that a watch-list waits for.
	initialEventsEnd bool
}

// follow is what a stream that knows old is told so that it knows next: the same
// that the API server would have told, with what happened in between left out.
func follow(old, next *state) ([]event, error) {
	switch {
	case next.number < old.number:
		return nil, errVersions
	case old.object == nil && next.object == nil:
		return nil, nil
	case old.object == nil:
		return []event{{what: watch.Added, object: next.object}}, nil
	case next.object == nil:
		// The version of a deletion is the deletion's. It is not known, and the
		// list's is the first at which the object was seen to be gone.
		gone, err := old.object.WithResourceVersion(next.version)
		if err != nil {
			return nil, err
		}
		return []event{{what: watch.Deleted, object: gone}}, nil
	case old.object.UID != next.object.UID:
		if next.objectNumber <= old.objectNumber {
			return nil, errVersions
		}
		// The deletion happened before the creation: at the latest one version
		// before, which no other object can be told with.
		gone, err := old.object.WithResourceVersion(strconv.FormatUint(next.objectNumber-1, 10))
		if err != nil {
			return nil, err
		}
		return []event{{what: watch.Deleted, object: gone}, {what: watch.Added, object: next.object}}, nil
	case next.objectNumber < old.objectNumber:
		return nil, errVersions
	case next.objectNumber > old.objectNumber:
		return []event{{what: watch.Modified, object: next.object}}, nil
	}
	return nil, nil
}
