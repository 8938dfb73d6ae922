package shape_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

// server answers every request of the one shape with one immutable Secret, and
// tells what it was asked. What is not of the shape gets 418.
type server struct {
	object *wire.Object

	mu    sync.Mutex // guards asked
	asked []shape.Query
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, ok := shape.Parse(r)
	if !ok {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, q)
	s.mu.Unlock()
	if q.Verb == shape.List {
		body, err := wire.EncodeList(q.Encoding, q.Resource, "90", s.object)
		if err == nil {
			err = wire.WriteList(w, r, q.Encoding, body)
		}
		if err != nil {
			panic(err)
		}
		return
	}
	w.Header().Set("Content-Type", q.Encoding.StreamContentType())
	added, err1 := wire.EncodeEvent(q.Encoding, q.Resource, watch.Added, s.object)
	mark, err2 := wire.EncodeBookmark(q.Encoding, q.Resource, "90", q.Verb == shape.WatchList)
	if err1 != nil || err2 != nil {
		panic("encode")
	}
	_, _ = w.Write(append(added, mark...))
}

// secretOf is a Secret long enough for its list to be compressed, and its
// message.
func secretOf(t *testing.T) (*corev1.Secret, *wire.Object) {
	t.Helper()
	immutable := true
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "pull", Namespace: "ns", UID: "u", ResourceVersion: "80"},
		Immutable:  &immutable, Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{"k": []byte(strings.Repeat("data", 64<<10))},
	}
	message, err := secret.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return secret, &wire.Object{Namespace: "ns", Name: "pull", UID: "u", ResourceVersion: "80", Immutable: true, Protobuf: message}
}

func TestAClientOfKubernetesIsUnderstoodAndUnderstands(t *testing.T) {
	for enc, accept := range map[wire.Encoding]string{
		wire.Protobuf: "application/vnd.kubernetes.protobuf,application/json",
		wire.JSON:     "application/json",
	} {
		t.Run(enc.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			want, object := secretOf(t)
			s := &server{object: object}
			listener := httptest.NewUnstartedServer(s)
			listener.EnableHTTP2 = true
			listener.StartTLS()
			t.Cleanup(listener.Close)
			core, err := typedcorev1.NewForConfig(&rest.Config{
				Host:            listener.URL,
				TLSClientConfig: rest.TLSClientConfig{Insecure: true, NextProtos: []string{"h2"}},
				ContentConfig:   rest.ContentConfig{AcceptContentTypes: accept, ContentType: runtime.ContentTypeProtobuf},
			})
			if err != nil {
				t.Fatal(err)
			}
			secrets := core.Secrets("ns")
			byName, yes, seconds := "metadata.name=pull", true, int64(2118)

			list, err := secrets.List(ctx, metav1.ListOptions{FieldSelector: byName, Limit: 500, ResourceVersion: "0"})
			if err != nil {
				t.Fatal(err)
			}
			if list.ResourceVersion != "90" || len(list.Items) != 1 || !equality.Semantic.DeepEqual(list.Items[0], *want) {
				t.Errorf("list of version %s with %d items, or another object", list.ResourceVersion, len(list.Items))
			}
			for _, options := range []metav1.ListOptions{
				{FieldSelector: byName, ResourceVersion: "70", AllowWatchBookmarks: true, TimeoutSeconds: &seconds},
				{FieldSelector: byName, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, SendInitialEvents: &yes, AllowWatchBookmarks: true, TimeoutSeconds: &seconds},
			} {
				checkStream(ctx, t, secrets, options, want)
			}
			key := shape.Key{Resource: shape.Secrets, Namespace: "ns", Name: "pull"}
			wantAsked := []shape.Query{
				{Key: key, Verb: shape.List, ResourceVersion: "0", Limit: 500, Encoding: enc},
				{Key: key, Verb: shape.Watch, ResourceVersion: "70", AllowBookmarks: true, Timeout: 2118 * time.Second, Encoding: enc},
				{Key: key, Verb: shape.WatchList, ResourceVersionMatch: shape.NotOlderThan, AllowBookmarks: true, Timeout: 2118 * time.Second, Encoding: enc},
			}
			if diff := cmp.Diff(wantAsked, s.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if _, err := secrets.Get(ctx, "pull", metav1.GetOptions{}); err == nil {
				t.Error("a GET by path was answered")
			}
			if _, err := secrets.List(ctx, metav1.ListOptions{}); err == nil {
				t.Error("a list of a namespace was answered")
			}
		})
	}
}

func checkStream(ctx context.Context, t *testing.T, secrets typedcorev1.SecretInterface, options metav1.ListOptions, want *corev1.Secret) {
	t.Helper()
	stream, err := secrets.Watch(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	var got []watch.Event
	for event := range stream.ResultChan() {
		got = append(got, event)
	}
	if len(got) != 2 || got[0].Type != watch.Added || got[1].Type != watch.Bookmark {
		t.Fatalf("%d events, want ADDED and BOOKMARK", len(got))
	}
	added, ok := got[0].Object.(*corev1.Secret)
	if !ok {
		t.Fatalf("the object is a %T", got[0].Object)
	}
	added.TypeMeta = want.TypeMeta
	if !equality.Semantic.DeepEqual(added, want) {
		t.Error("another object was added")
	}
	mark, ok := got[1].Object.(*corev1.Secret)
	if !ok {
		t.Fatalf("the bookmark is a %T", got[1].Object)
	}
	ends := mark.Annotations[metav1.InitialEventsAnnotationKey] == "true"
	if mark.ResourceVersion != "90" || ends != (options.SendInitialEvents != nil) {
		t.Errorf("bookmark of version %s, end of initial events %t", mark.ResourceVersion, ends)
	}
}
