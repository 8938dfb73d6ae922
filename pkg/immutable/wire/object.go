package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrResourceVersion is for an object or a list whose resourceVersion is not a
// plain decimal number. Versions of such a server cannot be compared, so its
// requests must be passed through.
var ErrResourceVersion = errors.New("resourceVersion is not a number")

// Field numbers of Secret, ConfigMap and ObjectMeta.
const (
	objectMeta         = 1
	configMapImmutable = 4
	secretImmutable    = 5

	metaName            = 1
	metaNamespace       = 3
	metaUID             = 5
	metaResourceVersion = 6
	metaAnnotations     = 12

	annotationKey   = 1
	annotationValue = 2
)

// annotationInitialEventsEnd marks the bookmark that closes the initial events
// of a watch-list; its value is "true" (metav1.InitialEventsAnnotationKey).
const annotationInitialEventsEnd = "k8s.io/initial-events-end"

// Object is a Secret or a ConfigMap as the server sent it. It owns its bytes
// and is not changed once made, so it may be shared.
type Object struct {
	Namespace string
	Name      string
	UID       string
	// ResourceVersion is a plain decimal number, never "0".
	ResourceVersion string
	Immutable       bool
	// Protobuf is the object's own message, without an envelope. Whoever holds
	// a Secret's may not print it.
	Protobuf []byte `json:"-"`
}

// String names the object. It shows nothing of what is in it.
func (o Object) String() string {
	return fmt.Sprintf("%s/%s uid=%s resourceVersion=%s immutable=%t bytes=%d",
		o.Namespace, o.Name, o.UID, o.ResourceVersion, o.Immutable, len(o.Protobuf))
}

// Format prints String for every verb, so that %+v shows no data either.
func (o Object) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, o.String()) }

// LogValue is String.
func (o Object) LogValue() slog.Value { return slog.StringValue(o.String()) }

// readObject reads a whole object, and copies it out of the message.
func readObject(resource Resource, message []byte) (*Object, error) {
	o, _, err := scanObject(resource, message)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Name == "" || o.Namespace == "":
		return nil, errors.New("object without a name or a namespace")
	case o.UID == "":
		return nil, errors.New("object without a UID")
	case !numeric(o.ResourceVersion):
		return nil, fmt.Errorf("object: %w", ErrResourceVersion)
	}
	o.Protobuf = bytes.Clone(message)
	return &o, nil
}

// scanObject reads the few fields that matter, without Object.Protobuf. Where a
// field stands more than once the last one counts, as it does for the generated
// decoders.
func scanObject(resource Resource, message []byte) (o Object, annotations map[string]string, err error) {
	immutable := protowire.Number(configMapImmutable)
	if resource == Secrets {
		immutable = secretImmutable
	}
	for f, err := range fields(message) {
		if err != nil {
			return Object{}, nil, fmt.Errorf("object: %w", err)
		}
		switch f.number {
		case objectMeta:
			if err := f.want(protowire.BytesType); err != nil {
				return Object{}, nil, fmt.Errorf("object: %w", err)
			}
			if err := scanMeta(f.bytes, &o, &annotations); err != nil {
				return Object{}, nil, fmt.Errorf("object: metadata: %w", err)
			}
		case immutable:
			if err := f.want(protowire.VarintType); err != nil {
				return Object{}, nil, fmt.Errorf("object: %w", err)
			}
			o.Immutable = f.varint != 0
		}
	}
	return o, annotations, nil
}

// scanMeta reads ObjectMeta. Of the annotations it keeps the one that servers
// set on bookmarks.
func scanMeta(message []byte, o *Object, annotations *map[string]string) error {
	for f, err := range fields(message) {
		if err != nil {
			return err
		}
		var to *string
		switch f.number {
		case metaName:
			to = &o.Name
		case metaNamespace:
			to = &o.Namespace
		case metaUID:
			to = &o.UID
		case metaResourceVersion:
			to = &o.ResourceVersion
		case metaAnnotations:
		default:
			continue
		}
		if err := f.want(protowire.BytesType); err != nil {
			return err
		}
		if to != nil {
			*to = string(f.bytes)
			continue
		}
		key, value, err := readPair(f.bytes)
		if err != nil {
			return fmt.Errorf("annotation: %w", err)
		}
		if string(key) == annotationInitialEventsEnd {
			*annotations = map[string]string{annotationInitialEventsEnd: string(value)}
		}
	}
	return nil
}

// readPair reads an entry of a map of strings.
func readPair(message []byte) (key, value []byte, err error) {
	for f, err := range fields(message) {
		if err != nil {
			return nil, nil, err
		}
		if f.number != annotationKey && f.number != annotationValue {
			continue
		}
		if err := f.want(protowire.BytesType); err != nil {
			return nil, nil, err
		}
		if f.number == annotationKey {
			key = f.bytes
		} else {
			value = f.bytes
		}
	}
	return key, value, nil
}

// WithResourceVersion is a copy with another resourceVersion and all else byte
// for byte. A server sends a deleted object with the version of its deletion; a
// deletion that was found by a list has to be told the same way, or a kubelet's
// position would go back to the object's last change.
func (o *Object) WithResourceVersion(version string) (*Object, error) {
	if !numeric(version) {
		return nil, fmt.Errorf("set resourceVersion of %s/%s: %w", o.Namespace, o.Name, ErrResourceVersion)
	}
	out := make([]byte, 0, len(o.Protobuf)+len(version))
	for f, err := range fields(o.Protobuf) {
		if err != nil {
			return nil, fmt.Errorf("set resourceVersion of %s/%s: %w", o.Namespace, o.Name, err)
		}
		// Decoders merge metadata that stands more than once, so each is changed.
		if f.number == objectMeta {
			meta, err := replaceVersion(f.bytes, version)
			if err != nil {
				return nil, fmt.Errorf("set resourceVersion of %s/%s: %w", o.Namespace, o.Name, err)
			}
			out = appendField(out, objectMeta, meta)
		} else {
			out = append(out, f.raw...)
		}
	}
	changed := *o
	changed.ResourceVersion, changed.Protobuf = version, out
	return &changed, nil
}

// replaceVersion sets the version in ObjectMeta, where it stands or at the end.
func replaceVersion(meta []byte, version string) ([]byte, error) {
	out := make([]byte, 0, len(meta)+len(version)+2)
	written := false
	for f, err := range fields(meta) {
		switch {
		case err != nil:
			return nil, err
		case f.number != metaResourceVersion:
			out = append(out, f.raw...)
		case !written:
			out = appendString(out, metaResourceVersion, version)
			written = true
		}
	}
	if !written {
		out = appendString(out, metaResourceVersion, version)
	}
	return out, nil
}

// numeric says whether a version is a decimal number above zero without leading
// zeros that fits 64 bits: the form in which apimachinery
// pkg/util/resourceversion compares versions.
func numeric(version string) bool {
	if version == "" || len(version) > 20 || version[0] == '0' {
		return false
	}
	for i := range len(version) {
		if version[i] < '0' || version[i] > '9' {
			return false
		}
	}
	return len(version) < 20 || version <= "18446744073709551615"
}
