package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"pgregory.net/rapid"
)

func changes() *rapid.Generator[watch.EventType] {
	return rapid.SampledFrom([]watch.EventType{watch.Added, watch.Modified, watch.Deleted})
}

// bookmark is what an API server sends as one.
func bookmark(resource Resource, version string, initialEventsEnd bool) runtime.Object {
	meta := metav1.ObjectMeta{ResourceVersion: version}
	if initialEventsEnd {
		meta.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	if resource == Secrets {
		return &corev1.Secret{ObjectMeta: meta}
	}
	return &corev1.ConfigMap{ObjectMeta: meta}
}

func gone() *metav1.Status {
	status := apierrors.NewResourceExpired("too old resource version: 3596 (3622)").Status()
	return &status
}

func TestAServersStreamIsReadAndWrittenAgainByteForByte(t *testing.T) {
	o := newOracle(t)
	rapid.Check(t, func(t *rapid.T) {
		resource := rapid.SampledFrom([]Resource{Secrets, ConfigMaps}).Draw(t, "resource")
		sent := map[Encoding]*bytes.Buffer{JSON: {}, Protobuf: {}}
		written := map[Encoding]*bytes.Buffer{JSON: {}, Protobuf: {}}
		send := func(what watch.EventType, object runtime.Object) {
			for _, enc := range bothEncodings {
				sent[enc].Write(o.event(t, enc, what, object))
			}
		}
		var want []Event
		var all []stored
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			if rapid.IntRange(0, 3).Draw(t, "kind") == 3 {
				end := rapid.Bool().Draw(t, "end")
				send(watch.Bookmark, bookmark(resource, "88", end))
				want = append(want, Event{Type: watch.Bookmark, ResourceVersion: "88", InitialEventsEnd: end})
				all = append(all, stored{})
				continue
			}
			what, s := changes().Draw(t, "what"), objects(resource).Draw(t, "object")
			send(what, s.typed)
			want = append(want, Event{Type: what, ResourceVersion: s.meta.ResourceVersion})
			all = append(all, s)
		}
		send(watch.Error, gone())

		stream := io.Reader(bytes.NewReader(sent[Protobuf].Bytes()))
		if rapid.Bool().Draw(t, "slow") {
			stream = iotest.OneByteReader(stream)
		}
		reader := NewEventReader(resource, stream)
		for i, w := range want {
			got, err := reader.Next()
			if err != nil {
				t.Fatal(err)
			}
			if got.Object != nil {
				all[i].check(t, got.Object)
			}
			for _, enc := range bothEncodings {
				var out []byte
				if got.Type == watch.Bookmark {
					out, err = EncodeBookmark(enc, resource, got.ResourceVersion, got.InitialEventsEnd)
				} else {
					out, err = EncodeEvent(enc, resource, got.Type, got.Object)
				}
				if err != nil {
					t.Fatal(err)
				}
				written[enc].Write(out)
			}
			if got.Object = nil; got != w {
				t.Fatalf("event %d is %+v, want %+v", i, got, w)
			}
		}
		last, err := reader.Next()
		if err != nil || last.Type != watch.Error || last.Status.Code != http.StatusGone {
			t.Fatalf("last event %+v, %v", last, err)
		}
		for _, enc := range bothEncodings {
			out, err := EncodeErrorEvent(enc, last.Status)
			if err != nil {
				t.Fatal(err)
			}
			written[enc].Write(out)
			if !bytes.Equal(written[enc].Bytes(), sent[enc].Bytes()) {
				t.Fatalf("%s stream of %s\n got %q\nwant %q", enc, resource, written[enc].Bytes(), sent[enc].Bytes())
			}
		}
		if _, err := reader.Next(); err != io.EOF {
			t.Fatalf("after the last event: %v", err)
		}
	})
}

