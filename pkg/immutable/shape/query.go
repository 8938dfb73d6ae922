package shape

import (
	"net/url"
	"strconv"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/wire"
)

// Resource is the plural name of a kind.
type Resource = wire.Resource

// The resources that the guard answers.
const (
	Secrets    = wire.Secrets
	ConfigMaps = wire.ConfigMaps
)

// Key names the one object that a request is about.
type Key struct {
	Resource  Resource
	Namespace string
	Name      string
}

func (k Key) String() string { return string(k.Resource) + "/" + k.Namespace + "/" + k.Name }

// Verb is what is asked of the object.
type Verb int

// The verbs. A watch-list is a watch that first sends what there is and then a
// bookmark that says so.
const (
	List Verb = iota + 1
	Watch
	WatchList
)

func (v Verb) String() string {
	switch v {
	case List:
		return "list"
	case Watch:
		return "watch"
	case WatchList:
		return "watch-list"
	}
	return "none"
}

// NotOlderThan is the one ResourceVersionMatch that kubelets use.
const NotOlderThan = "NotOlderThan"

// Query is a request that the guard answers.
type Query struct {
	Key
	Verb Verb
	// ResourceVersion is "" for the most recent state, "0" for any, or a
	// decimal number without leading zeros. For Watch it is always a number
	// above zero: the version after which events are wanted.
	ResourceVersion string
	// ResourceVersionMatch is "" or NotOlderThan, the latter always for
	// WatchList and only with a ResourceVersion for List.
	ResourceVersionMatch string
	// AllowBookmarks is always true for WatchList.
	AllowBookmarks bool
	// Timeout is when the client wants the watch to end, in whole seconds; 0 is
	// left to the server, and always so for List.
	Timeout time.Duration
	// Limit is the page of a List; 0 is none. One object fits every page.
	Limit int64
	// Encoding is the one to answer in.
	Encoding wire.Encoding
}

// URI is the request's path and query in canonical form. It asks for the same
// as the request did.
func (q Query) URI() string {
	values := url.Values{"fieldSelector": {"metadata.name=" + q.Name}}
	set := func(name, value string, present bool) {
		if present {
			values.Set(name, value)
		}
	}
	set("resourceVersion", q.ResourceVersion, q.ResourceVersion != "")
	set("resourceVersionMatch", q.ResourceVersionMatch, q.ResourceVersionMatch != "")
	set("limit", strconv.FormatInt(q.Limit, 10), q.Limit > 0)
	set("watch", "true", q.Verb != List)
	set("sendInitialEvents", "true", q.Verb == WatchList)
	set("allowWatchBookmarks", "true", q.AllowBookmarks)
	set("timeoutSeconds", strconv.FormatInt(int64(q.Timeout/time.Second), 10), q.Timeout > 0)
	return "/api/v1/namespaces/" + q.Namespace + "/" + string(q.Resource) + "?" + values.Encode()
}
