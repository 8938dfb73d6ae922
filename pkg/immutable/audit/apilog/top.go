package apilog

import (
	"cmp"
	"iter"
	"slices"
)

// most are the places about which the most was asked.
func most(places iter.Seq[*Place]) []Place {
	all := slices.SortedFunc(places, func(a, b *Place) int {
		return cmp.Or(
			cmp.Compare(b.Total(), a.Total()), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name))
	})
	out := []Place{}
	for _, p := range all[:min(top, len(all))] {
		out = append(out, *p)
	}
	return out
}
