package reader

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// Query names attempts. At most one of Crash, Previous, First and All may be
// set. With none of them it is the live attempt, and the newest record where
// there is none: kubectl would only say that the container is not running.
type Query struct {
	// Namespace may be empty where the pod's name is unique.
	Namespace string
	// Pod may be empty with Crash and All.
	Pod string
	// Container may be empty where the pod has one, and with Crash and All.
	Container string
	// Crash is a record's ID or a prefix that only one has.
	Crash string
	// Previous counts ended attempts backwards: 1 is the newest.
	Previous int
	// First is the first attempt that is left of the newest record's series:
	// the crash that the others followed.
	First bool
	// Revision leaves only attempts of that revision.
	Revision string
	// All are all attempts, in the order of time.
	All bool
}

// Select finds the attempts of a query. Its errors say what there is instead.
func Select(index *record.Index, q Query) ([]Attempt, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	all := make([]Attempt, 0, len(index.Records)+len(index.Live))
	for i := range index.Records {
		all = append(all, ended(&index.Records[i]))
	}
	for i := range index.Live {
		all = append(all, live(&index.Live[i]))
	}
	all, err := q.narrow(all)
	if err != nil {
		return nil, err
	}
	return q.pick(all)
}

func (q Query) check() error {
	set := 0
	for _, yes := range []bool{q.Crash != "", q.Previous != 0, q.First, q.All} {
		if yes {
			set++
		}
	}
	switch {
	case set > 1:
		return errors.New("choose one of a crash, a previous attempt, the first one and all")
	case q.Previous < 0:
		return fmt.Errorf("previous attempt %d: 1 is the newest", q.Previous)
	case q.Pod == "" && q.Crash == "" && !q.All:
		return errors.New("which pod?")
	}
	return nil
}

func (q Query) narrow(all []Attempt) ([]Attempt, error) {
	if q.Pod != "" {
		pods := names(all, func(a Attempt) string { return a.Namespace + "/" + a.Pod })
		all = keep(all, func(a Attempt) bool {
			return a.Pod == q.Pod && (q.Namespace == "" || a.Namespace == q.Namespace)
		})
		if len(all) == 0 {
			return nil, fmt.Errorf("nothing is kept of pod %s; there are %s", podName(q.Namespace, q.Pod), some(pods))
		}
	} else if q.Namespace != "" {
		all = keep(all, func(a Attempt) bool { return a.Namespace == q.Namespace })
	}
	one := q.Crash == "" && !q.All
	if namespaces := names(all, func(a Attempt) string { return a.Namespace }); one && len(namespaces) > 1 {
		return nil, fmt.Errorf("pod %s is in namespaces %s: choose with -n", q.Pod, some(namespaces))
	}
	containers := names(all, func(a Attempt) string { return a.Container })
	switch {
	case q.Container != "":
		all = keep(all, func(a Attempt) bool { return a.Container == q.Container })
		if len(all) == 0 {
			return nil, fmt.Errorf("nothing is kept of container %s in pod %s; there are %s", q.Container, q.Pod, some(containers))
		}
	case one && len(containers) > 1:
		return nil, fmt.Errorf("pod %s has containers %s: choose with -c", q.Pod, some(containers))
	}
	if q.Revision != "" {
		revisions := names(all, func(a Attempt) string { return a.Revision })
		all = keep(all, func(a Attempt) bool { return a.Revision == q.Revision })
		if len(all) == 0 {
			if len(revisions) == 0 {
				return nil, fmt.Errorf("nothing is kept of revision %s: no attempt that is kept names a revision", q.Revision)
			}
			return nil, fmt.Errorf("nothing is kept of revision %s; there are %s", q.Revision, some(revisions))
		}
	}
	return all, nil
}

// pick chooses among records, oldest first, followed by live attempts, oldest
// first.
func (q Query) pick(all []Attempt) ([]Attempt, error) {
	records := keep(all, func(a Attempt) bool { return a.Meta != nil })
	switch {
	case q.All:
		return all, nil
	case q.Crash != "":
		return q.byID(records)
	case len(records) == 0 && (q.Previous > 0 || q.First):
		return nil, fmt.Errorf("pod %s, container %s: no ended attempt is kept", all[0].Pod, all[0].Container)
	case q.Previous > len(records):
		return nil, fmt.Errorf("pod %s, container %s: previous attempt %d is not kept; the oldest that is: --previous=%d", all[0].Pod, all[0].Container, q.Previous, len(records))
	case q.Previous > 0:
		return records[len(records)-q.Previous:][:1], nil
	case q.First:
		return first(records), nil
	}
	return all[len(all)-1:], nil
}

func (q Query) byID(records []Attempt) ([]Attempt, error) {
	found := keep(records, func(a Attempt) bool { return strings.HasPrefix(a.Meta.ID, q.Crash) })
	if exact := keep(found, func(a Attempt) bool { return a.Meta.ID == q.Crash }); len(exact) > 0 {
		found = exact
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no record ID starts with %s; the command crashes lists them", q.Crash)
	case 1:
		return found, nil
	}
	ids := names(found, func(a Attempt) string { return a.Identity() + " " + a.Meta.ID })
	return nil, fmt.Errorf("record ID %s could be %s", q.Crash, some(ids))
}

// first is the lowest of the series that the newest record belongs to.
func first(records []Attempt) []Attempt {
	newest := records[len(records)-1].Meta.Series.Began
	best := 0
	if newest != nil {
		best = slices.IndexFunc(records, func(a Attempt) bool {
			began := a.Meta.Series.Began
			return began != nil && began.Equal(*newest)
		})
	}
	return records[best : best+1]
}

func keep(all []Attempt, want func(Attempt) bool) []Attempt {
	var kept []Attempt
	for _, a := range all {
		if want(a) {
			kept = append(kept, a)
		}
	}
	return kept
}

func names(all []Attempt, name func(Attempt) string) []string {
	set := map[string]bool{}
	for _, a := range all {
		set[name(a)] = true
	}
	delete(set, "")
	return sortedKeys(set)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// some is for a message of one line.
func some(all []string) string {
	const most = 10
	switch {
	case len(all) == 0:
		return "none"
	case len(all) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return strings.Join(all, ", ")
}

func podName(namespace, pod string) string {
	if namespace == "" {
		return pod
	}
	return namespace + "/" + pod
}
