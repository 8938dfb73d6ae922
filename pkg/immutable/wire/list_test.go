package wire

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
)

func TestAServersListIsReadAndWrittenAgainByteForByte(t *testing.T) {
	o := newOracle(t)
	rapid.Check(t, func(t *rapid.T) {
		s := anyObject().Draw(t, "object")
		present := rapid.Bool().Draw(t, "present")
		version := rapid.StringMatching(`[1-9][0-9]{0,18}`).Draw(t, "version")
		body := o.encode(t, Protobuf, s.list(version, present))
		kept := bytes.Clone(body)

		gotVersion, items, err := DecodeList(s.resource, body)
		if err != nil {
			t.Fatal(err)
		}
		clear(body) // the reader's buffer is used again
		if gotVersion != version || (len(items) == 1) != present {
			t.Fatalf("version %s, %d items; sent version %s, present %t", gotVersion, len(items), version, present)
		}
		if present {
			s.check(t, items[0])
		}
		for _, enc := range bothEncodings {
			got, err := EncodeList(enc, s.resource, version, items...)
			if err != nil {
				t.Fatal(err)
			}
			want := o.encode(t, enc, s.list(version, present))
			if enc == Protobuf {
				want = kept
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%s list of %s\n got %q\nwant %q", enc, s.resource, got, want)
			}
		}
	})
}

// withFuture adds fields that no type of this release has: to the object, to its
// metadata, and a metadata message of its own, which decoders merge.
func withFuture(t *rapid.T, message []byte) []byte {
	odd := protowire.AppendString(protowire.AppendTag(nil, 77, protowire.BytesType), rapid.String().Draw(t, "future"))
	odd = protowire.AppendVarint(protowire.AppendTag(odd, 78, protowire.VarintType), rapid.Uint64().Draw(t, "number"))
	odd = protowire.AppendFixed64(protowire.AppendTag(odd, 79, protowire.Fixed64Type), 1)
	odd = protowire.AppendFixed32(protowire.AppendTag(odd, 80, protowire.Fixed32Type), 1)
	var out []byte
	for f, err := range fields(message) {
		if err != nil {
			t.Fatal(err)
		}
		if f.number == objectMeta {
			out = appendField(out, objectMeta, slices.Concat(odd, f.bytes, odd))
		} else {
			out = append(out, f.raw...)
		}
	}
	out = append(out, odd...)
	if rapid.Bool().Draw(t, "split") {
		out = appendField(out, objectMeta, odd)
	}
	return out
}

func TestFieldsOfALaterReleaseReachTheClient(t *testing.T) {
	o := newOracle(t)
	rapid.Check(t, func(t *rapid.T) {
		s := anyObject().Draw(t, "object")
		s.message = withFuture(t, s.message)
		body, err := EncodeList(Protobuf, s.resource, "9", &Object{Protobuf: s.message})
		if err != nil {
			t.Fatal(err)
		}
		_, items, err := DecodeList(s.resource, body)
		if err != nil {
			t.Fatal(err)
		}
		s.check(t, items[0])

		later, err := items[0].WithResourceVersion("18446744073709551615")
		if err != nil {
			t.Fatal(err)
		}
		back, err := later.WithResourceVersion(s.meta.ResourceVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []*Object{items[0], later, back} {
			for _, enc := range bothEncodings {
				body, err := EncodeList(enc, s.resource, "9", c)
				if err != nil {
					t.Fatal(err)
				}
				decoded, _, err := o.codecs.UniversalDeserializer().Decode(body, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				want := s.typed.DeepCopyObject()
				want.(metav1.Object).SetResourceVersion(c.ResourceVersion)
				if got := onlyItem(t, decoded); !equality.Semantic.DeepEqual(got, want) {
					t.Fatalf("%s: a client reads\n%v\nwant\n%v", enc, got, want)
				}
			}
		}
		if count(later.Protobuf, 77) != count(s.message, 77) || count(back.Protobuf, 79) != count(s.message, 79) {
			t.Fatal("another resourceVersion lost a field of a later release")
		}
	})
}

// count counts fields of a number in a message and in its metadata.
func count(message []byte, number protowire.Number) (n int) {
	for f := range fields(message) {
		if f.number == number {
			n++
		}
		if f.number == objectMeta {
			for inner := range fields(f.bytes) {
				if inner.number == number {
					n++
				}
			}
		}
	}
	return n
}

func TestAListThatIsNotTheOneAskedForIsRefused(t *testing.T) {
	o := newOracle(t)
	s := objects(Secrets).Example(1)
	s.meta.ResourceVersion = "5"
	good := o.encode(t, Protobuf, s.list("7", true))
	item := func(message []byte) []byte {
		body, err := EncodeList(Protobuf, Secrets, "7", &Object{Protobuf: message})
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	version := func(list string) []byte {
		body, err := EncodeList(Protobuf, Secrets, list)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	metadata := func(name, uid, version string) []byte {
		m := appendString(appendString(appendString(appendString(nil, metaName, name), metaNamespace, "ns"), metaUID, uid), metaResourceVersion, version)
		return appendField(nil, objectMeta, m)
	}
	pages := s.list("7", true)
	pages.(metav1.ListInterface).SetContinue("more")
	for name, body := range map[string][]byte{
		"nothing":                {},
		"only the magic":         []byte(magic),
		"JSON":                   o.encode(t, JSON, s.list("7", true)),
		"a ConfigMapList":        o.encode(t, Protobuf, stored{resource: ConfigMaps}.list("7", false)),
		"one Secret":             o.encode(t, Protobuf, s.typed),
		"a cut list":             good[:len(good)/2],
		"further pages":          o.encode(t, Protobuf, pages),
		"no name":                item(metadata("", "u", "5")),
		"no UID":                 item(metadata("n", "", "5")),
		"no version":             item(metadata("n", "u", "")),
		"a version of letters":   item(metadata("n", "u", "a5")),
		"a version of zero":      item(metadata("n", "u", "0")),
		"metadata of a number":   item(protowire.AppendVarint(protowire.AppendTag(nil, objectMeta, protowire.VarintType), 1)),
		"a list without version": version(""),
		"a list of version zero": version("0"),
		"a list of version 007":  version("007"),
		"a version of 21 digits": version("100000000000000000000"),
		"a version past 64 bits": version("18446744073709551616"),
	} {
		if _, items, err := DecodeList(Secrets, body); err == nil {
			t.Errorf("%s was read as %v", name, items)
		}
	}
	for _, body := range [][]byte{version("x"), item(metadata("n", "u", "x"))} {
		if _, _, err := DecodeList(Secrets, body); !errors.Is(err, ErrResourceVersion) {
			t.Errorf("a version that is no number gives %v", err)
		}
	}
	many, err := EncodeList(Protobuf, Secrets, "7", slices.Repeat([]*Object{{Protobuf: metadata("n", "u", "5")}}, maxItems+1)...)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := DecodeList(Secrets, many); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%d items give %v", maxItems+1, err)
	}
}

// onlyItem is the one item of a list, which carries no kind.
func onlyItem(t rapid.TB, list runtime.Object) runtime.Object {
	t.Helper()
	items, err := meta.ExtractList(list)
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	return items[0]
}
