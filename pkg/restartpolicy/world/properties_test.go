//go:build world

package world

import (
	"fmt"
	"os"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// timelines is how many each property is tried on: NODEKEEPER_TIMELINES.
func timelines() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("NODEKEEPER_TIMELINES"), 10, 64); err == nil {
		return n
	}
	return many
}

// first is the first seed: NODEKEEPER_SEED, to see one of them again.
func first() uint64 {
	n, _ := strconv.ParseUint(os.Getenv("NODEKEEPER_SEED"), 10, 64)
	return n
}

func TestProperties(t *testing.T) {
	for _, p := range Properties() {
		t.Run(p.Name, func(t *testing.T) {
			defer debug.SetGCPercent(debug.SetGCPercent(800))
			for _, f := range p.failures(Present(), first(), timelines()) {
				t.Error(f)
			}
		})
	}
}

// TestOne explains one timeline: NODEKEEPER_PROPERTY and NODEKEEPER_SEED.
func TestOne(t *testing.T) {
	for _, p := range Properties() {
		if p.Name != os.Getenv("NODEKEEPER_PROPERTY") {
			continue
		}
		sc := p.Draw(first())
		why := p.Holds(Present(), sc)
		if why == "" {
			t.Logf("holds\n%s", sc.Explain(Present()))
			return
		}
		small := p.Shrink(Present(), sc)
		if p.Altered != nil {
			t.Log(p.Altered(Present(), small).Explain(Present()))
		}
		t.Errorf("%s\n%s\n%s", why, p.Holds(Present(), small), small.Explain(Present()))
	}
}

// failures tries seeds, and returns one small counterexample of each kind.
func (p Property) failures(d Decision, from, n uint64) []string {
	type failure struct {
		seed  uint64
		count int
		why   string
	}
	found := map[string]*failure{}
	p.each(d, from, n, func(seed uint64, why string) bool {
		f := found[class(why)]
		if f == nil {
			f = &failure{seed: seed, why: why}
			found[class(why)] = f
		}
		f.count++
		if seed < f.seed {
			f.seed, f.why = seed, why
		}
		return true
	})
	kinds := make([]string, 0, len(found))
	for kind := range found {
		kinds = append(kinds, kind)
	}
	sort.Slice(kinds, func(i, j int) bool { return found[kinds[i]].count > found[kinds[j]].count })
	var out []string
	for i, kind := range kinds {
		f := found[kind]
		text := fmt.Sprintf("%s: %d of %d timelines, first seed %d: %s", p.Name, f.count, n, f.seed, f.why)
		if i < 8 && os.Getenv("NODEKEEPER_EXPLAIN") != "" {
			small := p.Shrink(d, p.Draw(f.seed))
			text += "\n" + p.Holds(d, small) + "\n" + small.Explain(d)
		}
		out = append(out, strings.TrimSpace(text))
	}
	return out
}