func TestAClientReadsTheStreamThatIsWritten(t *testing.T) {
	o := newOracle(t)
	rapid.Check(t, func(t *rapid.T) {
		s := anyObject().Draw(t, "object")
		s.message = withFuture(t, s.message)
		enc := rapid.SampledFrom(bothEncodings).Draw(t, "encoding")
		object, err := readObject(s.resource, s.message)
		if err != nil {
			t.Fatal(err)
		}
		added, err1 := EncodeEvent(enc, s.resource, watch.Added, object)
		mark, err2 := EncodeBookmark(enc, s.resource, "99", true)
		end, err3 := EncodeErrorEvent(enc, gone())
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		client := o.decoder(t, enc, io.MultiReader(bytes.NewReader(added), bytes.NewReader(mark), bytes.NewReader(end)))
		defer client.Close()

		what, got, err := client.Decode()
		if err != nil || what != watch.Added || !equality.Semantic.DeepEqual(untyped(got), untyped(s.typed)) {
			t.Fatalf("first event %s, %v:\n%v\nwant\n%v", what, err, got, s.typed)
		}
		what, got, err = client.Decode()
		if err != nil || what != watch.Bookmark || !equality.Semantic.DeepEqual(untyped(got), bookmark(s.resource, "99", true)) {
			t.Fatalf("second event %s, %v: %v", what, err, got)
		}
		what, got, err = client.Decode()
		if err != nil || what != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(got)) {
			t.Fatalf("third event %s, %v: %v", what, err, got)
		}
	})
}

// untyped is an object without its kind, which decoders set.
func untyped(object runtime.Object) runtime.Object {
	object = object.DeepCopyObject()
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return object
}

func TestABookmarkWithoutAUsableVersionIsNeverWritten(t *testing.T) {
	for _, version := range []string{"", "0", "abc", "-1"} {
		if _, err := EncodeBookmark(Protobuf, Secrets, version, true); !errors.Is(err, ErrResourceVersion) {
			t.Errorf("version %q gives %v", version, err)
		}
	}
}

func TestAnEventThatNoClientCouldReadIsNeverWritten(t *testing.T) {
	if _, err := EncodeEvent(Protobuf, Secrets, watch.Added, &Object{Protobuf: make([]byte, MaxFrame)}); err == nil {
		t.Error("an event of more than 16 MiB was written")
	}
}

func TestABrokenStreamEndsWithAnError(t *testing.T) {
	o := newOracle(t)
	secret := objects(Secrets).Example(3)
	good := o.event(t, Protobuf, watch.Added, secret.typed)
	frameOf := func(message []byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
	}
	for _, c := range []struct {
		name   string
		stream []byte
		want   error
	}{
		{"nothing", nil, io.EOF},
		{"half a length", good[:2], io.ErrUnexpectedEOF},
		{"a length alone", good[:4], io.ErrUnexpectedEOF},
		{"half an event", good[:len(good)/2], io.ErrUnexpectedEOF},
		{"a length past the bound", []byte{1, 0, 0, 1, 0}, ErrFrameTooLong},
		{"JSON", o.event(t, JSON, watch.Added, secret.typed), ErrFrameTooLong},
		{"an empty frame", make([]byte, 4), nil},
		{"no object", frameOf(appendString(nil, eventType, "ADDED")), nil},
		{"an unknown type", o.event(t, Protobuf, "RENAMED", secret.typed), nil},
		{"another kind", o.event(t, Protobuf, watch.Added, &corev1.Pod{}), nil},
		{"a bookmark of another kind", o.event(t, Protobuf, watch.Bookmark, bookmark(ConfigMaps, "7", true)), nil},
		{"a bookmark without a version", o.event(t, Protobuf, watch.Bookmark, bookmark(Secrets, "", true)), ErrResourceVersion},
		{"a bookmark of version zero", o.event(t, Protobuf, watch.Bookmark, bookmark(Secrets, "0", true)), ErrResourceVersion},
		{"an object without a name", o.event(t, Protobuf, watch.Added, bookmark(Secrets, "7", true)), nil},
		{"an error that is no Status", o.event(t, Protobuf, watch.Error, secret.typed), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			event, err := NewEventReader(Secrets, bytes.NewReader(c.stream)).Next()
			if err == nil {
				t.Fatalf("read as %+v", event)
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if errors.Is(err, io.EOF) != (c.want == io.EOF) {
				t.Errorf("%v is taken for a clean end", err)
			}
		})
	}
}

