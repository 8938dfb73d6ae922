package wire

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// magic opens every object that stands by itself: apimachinery
// pkg/runtime/serializer/protobuf/protobuf.go protoEncodingPrefix. What follows
// is a runtime.Unknown.
const magic = "k8s\x00"

// Field numbers of runtime.Unknown and runtime.TypeMeta.
const (
	unknownTypeMeta        = 1
	unknownRaw             = 2
	unknownContentEncoding = 3
	unknownContentType     = 4
	typeMetaAPIVersion     = 1
	typeMetaKind           = 2
)

// envelopeEnd are the two empty fields that servers write behind the object.
const envelopeEnd = "\x1a\x00\x22\x00"

// openEnvelope is the message in an envelope, which is of v1 and the kind that
// is returned. The message lies within data.
func openEnvelope(data []byte) (kind string, message []byte, err error) {
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		return "", nil, errors.New("not a protobuf object: no envelope")
	}
	var version string
	for f, err := range fields(rest) {
		if err != nil {
			return "", nil, fmt.Errorf("envelope: %w", err)
		}
		if f.number > unknownContentType {
			continue
		}
		if err := f.want(protowire.BytesType); err != nil {
			return "", nil, fmt.Errorf("envelope: %w", err)
		}
		switch f.number {
		case unknownTypeMeta:
			if err := readTypeMeta(f.bytes, &version, &kind); err != nil {
				return "", nil, fmt.Errorf("envelope: type: %w", err)
			}
		case unknownRaw:
			message = f.bytes
		case unknownContentEncoding:
			if len(f.bytes) > 0 {
				return "", nil, errors.New("envelope: content has an encoding of its own")
			}
		case unknownContentType:
			if len(f.bytes) > 0 && string(f.bytes) != typeProtobuf {
				return "", nil, errors.New("envelope: content is not protobuf")
			}
		}
	}
	if version != apiVersion {
		return "", nil, errors.New("envelope: not an object of v1")
	}
	return kind, message, nil
}

func readTypeMeta(message []byte, version, kind *string) error {
	for f, err := range fields(message) {
		if err != nil {
			return err
		}
		var to *string
		switch f.number {
		case typeMetaAPIVersion:
			to = version
		case typeMetaKind:
			to = kind
		default:
			continue
		}
		if err := f.want(protowire.BytesType); err != nil {
			return err
		}
		*to = string(f.bytes)
	}
	return nil
}

// sizeEnvelope is the length of an envelope around a message of n bytes.
func sizeEnvelope(kind string, n int) int {
	return len(magic) + sizeField(sizeTypeMeta(kind)) + sizeField(n) + len(envelopeEnd)
}

func sizeTypeMeta(kind string) int { return sizeField(len(apiVersion)) + sizeField(len(kind)) }

// appendEnvelopeStart is the part before a message of n bytes. envelopeEnd
// follows the message.
func appendEnvelopeStart(dst []byte, kind string, n int) []byte {
	dst = append(dst, magic...)
	dst = appendLength(dst, unknownTypeMeta, sizeTypeMeta(kind))
	dst = appendString(dst, typeMetaAPIVersion, apiVersion)
	dst = appendString(dst, typeMetaKind, kind)
	return appendLength(dst, unknownRaw, n)
}

func appendEnvelope(dst []byte, kind string, message []byte) []byte {
	dst = appendEnvelopeStart(dst, kind, len(message))
	dst = append(dst, message...)
	return append(dst, envelopeEnd...)
}
