package reader

import (
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// world has four crashes of etcd, the last three in one series, a crash of its
// side car, a live attempt of etcd, and a pod of the same name elsewhere.
func world() *record.Index {
	series := noon.Add(time.Minute)
	var x record.Index
	for n := range 4 {
		m := meta(n)
		m.Revision = "7"
		if n > 0 {
			m.Revision, m.Series = "8", record.Series{Began: &series, Index: n}
		}
		x.Records = append(x.Records, entryOf(m))
	}
	side := meta(9)
	side.Container, side.ContainerID = "readyz", "side"
	other := meta(10)
	other.Namespace, other.Pod = "other", "twin"
	twin := meta(11)
	twin.Pod = "twin"
	x.Records = append(x.Records, entryOf(side), entryOf(other), entryOf(twin))
	x.Live = []record.Live{{Path: record.LivePath("c4"), Birth: birth(4)}}
	return &x
}

func TestSelect(t *testing.T) {
	for name, c := range map[string]struct {
		q    Query
		want string // attempts, or a part of the error
	}{
		"live first":       {Query{Pod: "etcd-node1", Container: "etcd"}, "4"},
		"dead if not live": {Query{Pod: "etcd-node1", Container: "readyz"}, "9"},
		"previous":         {Query{Pod: "etcd-node1", Container: "etcd", Previous: 1}, "3"},
		"k-th previous":    {Query{Pod: "etcd-node1", Container: "etcd", Previous: 4}, "0"},
		"first of series":  {Query{Pod: "etcd-node1", Container: "etcd", First: true}, "1"},
		"first, no series": {Query{Pod: "etcd-node1", Container: "readyz", First: true}, "9"},
		"revision":         {Query{Pod: "etcd-node1", Container: "etcd", Revision: "7"}, "0"},
		"all":              {Query{Pod: "etcd-node1", Container: "etcd", All: true}, "0 1 2 3 4"},
		"all containers":   {Query{Namespace: "kube-system", Pod: "etcd-node1", All: true}, "0 1 2 3 9 4"},
		"everything":       {Query{All: true}, "0 1 2 3 9 10 11 4"},
		"by ID":            {Query{Crash: world().Records[2].ID}, "2"},
		"by prefix":        {Query{Crash: "20261130T1159"}, "0"},
		"namespace":        {Query{Namespace: "other", Pod: "twin"}, "10"},

		"which container":   {Query{Pod: "etcd-node1"}, "pod etcd-node1 has containers etcd, readyz: choose with -c"},
		"which namespace":   {Query{Pod: "twin"}, "pod twin is in namespaces kube-system, other: choose with -n"},
		"no such pod":       {Query{Namespace: "kube-system", Pod: "etcd"}, "nothing is kept of pod kube-system/etcd; there are kube-system/etcd-node1, kube-system/twin, other/twin"},
		"no such container": {Query{Pod: "etcd-node1", Container: "x"}, "nothing is kept of container x in pod etcd-node1; there are etcd, readyz"},
		"no such revision":  {Query{Pod: "etcd-node1", Container: "etcd", Revision: "9"}, "nothing is kept of revision 9; there are 7, 8"},
		"no revisions":      {Query{Pod: "etcd-node1", Container: "readyz", Revision: "9"}, "no attempt that is kept names a revision"},
		"no such ID":        {Query{Crash: "2027"}, "no record ID starts with 2027; the command crashes lists them"},
		"ambiguous":         {Query{Crash: "20261130T12"}, "record ID 20261130T12 could be "},
		"too far back":      {Query{Pod: "etcd-node1", Container: "etcd", Previous: 5}, "previous attempt 5 is not kept; the oldest that is: --previous=4"},
		"no pod":            {Query{}, "which pod?"},
		"negative":          {Query{Pod: "a", Previous: -1}, "1 is the newest"},
		"two ways":          {Query{Pod: "a", First: true, All: true}, "choose one of"},
	} {
		t.Run(name, func(t *testing.T) {
			attempts, err := Select(world(), c.q)
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v", err)
				}
				return
			}
			var got []string
			for _, a := range attempts {
				_, n, _ := strings.Cut(a.Identity(), "#")
				got = append(got, n)
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("attempts %s, want %s", s, c.want)
			}
		})
	}
}

func TestAContainerThatNeverEndedHasNoPreviousAttempt(t *testing.T) {
	x := &record.Index{Live: world().Live}
	for _, q := range []Query{{Pod: "etcd-node1", Previous: 1}, {Pod: "etcd-node1", First: true}} {
		if _, err := Select(x, q); err == nil || err.Error() != "pod etcd-node1, container etcd: no ended attempt is kept" {
			t.Errorf("%+v: error %v", q, err)
		}
	}
}

func TestNothingIsSelectedOfAnEmptyIndex(t *testing.T) {
	for _, q := range []Query{{Pod: "a"}, {Pod: "a", First: true}, {Pod: "a", Previous: 1}, {Crash: "2"}} {
		if got, err := Select(&record.Index{}, q); err == nil {
			t.Errorf("%+v: %+v", q, got)
		}
	}
	if got, err := Select(&record.Index{}, Query{All: true}); err != nil || len(got) != 0 {
		t.Errorf("%+v, error %v", got, err)
	}
}
