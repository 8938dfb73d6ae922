package shape

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

const kubeletAccept = "application/vnd.kubernetes.protobuf,application/json"

// request is what a server makes of a request line and its headers.
func request(t testing.TB, line string, headers ...string) *http.Request {
	t.Helper()
	text := line + " HTTP/1.1\r\nHost: 127.0.0.1:6444\r\n" + strings.Join(append(headers, "", ""), "\r\n")
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
	if err != nil {
		t.Fatalf("request %q: %v", line, err)
	}
	return r
}

func TestTheRequestsOfKubeletsAreUnderstood(t *testing.T) {
	secret := Key{Resource: Secrets, Namespace: "ns-1", Name: "pull.secret"}
	configMap := Key{Resource: ConfigMaps, Namespace: "ns-1", Name: "kube-root-ca.crt"}
	const timeout = 2118 * time.Second
	for _, c := range []struct {
		name, uri string
		want      Query
	}{
		{"first list up to 1.34",
			"/api/v1/namespaces/ns-1/secrets?fieldSelector=metadata.name%3Dpull.secret&limit=500&resourceVersion=0",
			Query{Key: secret, Verb: List, ResourceVersion: "0", Limit: 500}},
		{"list after an expired version",
			"/api/v1/namespaces/ns-1/secrets?fieldSelector=metadata.name%3Dpull.secret&limit=500",
			Query{Key: secret, Verb: List, Limit: 500}},
		{"list after an idle stop",
			"/api/v1/namespaces/ns-1/secrets?fieldSelector=metadata.name%3Dpull.secret&resourceVersion=4711",
			Query{Key: secret, Verb: List, ResourceVersion: "4711"}},
		{"watch up to 1.34, and renewal",
			"/api/v1/namespaces/ns-1/configmaps?allowWatchBookmarks=true&fieldSelector=metadata.name%3Dkube-root-ca.crt&resourceVersion=4711&timeout=35m18s&timeoutSeconds=2118&watch=true",
			Query{Key: configMap, Verb: Watch, ResourceVersion: "4711", AllowBookmarks: true, Timeout: timeout}},
		{"first watch-list from 1.35",
			"/api/v1/namespaces/ns-1/configmaps?allowWatchBookmarks=true&fieldSelector=metadata.name%3Dkube-root-ca.crt&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeout=35m18s&timeoutSeconds=2118&watch=true",
			Query{Key: configMap, Verb: WatchList, ResourceVersionMatch: NotOlderThan, AllowBookmarks: true, Timeout: timeout}},
		{"watch-list after an error",
			"/api/v1/namespaces/ns-1/configmaps?allowWatchBookmarks=true&fieldSelector=metadata.name%3Dkube-root-ca.crt&resourceVersion=4711&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeout=35m18s&timeoutSeconds=2118&watch=true",
			Query{Key: configMap, Verb: WatchList, ResourceVersion: "4711", ResourceVersionMatch: NotOlderThan, AllowBookmarks: true, Timeout: timeout}},
		{"selector with two equal signs",
			"/api/v1/namespaces/ns-1/secrets?fieldSelector=metadata.name%3D%3Dpull.secret",
			Query{Key: secret, Verb: List}},
		{"selector that is not escaped",
			"/api/v1/namespaces/ns-1/secrets?fieldSelector=metadata.name=pull.secret",
			Query{Key: secret, Verb: List}},
		{"list not older than",
			"/api/v1/namespaces/ns-1/secrets?fieldSelector=metadata.name%3Dpull.secret&resourceVersion=7&resourceVersionMatch=NotOlderThan",
			Query{Key: secret, Verb: List, ResourceVersion: "7", ResourceVersionMatch: NotOlderThan}},
		{"largest version there can be",
			"/api/v1/namespaces/ns-1/secrets?fieldSelector=metadata.name%3Dpull.secret&resourceVersion=18446744073709551615",
			Query{Key: secret, Verb: List, ResourceVersion: "18446744073709551615"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.Encoding = wire.Protobuf
			got, ok := Parse(request(t, "GET "+c.uri, "Accept: "+kubeletAccept, "User-Agent: kubelet/v1.37.2 (linux/amd64) kubernetes/0", "Accept-Encoding: gzip"))
			if !ok {
				t.Fatal("passed through")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("query (-want +got):\n%s", diff)
			}
			again, ok := Parse(request(t, "GET "+got.URI(), "Accept: "+kubeletAccept))
			if !ok || again != got {
				t.Errorf("canonical form %s gives %+v, %t", got.URI(), again, ok)
			}
		})
	}
}

const (
	path      = "/api/v1/namespaces/ns/secrets"
	byX       = "?fieldSelector=metadata.name%3Dx"
	watchX    = path + byX + "&watch=true&resourceVersion=5&allowWatchBookmarks=true"
	watchList = path + byX + "&watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
)

