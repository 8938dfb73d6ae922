package wire

import (
	"bytes"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// sized is a Secret with so many bytes of data.
func sized(bytes int) stored {
	return stored{resource: Secrets, typed: &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Namespace: "ns", UID: "5f1c1c56-95b5-4d44-a3b5-1f6d1a7a4d1f", ResourceVersion: "4711"},
		Immutable:  yes(), Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{"a": make([]byte, bytes/2), "b": make([]byte, bytes-bytes/2)},
	}}
}

func eachSize(b *testing.B, run func(b *testing.B, s stored)) {
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			run(b, sized(size))
		})
	}
}

func BenchmarkDecodeList(b *testing.B) {
	eachSize(b, func(b *testing.B, s stored) {
		body := newOracle(b).encode(b, Protobuf, s.list("7", true))
		for b.Loop() {
			if _, _, err := DecodeList(Secrets, body); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkNextEvent(b *testing.B) {
	eachSize(b, func(b *testing.B, s stored) {
		event := newOracle(b).event(b, Protobuf, watch.Modified, s.typed)
		for b.Loop() {
			if _, err := NewEventReader(Secrets, bytes.NewReader(event)).Next(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncodeList(b *testing.B) {
	for _, enc := range bothEncodings {
		b.Run(enc.String(), func(b *testing.B) {
			eachSize(b, func(b *testing.B, s stored) {
				o := object(b, s)
				for b.Loop() {
					if _, err := EncodeList(enc, Secrets, "7", o); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

func BenchmarkEncodeEvent(b *testing.B) {
	for _, enc := range bothEncodings {
		b.Run(enc.String(), func(b *testing.B) {
			eachSize(b, func(b *testing.B, s stored) {
				o := object(b, s)
				for b.Loop() {
					if _, err := EncodeEvent(enc, Secrets, watch.Added, o); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

func BenchmarkEncodeBookmark(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := EncodeBookmark(Protobuf, Secrets, "4711", true); err != nil {
			b.Fatal(err)
		}
	}
}

func object(b *testing.B, s stored) *Object {
	b.Helper()
	message, err := s.typed.(*corev1.Secret).Marshal()
	if err != nil {
		b.Fatal(err)
	}
	o, err := readObject(Secrets, message)
	if err != nil {
		b.Fatal(err)
	}
	return o
}
