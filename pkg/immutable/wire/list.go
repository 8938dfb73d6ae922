package wire

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxItems bounds what DecodeList takes. A list by name has one item or none;
// 500 is the page of a kubelet's own lists.
const maxItems = 500

// Field numbers of SecretList, ConfigMapList and ListMeta.
const (
	listMeta                = 1
	listItems               = 2
	listMetaSelfLink        = 1
	listMetaResourceVersion = 2
	listMetaContinue        = 3
)

// DecodeList reads a SecretList or a ConfigMapList in its protobuf envelope.
// The body may be used again afterwards. ErrResourceVersion is for versions
// that are no numbers. A list that has further pages is refused.
func DecodeList(resource Resource, body []byte) (version string, items []*Object, err error) {
	kind, message, err := openEnvelope(body)
	if err != nil {
		return "", nil, fmt.Errorf("decode list of %s: %w", resource, err)
	}
	if kind != resource.listKind() {
		return "", nil, fmt.Errorf("decode list of %s: the answer is of another kind", resource)
	}
	for f, err := range fields(message) {
		if err == nil && (f.number == listMeta || f.number == listItems) {
			err = f.want(protowire.BytesType)
		}
		if err != nil {
			return "", nil, fmt.Errorf("decode list of %s: %w", resource, err)
		}
		switch f.number {
		case listMeta:
			err = readListMeta(f.bytes, &version)
		case listItems:
			if len(items) == maxItems {
				return "", nil, fmt.Errorf("decode list of %s: more than %d items", resource, maxItems)
			}
			var o *Object
			o, err = readObject(resource, f.bytes)
			items = append(items, o)
		}
		if err != nil {
			return "", nil, fmt.Errorf("decode list of %s: %w", resource, err)
		}
	}
	if !numeric(version) {
		return "", nil, fmt.Errorf("decode list of %s: %w", resource, ErrResourceVersion)
	}
	return version, items, nil
}

func readListMeta(message []byte, version *string) error {
	for f, err := range fields(message) {
		if err != nil {
			return err
		}
		if f.number != listMetaResourceVersion && f.number != listMetaContinue {
			continue
		}
		if err := f.want(protowire.BytesType); err != nil {
			return err
		}
		if f.number == listMetaResourceVersion {
			*version = string(f.bytes)
		} else if len(f.bytes) > 0 {
			return errors.New("the list has further pages")
		}
	}
	return nil
}

// EncodeList writes the list that a server would answer with, whose
// resourceVersion is version. In protobuf it cannot fail.
func EncodeList(enc Encoding, resource Resource, version string, items ...*Object) ([]byte, error) {
	if enc == JSON {
		out, err := listJSON(resource, version, items)
		if err != nil {
			return nil, fmt.Errorf("encode list of %s: %w", resource, err)
		}
		return out, nil
	}
	metaSize := sizeField(0) + sizeField(len(version)) + sizeField(0)
	size := sizeField(metaSize)
	for _, o := range items {
		size += sizeField(len(o.Protobuf))
	}
	out := make([]byte, 0, sizeEnvelope(resource.listKind(), size))
	out = appendEnvelopeStart(out, resource.listKind(), size)
	out = appendLength(out, listMeta, metaSize)
	out = appendString(out, listMetaSelfLink, "")
	out = appendString(out, listMetaResourceVersion, version)
	out = appendString(out, listMetaContinue, "")
	for _, o := range items {
		out = appendField(out, listItems, o.Protobuf)
	}
	return append(out, envelopeEnd...), nil
}
