package guard

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// The benchmarks print tables of their own, for docs/measured.md: what they
// compare is measured by turns in one run. They need no more than one iteration:
//
//	go test -run '^$' -bench . -benchtime 1x -timeout 40m .

// section begins a benchmark's part of the output.
func section(b *testing.B, title, load string) {
	b.Helper()
	fmt.Printf("\n## %s\n\n%s\n%s, %d CPUs, load %s at the beginning\n\n", title, load, time.Now().Format("2006-01-02 15:04"), runtime.NumCPU(), loadAverage())
	b.Cleanup(func() { fmt.Printf("\nload %s at the end\n", loadAverage()) })
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}

// row prints one of a table.
func row(cells ...any) {
	var text []string
	for _, c := range cells {
		text = append(text, fmt.Sprint(c))
	}
	fmt.Println("| " + strings.Join(text, " | ") + " |")
}

func head(names ...string) {
	row(list(names)...)
	fmt.Println("|" + strings.Repeat("---|", len(names)))
}

func list[T any](in []T) (out []any) {
	for _, v := range in {
		out = append(out, v)
	}
	return out
}

// quantile is of times, which it sorts.
func quantile(took []time.Duration, q float64) time.Duration {
	slices.Sort(took)
	return took[min(int(q*float64(len(took))), len(took)-1)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }
func mib(kib int) string        { return fmt.Sprintf("%.1f", float64(kib)/1024) }

// way is one of those that are compared.
type way struct {
	name string
	host string
	http *http.Client
	took []time.Duration
}

func newWay(tb testing.TB, name string, c *rest.Config) *way {
	tb.Helper()
	c = rest.CopyConfig(c)
	c.UserAgent, c.DisableCompression = agent, true
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		tb.Fatal(err)
	}
	return &way{name: name, host: c.Host, http: client}
}

// nodeConfig is a node's own certificate, straight to the API server.
func (c *cluster) nodeConfig(tb testing.TB, name string) *rest.Config {
	tb.Helper()
	return c.config(tb, "system:node:"+name, "system:nodes", agent)
}

// get makes a request; the caller reads and closes the answer's body.
func (w *way) get(tb testing.TB, path string) *http.Response {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, w.host+path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Accept", "application/vnd.kubernetes.protobuf,application/json")
	response, err := w.http.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		tb.Fatalf("%s %s: %s", w.name, path, response.Status)
	}
	return response
}
