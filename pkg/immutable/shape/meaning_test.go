package shape

import (
	"bufio"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	internalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// meaning is what an API server reads from a request, with its own decoder.
type meaning struct {
	path    []string
	options internalversion.ListOptions
}

func meaningOf(t rapid.TB, uri string) meaning {
	u, err := url.ParseRequestURI(uri)
	if err != nil {
		t.Fatalf("%s: %v", uri, err)
	}
	m := meaning{path: strings.Split(strings.Trim(u.Path, "/"), "/")}
	if err := internalscheme.ParameterCodec.DecodeParameters(u.Query(), metav1.SchemeGroupVersion, &m.options); err != nil {
		t.Fatalf("%s: the API server cannot read it: %v", uri, err)
	}
	return m
}

// checkMeaning fails if a request that is taken means anything to an API server
// that its canonical form does not.
func checkMeaning(t rapid.TB, uri string) (taken bool) {
	text := "GET " + uri + " HTTP/1.1\r\nHost: h\r\n\r\n"
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
	if err != nil || r.RequestURI != uri {
		return false
	}
	q, ok := Parse(r)
	if !ok {
		return false
	}
	asked, canonical := meaningOf(t, uri), meaningOf(t, q.URI())
	if !reflect.DeepEqual(asked.path, canonical.path) {
		t.Fatalf("%s is taken for %s", uri, q.URI())
	}
	name, exact := asked.options.FieldSelector.RequiresExactMatch("metadata.name")
	if !exact || name != q.Name || len(asked.options.FieldSelector.Requirements()) != 1 {
		t.Fatalf("%s: the API server reads the name %q (%t), Parse %q", uri, name, exact, q.Name)
	}
	if errs := internalvalidation.ValidateListOptions(&asked.options, true); len(errs) > 0 {
		t.Fatalf("%s is taken, and the API server refuses it: %v", uri, errs.ToAggregate())
	}
	if a, c := asked.options.FieldSelector.String(), canonical.options.FieldSelector.String(); a != c {
		t.Fatalf("%s: selector %s, canonical %s", uri, a, c)
	}
	asked.options.FieldSelector, canonical.options.FieldSelector = nil, nil
	if !reflect.DeepEqual(asked.options, canonical.options) {
		t.Fatalf("%s\nmeans %+v\n%s\nmeans %+v", uri, asked.options, q.URI(), canonical.options)
	}
	o := asked.options
	seconds := int64(0)
	if o.TimeoutSeconds != nil {
		seconds = *o.TimeoutSeconds
	}
	initial := o.SendInitialEvents != nil && *o.SendInitialEvents
	if o.Watch != (q.Verb != List) || initial != (q.Verb == WatchList) || o.AllowWatchBookmarks != q.AllowBookmarks ||
		o.ResourceVersion != q.ResourceVersion || string(o.ResourceVersionMatch) != q.ResourceVersionMatch ||
		o.Limit != q.Limit || time.Duration(seconds)*time.Second != q.Timeout {
		t.Fatalf("%s\nmeans %+v\nwas taken for %+v", uri, o, q)
	}
	return true
}

// uris are requests near the shape: most parts are well formed, some are not.
func uris() *rapid.Generator[string] {
	pick := func(good string, odd ...string) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			if rapid.IntRange(0, 24).Draw(t, "odd") > 0 {
				return good
			}
			return rapid.SampledFrom(odd).Draw(t, "part")
		})
	}
	return rapid.Custom(func(t *rapid.T) string {
		path := pick("/api/v1/namespaces/", "/api//v1/namespaces/", "//api/v1/namespaces/", "/api/v1/watch/namespaces/", "/%61pi/v1/namespaces/").Draw(t, "prefix") +
			pick("ns", "", "n.s", "NS", "n%73", "a%2Fb", "..").Draw(t, "namespace") + "/" +
			pick(rapid.SampledFrom([]string{"secrets", "configmaps"}).Draw(t, "resource"), "pods", "secrets/", "secrets/x", "secret%73", "Secrets").Draw(t, "last")
		params := []string{"fieldSelector=" + pick("metadata.name%3Dx", "metadata.name=x", "metadata.name%3D%3Dx", "metadata.name!=x", "metadata.name%3D", "metadata.name%3Dx%2C", "metadata.name%3D%5C%5Cx", "+metadata.name%3Dx", "metadata.name+%3Dx", "%6Detadata.name%3Dx").Draw(t, "selector")}
		usual := rapid.SampledFrom([]string{
			" limit resourceVersion ",
			" resourceVersion resourceVersionMatch ",
			" watch resourceVersion allowWatchBookmarks timeoutSeconds timeout ",
			" watch sendInitialEvents allowWatchBookmarks resourceVersionMatch timeoutSeconds timeout ",
		}).Draw(t, "usual")
		for _, p := range []struct {
			name, good string
			odd        []string
		}{
			{"watch", "true", []string{"", "1", "TRUE", "false", "0", "t"}},
			{"sendInitialEvents", "true", []string{"", "1", "false", "True"}},
			{"allowWatchBookmarks", "true", []string{"", "1", "false"}},
			{"resourceVersion", "5", []string{"", "0", "05", "-1", "+5", "abc", "99999999999999999999"}},
			{"resourceVersionMatch", "NotOlderThan", []string{"", "Exact", "notolderthan"}},
			{"timeoutSeconds", "60", []string{"", "0", "060", "-1", "1e2", "99999999999"}},
			{"timeout", "1m0s", []string{"", "60", "1h", "60s", "-1m"}},
			{"limit", "500", []string{"", "0", "0500", "-1", "5.0"}},
			{"labelSelector", "", []string{"a"}},
			{"continue", "", []string{"a"}},
			{"pretty", "true", []string{"1"}},
		} {
			if rapid.IntRange(0, 19).Draw(t, p.name) > 0 == strings.Contains(usual, " "+p.name+" ") {
				params = append(params, p.name+"="+pick(p.good, p.odd...).Draw(t, "value"))
			}
		}
		if rapid.IntRange(0, 24).Draw(t, "repeat") == 0 {
			params = append(params, rapid.SampledFrom(params).Draw(t, "repeated"))
		}
		params = rapid.Permutation(params).Draw(t, "order")
		return path + "?" + strings.Join(params, pick("&", "&&", ";").Draw(t, "separator"))
	})
}

func TestWhatIsTakenMeansTheSameToAnAPIServer(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		if checkMeaning(t, uris().Draw(t, "uri")) {
			taken++
		}
	})
	t.Logf("%d requests were taken", taken)
	if taken == 0 {
		t.Error("no request was taken, so nothing was checked")
	}
}

// FuzzParse also takes request lines that no generator would think of.
func FuzzParse(f *testing.F) {
	for _, uri := range []string{path + byX, watchX, watchList, watchX + "&timeout=1m0s&timeoutSeconds=60", path + byX + "&limit=500&resourceVersion=0"} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		checkMeaning(t, uri)
	})
}
