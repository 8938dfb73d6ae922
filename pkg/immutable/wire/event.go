package wire

import (
	"encoding/binary"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// MaxFrame is the longest watch event in bytes that a client of Kubernetes
// reads: apimachinery pkg/runtime/serializer/streaming/streaming.go.
const MaxFrame = 16 << 20

// Field numbers of metav1.WatchEvent and runtime.RawExtension.
const (
	eventType    = 1
	eventObject  = 2
	extensionRaw = 1
)

// EncodeEvent writes one event of a watch stream with its framing, which is
// watch.Added, Modified or Deleted. It is written to the stream as it is and
// flushed. An event of more than MaxFrame bytes is an error.
func EncodeEvent(enc Encoding, resource Resource, what watch.EventType, o *Object) ([]byte, error) {
	var out []byte
	var err error
	if enc == JSON {
		out, err = eventJSON(resource, what, o.Protobuf)
	} else {
		out, err = frame(resource.kind(), what, o.Protobuf)
	}
	if err != nil {
		return nil, fmt.Errorf("encode event of %s %s/%s: %w", resource, o.Namespace, o.Name, err)
	}
	return out, nil
}

// EncodeBookmark writes a BOOKMARK event: an empty object of the resource's own
// kind, as a reflector ignores any other, with only the resourceVersion, which
// has to be one that the server gave and not "0". initialEventsEnd adds the
// annotation that ends the initial events of a watch-list.
func EncodeBookmark(enc Encoding, resource Resource, version string, initialEventsEnd bool) ([]byte, error) {
	if !numeric(version) {
		return nil, fmt.Errorf("encode bookmark of %s: %w", resource, ErrResourceVersion)
	}
	meta := metav1.ObjectMeta{ResourceVersion: version}
	if initialEventsEnd {
		meta.Annotations = map[string]string{annotationInitialEventsEnd: "true"}
	}
	var message []byte
	var err error
	if resource == Secrets {
		message, err = (&corev1.Secret{ObjectMeta: meta}).Marshal()
	} else {
		message, err = (&corev1.ConfigMap{ObjectMeta: meta}).Marshal()
	}
	if err != nil {
		return nil, fmt.Errorf("encode bookmark of %s: %w", resource, err)
	}
	return EncodeEvent(enc, resource, watch.Bookmark, &Object{Protobuf: message})
}

// EncodeErrorEvent writes an ERROR event, which ends a stream. Never send one
// of 410 to a watch-list: a reflector asks again without a pause.
func EncodeErrorEvent(enc Encoding, status *metav1.Status) ([]byte, error) {
	out, err := encodeErrorEvent(enc, status)
	if err != nil {
		return nil, fmt.Errorf("encode error event: %w", err)
	}
	return out, nil
}

func encodeErrorEvent(enc Encoding, status *metav1.Status) ([]byte, error) {
	if enc == JSON {
		object, err := statusJSON(status)
		if err != nil {
			return nil, err
		}
		return watchEventJSON(watch.Error, object)
	}
	message, err := status.Marshal()
	if err != nil {
		return nil, err
	}
	return frame(statusKind, watch.Error, message)
}

// frame writes a metav1.WatchEvent, which has no envelope of its own, behind
// its length.
func frame(kind string, what watch.EventType, message []byte) ([]byte, error) {
	object := sizeEnvelope(kind, len(message))
	size := sizeField(len(what)) + sizeField(sizeField(object))
	if size > MaxFrame {
		return nil, fmt.Errorf("%d bytes are more than a watch event may have", size)
	}
	out := make([]byte, 0, 4+size)
	out = binary.BigEndian.AppendUint32(out, uint32(size))
	out = appendString(out, eventType, string(what))
	out = appendLength(out, eventObject, sizeField(object))
	out = appendLength(out, extensionRaw, object)
	return appendEnvelope(out, kind, message), nil
}
