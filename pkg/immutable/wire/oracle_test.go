package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"
	"pgregory.net/rapid"
)

var bothEncodings = []Encoding{JSON, Protobuf}

// oracle encodes and decodes with the serializers that API servers and clients
// use.
type oracle struct{ codecs serializer.CodecFactory }

func newOracle(t testing.TB) oracle {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return oracle{codecs: serializer.NewCodecFactory(scheme)}
}

func (o oracle) info(t rapid.TB, enc Encoding) runtime.SerializerInfo {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(o.codecs.SupportedMediaTypes(), enc.ContentType())
	if !ok {
		t.Fatalf("no serializer for %s", enc)
	}
	return info
}

// encode is what an API server writes for one object or list.
func (o oracle) encode(t rapid.TB, enc Encoding, object runtime.Object) []byte {
	t.Helper()
	encoder := o.codecs.EncoderForVersion(o.info(t, enc).Serializer, corev1.SchemeGroupVersion)
	out, err := runtime.Encode(encoder, object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// event is what an API server writes for one event of a watch.
func (o oracle) event(t rapid.TB, enc Encoding, what watch.EventType, object runtime.Object) []byte {
	t.Helper()
	info := o.info(t, enc)
	var out bytes.Buffer
	outer := o.codecs.EncoderForVersion(info.StreamSerializer.Serializer, corev1.SchemeGroupVersion)
	inner := o.codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
	encoder := restwatch.NewEncoder(streaming.NewEncoder(info.StreamSerializer.Framer.NewFrameWriter(&out), outer), inner)
	if err := encoder.Encode(&watch.Event{Type: what, Object: object}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// decoder is the one that client-go reads a watch with.
func (o oracle) decoder(t rapid.TB, enc Encoding, stream io.Reader) *restwatch.Decoder {
	t.Helper()
	info := o.info(t, enc)
	frames := info.StreamSerializer.Framer.NewFrameReader(io.NopCloser(stream))
	return restwatch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), o.codecs.UniversalDeserializer())
}

// metas are metadata as API servers keep them.
func metas() *rapid.Generator[metav1.ObjectMeta] {
	name := rapid.StringMatching(`[a-z][a-z0-9.-]{0,20}[a-z0-9]`)
	return rapid.Custom(func(t *rapid.T) metav1.ObjectMeta {
		meta := metav1.ObjectMeta{
			Name:              name.Draw(t, "name"),
			Namespace:         rapid.StringMatching(`[a-z]{1,10}`).Draw(t, "namespace"),
			UID:               types.UID(rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}`).Draw(t, "uid")),
			ResourceVersion:   rapid.StringMatching(`[1-9][0-9]{0,18}`).Draw(t, "version"),
			Generation:        rapid.Int64Range(0, 5).Draw(t, "generation"),
			CreationTimestamp: metav1.Unix(rapid.Int64Range(1, 4e9).Draw(t, "created"), 0),
			Labels:            rapid.MapOfN(name, rapid.String(), 0, 3).Draw(t, "labels"),
			Annotations:       rapid.MapOfN(name, rapid.String(), 0, 3).Draw(t, "annotations"),
			Finalizers:        rapid.SliceOfN(name, 0, 2).Draw(t, "finalizers"),
		}
		if rapid.Bool().Draw(t, "managed") {
			fields, err := json.Marshal(map[string]any{"f:data": map[string]any{".": map[string]any{}, "f:" + name.Draw(t, "field"): map[string]any{}}})
			if err != nil {
				t.Fatal(err)
			}
			written := metav1.Unix(rapid.Int64Range(1, 4e9).Draw(t, "written"), 0)
			meta.ManagedFields = []metav1.ManagedFieldsEntry{{
				Manager: rapid.String().Draw(t, "manager"), Operation: metav1.ManagedFieldsOperationApply,
				APIVersion: "v1", Time: &written, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(fields)),
			}}
		}
		if rapid.Bool().Draw(t, "owned") {
			yes := true
			meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u", Controller: &yes}}
		}
		if rapid.Bool().Draw(t, "terminating") {
			end, grace := metav1.NewTime(time.Unix(1700000000, 0)), int64(30)
			meta.DeletionTimestamp, meta.DeletionGracePeriodSeconds = &end, &grace
		}
		return meta
	})
}

// stored is an object of the API server: its message, and what it reads from
// it.
type stored struct {
	resource  Resource
	typed     runtime.Object
	meta      metav1.ObjectMeta
	immutable bool
	message   []byte
}

func keys() *rapid.Generator[string] { return rapid.StringMatching(`[a-zA-Z0-9._-]{1,12}`) }

// objects are Secrets and ConfigMaps of every form.
func objects(resource Resource) *rapid.Generator[stored] {
	return rapid.Custom(func(t *rapid.T) stored {
		s := stored{resource: resource, meta: metas().Draw(t, "meta")}
		immutable := rapid.SampledFrom([]*bool{nil, new(bool), yes()}).Draw(t, "immutable")
		s.immutable = immutable != nil && *immutable
		binary := rapid.MapOfN(keys(), rapid.SliceOfN(rapid.Byte(), 0, 40), 0, 4)
		var err error
		if resource == Secrets {
			secret := &corev1.Secret{ObjectMeta: s.meta, Immutable: immutable, Data: binary.Draw(t, "data"),
				Type: rapid.SampledFrom([]corev1.SecretType{corev1.SecretTypeOpaque, corev1.SecretTypeDockerConfigJson}).Draw(t, "type")}
			s.message, err = secret.Marshal()
			s.typed = &corev1.Secret{}
		} else {
			configMap := &corev1.ConfigMap{ObjectMeta: s.meta, Immutable: immutable,
				Data: rapid.MapOfN(keys(), rapid.String(), 0, 4).Draw(t, "data"), BinaryData: binary.Draw(t, "binaryData")}
			s.message, err = configMap.Marshal()
			s.typed = &corev1.ConfigMap{}
		}
		if err != nil {
			t.Fatal(err)
		}
		// An API server reads its objects from etcd in this form.
		if err := s.typed.(interface{ Unmarshal([]byte) error }).Unmarshal(s.message); err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func anyObject() *rapid.Generator[stored] {
	return rapid.Custom(func(t *rapid.T) stored {
		return objects(rapid.SampledFrom([]Resource{Secrets, ConfigMaps}).Draw(t, "resource")).Draw(t, "object")
	})
}

func yes() *bool { v := true; return &v }

// list is the object in a typed list, or an empty one.
func (s stored) list(version string, present bool) runtime.Object {
	meta := metav1.ListMeta{ResourceVersion: version}
	if s.resource == Secrets {
		l := &corev1.SecretList{ListMeta: meta, Items: []corev1.Secret{}}
		if present {
			l.Items = append(l.Items, *s.typed.(*corev1.Secret))
		}
		return l
	}
	l := &corev1.ConfigMapList{ListMeta: meta, Items: []corev1.ConfigMap{}}
	if present {
		l.Items = append(l.Items, *s.typed.(*corev1.ConfigMap))
	}
	return l
}

// check compares what was read with what was stored.
func (s stored) check(t rapid.TB, got *Object) {
	t.Helper()
	if got.Name != s.meta.Name || got.Namespace != s.meta.Namespace || got.UID != string(s.meta.UID) ||
		got.ResourceVersion != s.meta.ResourceVersion || got.Immutable != s.immutable {
		t.Fatalf("read %v of metadata %v", got, s.meta)
	}
	if !bytes.Equal(got.Protobuf, s.message) {
		t.Fatalf("the message of %v is not the one that was sent", got)
	}
}