func TestAnAnnouncedLengthThatIsNeverSentTakesNoMemory(t *testing.T) {
	stream := binary.BigEndian.AppendUint32(nil, MaxFrame)
	reader := NewEventReader(Secrets, bytes.NewReader(append(stream, make([]byte, 100)...)))
	if _, err := reader.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	if cap(reader.buffer) > readStep {
		t.Errorf("%d bytes were taken for an event of 100", cap(reader.buffer))
	}
}

func TestAnIdleReaderKeepsNoLargeBuffer(t *testing.T) {
	o := newOracle(t)
	large := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "n", Namespace: "ns", UID: "u", ResourceVersion: "5"}, Data: map[string][]byte{"k": make([]byte, 1<<20)}}
	reader := NewEventReader(Secrets, bytes.NewReader(o.event(t, Protobuf, watch.Added, large)))
	event, err := reader.Next()
	if err != nil || len(event.Object.Protobuf) < 1<<20 {
		t.Fatalf("%v, %v", event, err)
	}
	if cap(reader.buffer) > keepBuffer {
		t.Errorf("%d bytes are kept", cap(reader.buffer))
	}
}

func TestARefusalIsReadInEitherEncoding(t *testing.T) {
	o := newOracle(t)
	refusal := apierrors.NewForbidden(corev1.Resource("secrets"), "x", errors.New("no relationship found between node 'n1' and this object")).Status()
	for _, enc := range bothEncodings {
		body, err := EncodeStatus(enc, &refusal)
		if err != nil {
			t.Fatal(err)
		}
		if want := o.encode(t, enc, &refusal); !bytes.Equal(body, want) {
			t.Errorf("%s\n got %q\nwant %q", enc, body, want)
		}
		got, err := DecodeStatus(body)
		if err != nil {
			t.Fatal(err)
		}
		got.TypeMeta = refusal.TypeMeta
		if diff := cmp.Diff(&refusal, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", enc, diff)
		}
	}
	for name, body := range map[string][]byte{
		"a page of a load balancer": []byte("<html>503</html>"),
		"nothing":                   nil,
		"JSON of something else":    []byte(`{"kind":"Pod"}`),
		"a Secret":                  o.encode(t, Protobuf, objects(Secrets).Example(1).typed),
		"a cut Status":              o.encode(t, Protobuf, &refusal)[:20],
	} {
		if status, err := DecodeStatus(body); err == nil {
			t.Errorf("%s was read as %v", name, status)
		}
	}
}

func TestAnErrorSaysNothingOfTheData(t *testing.T) {
	const hidden = "hunter2-hunter2-hunter2"
	o := newOracle(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "n", Namespace: "ns", UID: "u", ResourceVersion: "5"}, Data: map[string][]byte{"k": []byte(hidden)}}
	good := o.encode(t, Protobuf, stored{resource: Secrets, typed: secret}.list("7", true))
	event := o.event(t, Protobuf, watch.Added, secret)
	failed := 0
	for i := range max(len(good), len(event)) {
		for _, change := range []byte{0x01, 0x08, 0x80, 0xff} {
			if i < len(good) {
				bad := bytes.Clone(good)
				bad[i] ^= change
				_, items, err := DecodeList(Secrets, bad)
				if err != nil {
					failed++
				} else if len(items) == 1 {
					_, err = EncodeList(JSON, Secrets, "7", items...)
				}
				if err != nil && strings.Contains(err.Error(), "hunter2") {
					t.Fatalf("list: %v", err)
				}
			}
			if i < len(event) {
				bad := bytes.Clone(event)
				bad[i] ^= change
				if _, err := NewEventReader(Secrets, bytes.NewReader(bad)).Next(); err != nil && strings.Contains(err.Error(), "hunter2") {
					t.Fatalf("event: %v", err)
				}
			}
		}
	}
	if failed == 0 {
		t.Error("no damage was noticed, so no error was looked at")
	}
}
