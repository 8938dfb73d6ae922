package guard

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	restwatch "k8s.io/client-go/rest/watch"
)

// conversation is what a kubelet's managers and an API server said to each other
// while a scenario went on.
type conversation struct {
	// Kubelet is how it asks.
	Kubelet   variant     `json:"kubelet"`
	Exchanges []*exchange `json:"exchanges"`
}

// variant is a kind of kubelet.
type variant struct {
	Strategy  strategy `json:"strategy"`
	WatchList bool     `json:"watchList"`
	JSON      bool     `json:"json"`
}

// exchange is a request and its answer, byte for byte.
type exchange struct {
	// Step of the scenario in which it began, and in which the kubelet, or the
	// API server, ended it.
	Step  int `json:"step"`
	Until int `json:"until"`

	URI            string `json:"uri"`
	Accept         string `json:"accept"`
	AcceptEncoding string `json:"acceptEncoding"`
	UserAgent      string `json:"userAgent"`
	// After is the exchange that told the version which URI resumes from; -1 if
	// it names none.
	After int `json:"after"`

	Status          int    `json:"status"`
	ContentType     string `json:"contentType"`
	ContentEncoding string `json:"contentEncoding,omitempty"`
	Body            []byte `json:"body"`
}

func conversationFile(name string) string {
	return filepath.Join("testdata", "conversations", name+".json")
}

func readConversation(t testing.TB, name string) conversation {
	t.Helper()
	text, err := os.ReadFile(conversationFile(name))
	if err != nil {
		t.Fatal(err)
	}
	var c conversation
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// told is one thing that an answer says of an object.
type told struct {
	what    watch.EventType // "" for an item of a list, or an object alone
	object  string          // what of it a kubelet uses, without what is of one cluster only
	uid     string
	version string // an object's; a list's or a bookmark's if there is no object
	end     bool   // of a watch-list's first state
}

// listed is what a list says of itself.
const listed watch.EventType = "LISTED"

// about tells whether it is of an object, and not of a version alone.
func (s told) about() bool { return s.what != watch.Bookmark && s.what != listed }

func (s told) String() string { return string(s.what) + " " + s.object }

// decode reads an answer and says what it says, one by one, until it ends.
func decode(contentType, contentEncoding string, body io.Reader, say func(told)) error {
	if contentEncoding == "gzip" {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = unpacked
	}
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return err
	}
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
	if !ok {
		return fmt.Errorf("no decoder for %s", media)
	}
	// JSON has the same type for a list and for a stream.
	if _, stream := parameters["stream"]; !stream && media == runtime.ContentTypeProtobuf {
		return decodeOne(body, say)
	}
	if media == runtime.ContentTypeJSON {
		text := new(bytes.Buffer)
		var head struct {
			Kind string `json:"kind"`
		}
		if err := json.NewDecoder(io.TeeReader(body, text)).Decode(&head); err != nil {
			return err
		}
		body = io.MultiReader(text, body)
		if head.Kind != "" {
			return decodeOne(body, say)
		}
	}
	frames := info.StreamSerializer.Framer.NewFrameReader(io.NopCloser(body))
	events := restwatch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), scheme.Codecs.UniversalDeserializer())
	for {
		what, object, err := events.Decode()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		say(tell(what, object))
	}
}

func decodeOne(body io.Reader, say func(told)) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return err
	}
	if !meta.IsListType(object) {
		say(tell("", object))
		return nil
	}
	list, err := meta.ListAccessor(object)
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(object)
	if err != nil {
		return err
	}
	for _, item := range items {
		say(tell("", item))
	}
	say(told{what: listed, version: list.GetResourceVersion()})
	return nil
}

func tell(what watch.EventType, object runtime.Object) told {
	s := told{what: what}
	switch o := object.(type) {
	case *metav1.Status:
		s.object = fmt.Sprintf("Status %d %s", o.Code, o.Reason)
		return s
	case *corev1.Secret:
		s.object = fmt.Sprintf("Secret %s/%s %s %v immutable=%v", o.Namespace, o.Name, o.Type, brief(string(o.Data["data"])), o.Immutable != nil && *o.Immutable)
	case *corev1.ConfigMap:
		s.object = fmt.Sprintf("ConfigMap %s/%s %v immutable=%v", o.Namespace, o.Name, brief(o.Data["data"]), o.Immutable != nil && *o.Immutable)
	default:
		s.object = fmt.Sprintf("%T", object)
		return s
	}
	m, err := meta.Accessor(object)
	if err != nil {
		s.object = err.Error()
		return s
	}
	s.uid, s.version = string(m.GetUID()), m.GetResourceVersion()
	if what == watch.Bookmark {
		s.object, s.end = "", m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
	}
	return s
}

func brief(data string) string {
	if len(data) > 40 {
		return fmt.Sprintf("%s... (%d)", data[:20], len(data))
	}
	return data
}

// recorded is what the recorded answer says.
func (e *exchange) recorded(t testing.TB) []told {
	t.Helper()
	var all []told
	// A stream that was cut may end within a frame.
	if err := decode(e.ContentType, e.ContentEncoding, bytes.NewReader(e.Body), func(s told) { all = append(all, s) }); err != nil && len(all) == 0 && len(e.Body) > 0 {
		t.Fatalf("%s: %v", e.URI, err)
	}
	return all
}

// query is of the exchange's URI.
func (e *exchange) query(t testing.TB) (path string, query url.Values) {
	t.Helper()
	u, err := url.ParseRequestURI(e.URI)
	if err != nil {
		t.Fatal(err)
	}
	return u.Path, u.Query()
}

// resumes is the version that the URI names, if it is one that was told.
func (e *exchange) resumes(t testing.TB) string {
	t.Helper()
	_, query := e.query(t)
	if v := query.Get("resourceVersion"); v != "0" {
		return v
	}
	return ""
}

// of is the object that is asked for.
func (e *exchange) of(t testing.TB) string {
	t.Helper()
	path, query := e.query(t)
	return path + " " + query.Get("fieldSelector")
}
