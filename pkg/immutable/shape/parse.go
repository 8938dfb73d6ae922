package shape

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

// maxQuery is the length in bytes of the longest query that is looked at. A
// kubelet's is below 600 with the longest name there is.
const maxQuery = 1024

// Parse reads a request. False means that it must be passed through. It reads
// neither the body nor anything but the request line and the headers, and who
// asks is not its business.
//
// Mirrors what apiserver pkg/endpoints/request/requestinfo.go NewRequestInfo
// and apimachinery pkg/apis/meta/internalversion/validation ValidateListOptions,
// v1.37, make of the requests of client-go tools/cache/reflector.go.
func Parse(r *http.Request) (Query, bool) {
	if r.Method != http.MethodGet || !plain(r) {
		return Query{}, false
	}
	resource, namespace, ok := parsePath(r)
	if !ok {
		return Query{}, false
	}
	q, ok := parseQuery(r.URL.RawQuery)
	if !ok {
		return Query{}, false
	}
	q.Resource, q.Namespace = resource, namespace
	q.Encoding, ok = encoding(r.Header)
	return q, ok
}

// plain says that the request has no body, changes no protocol, is not made in
// another's name, and stands on its own line.
func plain(r *http.Request) bool {
	// A body of unknown length, as a chunked one, is of -1.
	if r.ContentLength != 0 {
		return false
	}
	if u := r.URL; u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || u.Fragment != "" {
		return false
	}
	for name := range r.Header {
		switch {
		case name == "Upgrade", name == "Authorization", name == "Expect", name == "Range":
			return false
		case strings.HasPrefix(name, "Impersonate-"), strings.HasPrefix(name, "X-Remote-"):
			return false
		}
	}
	return true
}

// parsePath takes /api/v1/namespaces/NAMESPACE/RESOURCE and nothing that a
// server would only clean up to it. All of its characters stand for themselves,
// so a path that was written with any escape is another one.
func parsePath(r *http.Request) (resource Resource, namespace string, ok bool) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/api/v1/namespaces/")
	if !ok || r.URL.RawPath != "" {
		return "", "", false
	}
	namespace, last, ok := strings.Cut(rest, "/")
	resource = Resource(last)
	if !ok || !resource.Known() || len(validation.IsDNS1123Label(namespace)) > 0 {
		return "", "", false
	}
	return resource, namespace, true
}

// encoding is false for what is not written as plain JSON or protobuf, and for
// the user agents for which servers indent JSON: apiserver
// pkg/endpoints/handlers/negotiation/negotiate.go isPrettyPrint.
func encoding(header http.Header) (wire.Encoding, bool) {
	if len(header["Accept"]) > 1 {
		return 0, false
	}
	enc, ok := wire.Negotiate(header.Get("Accept"))
	if !ok {
		return 0, false
	}
	for _, human := range []string{"curl", "Wget", "Mozilla/5.0"} {
		if enc == wire.JSON && strings.HasPrefix(header.Get("User-Agent"), human) {
			return 0, false
		}
	}
	return enc, true
}
