package wire

import (
	"bytes"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/watch"
)

// listJSON writes a list as a server does: the list has a kind, its items have
// none.
func listJSON(resource Resource, version string, items []*Object) ([]byte, error) {
	meta := metav1.ListMeta{ResourceVersion: version}
	if resource == Secrets {
		list := &corev1.SecretList{TypeMeta: typeMeta(resource.listKind()), ListMeta: meta, Items: make([]corev1.Secret, len(items))}
		for i, o := range items {
			if err := list.Items[i].Unmarshal(o.Protobuf); err != nil {
				return nil, err
			}
		}
		return encodeJSON(list)
	}
	list := &corev1.ConfigMapList{TypeMeta: typeMeta(resource.listKind()), ListMeta: meta, Items: make([]corev1.ConfigMap, len(items))}
	for i, o := range items {
		if err := list.Items[i].Unmarshal(o.Protobuf); err != nil {
			return nil, err
		}
	}
	return encodeJSON(list)
}

// eventJSON writes an event, whose object has a kind.
func eventJSON(resource Resource, what watch.EventType, message []byte) ([]byte, error) {
	object, err := objectJSON(resource, message)
	if err != nil {
		return nil, err
	}
	return watchEventJSON(what, object)
}

func objectJSON(resource Resource, message []byte) ([]byte, error) {
	if resource == Secrets {
		secret := &corev1.Secret{}
		if err := secret.Unmarshal(message); err != nil {
			return nil, err
		}
		secret.TypeMeta = typeMeta(resource.kind())
		return encodeJSON(secret)
	}
	configMap := &corev1.ConfigMap{}
	if err := configMap.Unmarshal(message); err != nil {
		return nil, err
	}
	configMap.TypeMeta = typeMeta(resource.kind())
	return encodeJSON(configMap)
}

func statusJSON(status *metav1.Status) ([]byte, error) {
	typed := status.DeepCopy()
	typed.TypeMeta = typeMeta(statusKind)
	return encodeJSON(typed)
}

// watchEventJSON frames an object in JSON: one event, one line.
func watchEventJSON(what watch.EventType, object []byte) ([]byte, error) {
	return encodeJSON(&metav1.WatchEvent{Type: string(what), Object: runtime.RawExtension{Raw: object}})
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: apiVersion}
}

func encodeJSON(object runtime.Object) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, nil, nil, json.SerializerOptions{})
	if err := encoder.Encode(object, &out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