func TestTheRequestsThatTheRefusalsVaryAreUnderstood(t *testing.T) {
	for _, uri := range []string{path + byX, watchX, watchList} {
		if _, ok := Parse(request(t, "GET "+uri)); !ok {
			t.Errorf("%s is passed through, so the refusals of its variants say nothing", uri)
		}
	}
}

func TestWhatIsNotTheOneShapeIsPassedThrough(t *testing.T) {
	for _, c := range []struct{ name, uri string }{
		// Paths.
		{"every namespace", "/api/v1/secrets" + byX},
		{"one object by path", path + "/x"},
		{"one object by path and selector", path + "/x" + byX},
		{"sub-resource", path + "/x/status" + byX},
		{"another resource", "/api/v1/namespaces/ns/pods" + byX},
		{"another group", "/apis/v1/namespaces/ns/secrets" + byX},
		{"another version", "/api/v2/namespaces/ns/secrets" + byX},
		{"old watch path", "/api/v1/watch/namespaces/ns/secrets" + byX},
		{"trailing slash", path + "/" + byX},
		{"double slash", "/api/v1/namespaces//secrets" + byX},
		{"leading double slash", "/" + path + byX},
		{"dots in the path", "/api/v1/namespaces/ns/../ns/secrets" + byX},
		{"dot as namespace", "/api/v1/namespaces/./secrets" + byX},
		{"encoded slash", "/api/v1/namespaces/ns%2Fsecrets" + byX},
		{"encoded slash within", "/api/v1/namespaces/a%2Fb/secrets" + byX},
		{"encoded letter", "/api/v1/namespaces/ns/%73ecrets" + byX},
		{"encoded namespace", "/api/v1/namespaces/%6es/secrets" + byX},
		{"capital resource", "/api/v1/namespaces/ns/Secrets" + byX},
		{"capital namespace", "/api/v1/namespaces/NS/secrets" + byX},
		{"namespace with a dot", "/api/v1/namespaces/n.s/secrets" + byX},
		{"long namespace", "/api/v1/namespaces/" + strings.Repeat("n", 64) + "/secrets" + byX},
		{"absolute form", "http://other" + path + byX},
		// Names and selectors.
		{"no selector", path},
		{"empty selector", path + "?fieldSelector="},
		{"empty name", path + "?fieldSelector=metadata.name%3D"},
		{"two equal signs, no name", path + "?fieldSelector=metadata.name%3D%3D"},
		{"three equal signs", path + "?fieldSelector=metadata.name%3D%3D%3Dx"},
		{"not equal", path + "?fieldSelector=metadata.name%21%3Dx"},
		{"another field", path + "?fieldSelector=metadata.namespace%3Dx"},
		{"two fields", path + "?fieldSelector=metadata.name%3Dx%2Ctype%3DOpaque"},
		{"space in the selector", path + "?fieldSelector=metadata.name%3D+x"},
		{"escape in the selector", path + `?fieldSelector=metadata.name%3Dx%5C%5C`},
		{"slash in the name", path + "?fieldSelector=metadata.name%3Da%2Fb"},
		{"capital name", path + "?fieldSelector=metadata.name%3DX"},
		{"name of dots", path + "?fieldSelector=metadata.name%3D.."},
		{"long name", path + "?fieldSelector=metadata.name%3D" + strings.Repeat("x", 254)},
		{"zero byte", path + "?fieldSelector=metadata.name%3Dx%00"},
		{"line end", path + "?fieldSelector=metadata.name%3Dx%0A"},
		{"two selectors", path + byX + "&fieldSelector=metadata.name%3Dx"},
		{"label selector", path + byX + "&labelSelector=a%3Db"},
		{"empty label selector", path + byX + "&labelSelector="},
		// Parameters.
		{"unknown parameter", path + byX + "&shardSelector=1"},
		{"parameter without a name", path + byX + "&=1"},
		{"pretty", path + byX + "&pretty=true"},
		{"continue", path + byX + "&continue=abc"},
		{"capital parameter", path + byX + "&Limit=1"},
		{"semicolon", path + byX + ";limit=1"},
		{"bad escape", path + byX + "&limit=%zz"},
		{"repeated parameter", path + byX + "&limit=5&limit=5"},
		{"limit of nothing", path + byX + "&limit="},
		{"limit zero", path + byX + "&limit=0"},
		{"limit below zero", path + byX + "&limit=-1"},
		{"limit with a sign", path + byX + "&limit=%2B1"},
		{"limit with a leading zero", path + byX + "&limit=05"},
		{"limit too large", path + byX + "&limit=9223372036854775808"},
		{"empty version", path + byX + "&resourceVersion="},
		{"version that is no number", path + byX + "&resourceVersion=abc"},
		{"version with a leading zero", path + byX + "&resourceVersion=07"},
		{"version with an underscore", path + byX + "&resourceVersion=1_0"},
		{"version too large", path + byX + "&resourceVersion=18446744073709551616"},
		{"exact version", path + byX + "&resourceVersion=5&resourceVersionMatch=Exact"},
		{"match without a version", path + byX + "&resourceVersionMatch=NotOlderThan"},
		{"bookmarks of a list", path + byX + "&allowWatchBookmarks=true"},
		{"time limit of a list", path + byX + "&timeoutSeconds=5"},
		{"initial events of a list", path + byX + "&sendInitialEvents=true"},
		{"watch false", path + byX + "&watch=false"},
		{"watch one", path + byX + "&watch=1&resourceVersion=5"},
		{"watch of nothing", path + byX + "&watch=&resourceVersion=5"},
		{"watch from no version", path + byX + "&watch=true"},
		{"watch from any version", path + byX + "&watch=true&resourceVersion=0"},
		{"watch with a limit", watchX + "&limit=500"},
		{"watch with a match", watchX + "&resourceVersionMatch=NotOlderThan"},
		{"watch with initial events false", watchX + "&sendInitialEvents=false"},
		{"two time limits that differ", watchX + "&timeout=5s&timeoutSeconds=6"},
		{"time limit without seconds", watchX + "&timeout=5s"},
		{"time limit of zero", watchX + "&timeoutSeconds=0"},
		{"time limit of years", watchX + "&timeoutSeconds=100000000"},
		{"time limit that overflows", watchX + "&timeoutSeconds=9223372036854775807"},
		{"bookmarks false", path + byX + "&watch=true&resourceVersion=5&allowWatchBookmarks=false"},
		{"watch-list without bookmarks", strings.TrimSuffix(watchList, "&allowWatchBookmarks=true")},
		{"watch-list without match", strings.Replace(watchList, "&resourceVersionMatch=NotOlderThan", "", 1)},
		{"watch-list with exact match", strings.Replace(watchList, "NotOlderThan", "Exact", 1)},
		{"watch-list with a limit", watchList + "&limit=1"},
		{"very long query", path + byX + strings.Repeat("&", 1100)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if q, ok := Parse(request(t, "GET "+c.uri)); ok {
				t.Errorf("%s was taken for %+v", c.uri, q)
			}
		})
	}
}

