package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// ErrFrameTooLong is for an event of more than MaxFrame bytes. The stream
// cannot be read on.
var ErrFrameTooLong = errors.New("watch event is longer than 16 MiB")

const (
	// readStep is how much is read before more memory is taken: a length that
	// is announced and never sent costs no more than this.
	readStep = 32 << 10
	// keepBuffer is the largest buffer that a reader keeps between two events.
	// Thousands of watches are idle most of the time.
	keepBuffer = 4 << 10
)

// Event is one event of an upstream watch.
type Event struct {
	Type watch.EventType
	// Object is set for ADDED, MODIFIED and DELETED.
	Object *Object
	// ResourceVersion is the object's, or the bookmark's; "" for ERROR.
	ResourceVersion string
	// InitialEventsEnd is for the bookmark that ends the initial events.
	InitialEventsEnd bool
	// Status is set for ERROR. Its Code is the HTTP one, as 410.
	Status *metav1.Status
}

// EventReader reads a watch stream in protobuf. It is for one goroutine.
type EventReader struct {
	resource Resource
	stream   io.Reader
	buffer   []byte
}

// NewEventReader reads the body of a watch of the resource, which the caller
// closes. The body must be plain: a transport that asked for gzip has to have
// undone it.
func NewEventReader(resource Resource, body io.Reader) *EventReader {
	return &EventReader{resource: resource, stream: body}
}

// Next waits for the next event. io.EOF is for a stream that ended between two
// events, as at a server's time limit; io.ErrUnexpectedEOF within one.
// ErrResourceVersion is for versions that are no numbers. After any error the
// stream is of no more use.
func (r *EventReader) Next() (Event, error) {
	data, err := r.frame()
	if errors.Is(err, io.EOF) {
		return Event{}, io.EOF
	}
	if err != nil {
		return Event{}, fmt.Errorf("read watch of %s: %w", r.resource, err)
	}
	event, err := readEvent(r.resource, data)
	if cap(r.buffer) > keepBuffer {
		r.buffer = nil
	}
	if err != nil {
		return Event{}, fmt.Errorf("read watch of %s: %w", r.resource, err)
	}
	return event, nil
}

// frame is the next frame, which is good until the one after it is read.
func (r *EventReader) frame() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r.stream, head[:]); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint32(head[:]))
	if length > MaxFrame {
		return nil, ErrFrameTooLong
	}
	r.buffer = r.buffer[:0]
	for len(r.buffer) < length {
		have := len(r.buffer)
		step := min(length-have, max(readStep, have))
		if cap(r.buffer) < have+step {
			grown := make([]byte, have, have+step)
			copy(grown, r.buffer)
			r.buffer = grown
		}
		r.buffer = r.buffer[:have+step]
		if _, err := io.ReadFull(r.stream, r.buffer[have:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return r.buffer, nil
}

func readEvent(resource Resource, data []byte) (Event, error) {
	what, object, err := openEvent(data)
	if err != nil {
		return Event{}, err
	}
	event := Event{Type: what}
	switch what {
	case watch.Error:
		event.Status, err = DecodeStatus(object)
		return event, err
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
	default:
		return Event{}, errors.New("event of an unknown type")
	}
	kind, message, err := openEnvelope(object)
	switch {
	case err != nil:
		return Event{}, err
	case kind != resource.kind():
		return Event{}, errors.New("the event's object is of another kind")
	case what == watch.Bookmark:
		mark, annotations, err := scanObject(resource, message)
		if err != nil {
			return Event{}, err
		}
		if !numeric(mark.ResourceVersion) {
			return Event{}, fmt.Errorf("bookmark: %w", ErrResourceVersion)
		}
		event.ResourceVersion = mark.ResourceVersion
		event.InitialEventsEnd = annotations[annotationInitialEventsEnd] == "true"
		return event, nil
	}
	event.Object, err = readObject(resource, message)
	if err != nil {
		return Event{}, err
	}
	event.ResourceVersion = event.Object.ResourceVersion
	return event, nil
}

// openEvent reads a metav1.WatchEvent. The object lies within data.
func openEvent(data []byte) (what watch.EventType, object []byte, err error) {
	for f, err := range fields(data) {
		if err != nil {
			return "", nil, fmt.Errorf("event: %w", err)
		}
		if f.number != eventType && f.number != eventObject {
			continue
		}
		if err := f.want(protowire.BytesType); err != nil {
			return "", nil, fmt.Errorf("event: %w", err)
		}
		if f.number == eventType {
			what = watch.EventType(f.bytes)
			continue
		}
		for inner, err := range fields(f.bytes) {
			if err == nil && inner.number == extensionRaw {
				err = inner.want(protowire.BytesType)
				object = inner.bytes
			}
			if err != nil {
				return "", nil, fmt.Errorf("event: object: %w", err)
			}
		}
	}
	return what, object, nil
}
