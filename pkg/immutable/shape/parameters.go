package shape

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// maxTimeout is the longest timeoutSeconds that is understood. Kubelets ask for
// an hour at most.
const maxTimeout = 24 * time.Hour

// parseQuery takes the parameters that kubelets send, each at most once and
// written as they write it.
func parseQuery(raw string) (Query, bool) {
	if len(raw) > maxQuery {
		return Query{}, false
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return Query{}, false
	}
	p := parameters{values: values}
	q := Query{
		ResourceVersion:      p.take("resourceVersion", version),
		ResourceVersionMatch: p.take("resourceVersionMatch", is(NotOlderThan)),
		AllowBookmarks:       p.take("allowWatchBookmarks", is("true")) != "",
	}
	q.Name = strings.TrimLeft(strings.TrimPrefix(p.take("fieldSelector", byName), "metadata.name"), "=")
	q.Limit, _ = strconv.ParseInt(p.take("limit", positive), 10, 64)
	seconds, _ := strconv.ParseInt(p.take("timeoutSeconds", positive), 10, 64)
	timeout := p.take("timeout", isDuration)
	watch := p.take("watch", is("true")) != ""
	initial := p.take("sendInitialEvents", is("true")) != ""
	if p.bad || len(values) > p.taken || q.Name == "" {
		return Query{}, false
	}
	if seconds > int64(maxTimeout/time.Second) {
		return Query{}, false
	}
	q.Timeout = time.Duration(seconds) * time.Second
	if timeout != "" {
		// Clients of Kubernetes write the same time twice. A server heeds only
		// the seconds of a watch, so one that differs is not understood.
		d, _ := time.ParseDuration(timeout)
		if d != q.Timeout {
			return Query{}, false
		}
	}
	switch {
	case watch && initial:
		q.Verb = WatchList
	case watch:
		q.Verb = Watch
	default:
		q.Verb = List
	}
	return q, q.consistent(initial)
}

// consistent refuses combinations that kubelets do not use. Some of them the
// server refuses too, and its answer is the one that the client should get.
func (q Query) consistent(initial bool) bool {
	numbered := q.ResourceVersion != "" && q.ResourceVersion != "0"
	switch q.Verb {
	case List:
		return !initial && !q.AllowBookmarks && q.Timeout == 0 &&
			(q.ResourceVersionMatch == "" || q.ResourceVersion != "")
	case Watch:
		return q.Limit == 0 && q.ResourceVersionMatch == "" && numbered
	case WatchList:
		return q.Limit == 0 && q.ResourceVersionMatch == NotOlderThan && q.AllowBookmarks
	}
	return false
}

// parameters are taken one by one, so that what is left over is unknown.
type parameters struct {
	values url.Values
	taken  int
	bad    bool
}

// take is the parameter's value, or "" if it is not there. A repeated one, and
// one that is not well formed, spoils the lot.
func (p *parameters) take(name string, wellFormed func(string) bool) string {
	values, ok := p.values[name]
	if !ok {
		return ""
	}
	p.taken++
	if len(values) != 1 || !wellFormed(values[0]) {
		p.bad = true
		return ""
	}
	return values[0]
}

func is(only string) func(string) bool {
	return func(value string) bool { return value == only }
}

// version takes "0" and the numbers that versions are.
func version(value string) bool { return value == "0" || positiveVersion(value) }

// positive takes the decimal numbers above zero that fit int64, as the client
// writes them.
func positive(value string) bool {
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && n > 0 && strconv.FormatInt(n, 10) == value
}

func positiveVersion(value string) bool {
	n, err := strconv.ParseUint(value, 10, 64)
	return err == nil && n > 0 && strconv.FormatUint(n, 10) == value
}

func isDuration(value string) bool {
	d, err := time.ParseDuration(value)
	return err == nil && d > 0
}

// byName takes metadata.name=X and metadata.name==X of a name that an object
// may have. A name has no character that a selector escapes.
func byName(value string) bool {
	name, ok := strings.CutPrefix(value, "metadata.name=")
	if !ok {
		return false
	}
	name = strings.TrimPrefix(name, "=")
	return len(validation.IsDNS1123Subdomain(name)) == 0
}
