package guard

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// request is one that the API server received for a Secret or a ConfigMap.
type request struct {
	Verb      string    `json:"verb"`
	Stage     string    `json:"stage"`
	UserAgent string    `json:"userAgent"`
	URI       string    `json:"requestURI"`
	At        time.Time `json:"requestReceivedTimestamp"`
	User      struct {
		Name string `json:"username"`
	} `json:"user"`
	Object struct {
		Resource  string `json:"resource"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"objectRef"`
}

func (r request) key() string {
	return r.Object.Resource + "/" + r.Object.Namespace + "/" + r.Object.Name
}

// mark is a place in the audit log and a reading of etcd's counters.
type mark struct {
	offset    int64
	etcdReads int
}

func (c *cluster) mark(t testing.TB) mark {
	t.Helper()
	info, err := os.Stat(c.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	return mark{info.Size(), c.etcdReads(t)}
}

// since are the nodes' requests for Secrets and ConfigMaps after a mark.
func (c *cluster) since(t testing.TB, m mark) []request {
	t.Helper()
	file, err := os.Open(c.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(m.offset, 0); err != nil {
		t.Fatal(err)
	}
	var out []request
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			continue // the line that is being written
		}
		if r.Stage == "RequestReceived" && strings.HasPrefix(r.User.Name, "system:node:") &&
			(r.Object.Resource == "secrets" || r.Object.Resource == "configmaps") {
			out = append(out, r)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// etcdReads is how often the API server has asked etcd for its revision, or for
// one object: what a consistent read costs.
func (c *cluster) etcdReads(t testing.TB) int {
	t.Helper()
	text := c.metrics(t)
	total := 0
	for _, operation := range []string{"getCurrentResourceVersion", "get"} {
		for _, resource := range []string{"secrets", "configmaps"} {
			total += int(sum(t, text, "etcd_requests_total", label("operation", operation), label("resource", resource)))
		}
	}
	return total
}

// open is how many WATCHes of one Secret or ConfigMap the API server has open,
// without those of its own.
func (c *cluster) open(t testing.TB) int { return c.allOpen(t) - c.own }

func (c *cluster) allOpen(t testing.TB) int {
	t.Helper()
	text := c.metrics(t)
	total := 0
	for _, resource := range []string{"secrets", "configmaps"} {
		total += int(sum(t, text, "apiserver_longrunning_requests", label("scope", "resource"), label("verb", "WATCH"), label("resource", resource)))
	}
	return total
}

func label(name, value string) string { return fmt.Sprintf("%s=%q", name, value) }

// sum is of a metric's series that have all the labels.
func sum(t testing.TB, text []byte, name string, labels ...string) float64 {
	t.Helper()
	total := 0.0
series:
	for line := range bytes.Lines(text) {
		s := strings.TrimSpace(string(line))
		if !strings.HasPrefix(s, name+"{") && !strings.HasPrefix(s, name+" ") {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(s, l) {
				continue series
			}
		}
		n, err := strconv.ParseFloat(s[strings.LastIndex(s, " ")+1:], 64)
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	return total
}

// counts are requests by verb.
type counts struct {
	lists, watches, gets int
	immutableWatches     int
	etcdReads            int
	// peak is the most requests, peakLists and peakWatches the most LISTs and
	// WATCHes, within any second.
	peak, peakLists, peakWatches int
}

func count(requests []request, immutable map[string]bool, etcdReads int) counts {
	c := counts{etcdReads: etcdReads}
	var all, lists, watches []time.Time
	for _, r := range requests {
		all = append(all, r.At)
		switch r.Verb {
		case "list":
			c.lists++
			lists = append(lists, r.At)
		case "watch":
			c.watches++
			watches = append(watches, r.At)
			if immutable[r.key()] {
				c.immutableWatches++
			}
		case "get":
			c.gets++
		}
	}
	c.peak, c.peakLists, c.peakWatches = peak(all), peak(lists), peak(watches)
	return c
}

func peak(at []time.Time) int {
	slices.SortFunc(at, time.Time.Compare)
	most, from := 0, 0
	for i, t := range at {
		for t.Sub(at[from]) >= time.Second {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

func (c counts) String() string {
	return fmt.Sprintf("%5d LIST %5d WATCH (%d immutable) %5d GET, %5d etcd reads, peak %4d/s", c.lists, c.watches, c.immutableWatches, c.gets, c.etcdReads, c.peak)
}
