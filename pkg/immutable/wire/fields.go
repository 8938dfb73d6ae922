package wire

import (
	"fmt"
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a message. Its slices lie within the message.
type field struct {
	number protowire.Number
	kind   protowire.Type
	raw    []byte // tag and value
	bytes  []byte // the value, of protowire.BytesType
	varint uint64 // the value, of protowire.VarintType
}

// fields are a message's fields in the order in which they stand. After an
// error there are no more.
func fields(message []byte) iter.Seq2[field, error] {
	return func(yield func(field, error) bool) {
		for len(message) > 0 {
			f, err := firstField(message)
			if err != nil {
				yield(field{}, err)
				return
			}
			message = message[len(f.raw):]
			if !yield(f, nil) {
				return
			}
		}
	}
}

func firstField(message []byte) (field, error) {
	number, kind, tag := protowire.ConsumeTag(message)
	if tag < 0 {
		return field{}, protowire.ParseError(tag)
	}
	value := protowire.ConsumeFieldValue(number, kind, message[tag:])
	if value < 0 {
		return field{}, protowire.ParseError(value)
	}
	f := field{number: number, kind: kind, raw: message[:tag+value]}
	switch kind {
	case protowire.BytesType:
		f.bytes, _ = protowire.ConsumeBytes(message[tag:])
	case protowire.VarintType:
		f.varint, _ = protowire.ConsumeVarint(message[tag:])
	}
	return f, nil
}

// want refuses a field of another wire type, as the generated decoders do.
func (f field) want(kind protowire.Type) error {
	if f.kind != kind {
		return fmt.Errorf("field %d has wire type %d", f.number, f.kind)
	}
	return nil
}

// sizeField is the length of a field of so many bytes with a one-byte tag.
func sizeField(n int) int { return 1 + protowire.SizeBytes(n) }

func appendField(dst []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, number, protowire.BytesType), value)
}

func appendString(dst []byte, number protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, number, protowire.BytesType), value)
}

// appendLength opens a field whose value of so many bytes the caller appends.
func appendLength(dst []byte, number protowire.Number, n int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.BytesType), uint64(n))
}