func TestOtherMethodsBodiesAndProtocolsArePassedThrough(t *testing.T) {
	for _, method := range []string{"HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get"} {
		if _, ok := Parse(request(t, method+" "+path+byX)); ok {
			t.Errorf("%s was taken", method)
		}
	}
	for _, header := range []string{
		"Content-Length: 2",
		"Transfer-Encoding: chunked",
		"Upgrade: websocket",
		"Impersonate-User: admin",
		"Impersonate-Extra-Scopes: view",
		"X-Remote-User: admin",
		"Authorization: Bearer x",
		"Expect: 100-continue",
		"Range: bytes=0-1",
		"Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
		"Accept: application/yaml",
		"User-Agent: curl/8.0",
		"User-Agent: Mozilla/5.0 (X11)",
	} {
		if _, ok := Parse(request(t, "GET "+path+byX, header)); ok {
			t.Errorf("a request with %q was taken", header)
		}
	}
	if _, ok := Parse(request(t, "GET "+path+byX, "Accept: "+kubeletAccept, "Accept: application/json")); ok {
		t.Error("a request with two Accept headers was taken")
	}
	if _, ok := Parse(request(t, "GET "+path+byX, "Accept: "+kubeletAccept, "User-Agent: curl/8.0")); !ok {
		t.Error("protobuf is never indented, yet curl's request for it was passed through")
	}
}

func TestTheAnswersEncodingIsTheOneAskedFor(t *testing.T) {
	for accept, want := range map[string]wire.Encoding{
		kubeletAccept:      wire.Protobuf,
		"application/json": wire.JSON,
		"*/*":              wire.JSON,
	} {
		q, ok := Parse(request(t, "GET "+path+byX, "Accept: "+accept))
		if !ok || q.Encoding != want {
			t.Errorf("%s: %v, %t", accept, q.Encoding, ok)
		}
	}
	q, ok := Parse(request(t, "GET "+path+byX))
	if !ok || q.Encoding != wire.JSON {
		t.Errorf("no Accept: %v, %t", q.Encoding, ok)
	}
}

func TestKeysAndVerbsPrintAsOneWouldSayThem(t *testing.T) {
	got := fmt.Sprint(Key{Resource: Secrets, Namespace: "ns", Name: "x"}, List, Watch, WatchList)
	if want := "secrets/ns/x list watch watch-list"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func BenchmarkParse(b *testing.B) {
	r := request(b, "GET "+watchList+"&timeout=35m18s&timeoutSeconds=2118", "Accept: "+kubeletAccept)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Parse(r); !ok {
			b.Fatal("passed through")
		}
	}
}
