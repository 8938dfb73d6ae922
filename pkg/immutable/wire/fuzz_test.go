package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime/metrics"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// allocated is how much memory was ever taken from the heap, in bytes.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// bounded fails if reading took far more memory than there were bytes to read.
func bounded(t *testing.T, before uint64, length int) {
	t.Helper()
	if used, most := allocated()-before, uint64(1<<20+100*length); used > most {
		t.Errorf("%d bytes of input took %d bytes of memory", length, used)
	}
}

func FuzzDecodeList(f *testing.F) {
	o := newOracle(f)
	for i := range 4 {
		for _, resource := range []Resource{Secrets, ConfigMaps} {
			s := objects(resource).Example(i)
			f.Add(o.encode(f, Protobuf, s.list("7", i > 0)), resource == Secrets)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, secrets bool) {
		resource := ConfigMaps
		if secrets {
			resource = Secrets
		}
		before := allocated()
		version, items, err := DecodeList(resource, body)
		bounded(t, before, len(body))
		if err != nil {
			return
		}
		for _, enc := range bothEncodings {
			// Data that is damaged beyond the fields that are read is found when
			// the typed object is needed.
			out, err := EncodeList(enc, resource, version, items...)
			if err != nil && enc == Protobuf {
				t.Fatal(err)
			}
			if enc == JSON || err != nil {
				continue
			}
			again, same, err := DecodeList(resource, out)
			if err != nil || again != version || len(same) != len(items) {
				t.Fatalf("written again: %s, %d items, %v", again, len(same), err)
			}
			for i := range items {
				if items[i].String() != same[i].String() || !bytes.Equal(items[i].Protobuf, same[i].Protobuf) {
					t.Fatalf("written again: %v became %v", items[i], same[i])
				}
			}
		}
		decoded, _, err := o.codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return
		}
		list, err := meta.ListAccessor(decoded)
		if err != nil || list.GetResourceVersion() != version {
			t.Fatalf("a client reads another version than %s: %v", version, err)
		}
		theirs, err := meta.ExtractList(decoded)
		if err != nil || len(theirs) != len(items) {
			t.Fatalf("a client reads %d items, not %d: %v", len(theirs), len(items), err)
		}
		for i, item := range theirs {
			m := item.(metav1.Object)
			var immutable *bool
			switch typed := item.(type) {
			case *corev1.Secret:
				immutable = typed.Immutable
			case *corev1.ConfigMap:
				immutable = typed.Immutable
			}
			if m.GetName() != items[i].Name || m.GetNamespace() != items[i].Namespace || string(m.GetUID()) != items[i].UID ||
				m.GetResourceVersion() != items[i].ResourceVersion || (immutable != nil && *immutable) != items[i].Immutable {
				t.Fatalf("a client reads %v, not %v", item, items[i])
			}
			later, err := items[i].WithResourceVersion("12345678901234567890")
			if err != nil {
				t.Fatal(err)
			}
			reread, err := readObject(resource, later.Protobuf)
			if err != nil || reread.String() != later.String() {
				t.Fatalf("%v with another version is read as %v, %v", later, reread, err)
			}
		}
	})
}

func FuzzEventReader(f *testing.F) {
	o := newOracle(f)
	secret := objects(Secrets).Example(2)
	var stream []byte
	for _, what := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		one := o.event(f, Protobuf, what, secret.typed)
		f.Add(one)
		stream = append(stream, one...)
	}
	f.Add(append(stream, o.event(f, Protobuf, watch.Bookmark, bookmark(Secrets, "88", true))...))
	f.Add(o.event(f, Protobuf, watch.Error, gone()))
	f.Add(binary.BigEndian.AppendUint32(nil, MaxFrame))
	f.Fuzz(func(t *testing.T, stream []byte) {
		before := allocated()
		reader := NewEventReader(Secrets, bytes.NewReader(stream))
		client := o.decoder(t, Protobuf, bytes.NewReader(stream))
		defer client.Close()
		for {
			event, err := reader.Next()
			if err != nil {
				if err == io.EOF != errors.Is(err, io.EOF) {
					t.Fatalf("an end that callers would not know: %v", err)
				}
				break
			}
			what, object, err := client.Decode()
			if err != nil {
				break
			}
			if what != event.Type {
				t.Fatalf("a client reads %s, not %s", what, event.Type)
			}
			if m, ok := object.(metav1.Object); ok && m.GetResourceVersion() != event.ResourceVersion {
				t.Fatalf("a client reads version %s, not %s", m.GetResourceVersion(), event.ResourceVersion)
			}
		}
		bounded(t, before, 4*len(stream))
	})
}

func FuzzNegotiate(f *testing.F) {
	f.Add("application/vnd.kubernetes.protobuf,application/json")
	f.Add("application/json;as=Table;v=v1;g=meta.k8s.io,*/*;q=0.1")
	f.Fuzz(func(t *testing.T, accept string) {
		if enc, ok := Negotiate(accept); ok != (enc == JSON || enc == Protobuf) {
			t.Fatalf("%s, %t", enc, ok)
		}
	})
}
