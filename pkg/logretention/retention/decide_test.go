package retention

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

var now = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

const mib = 1 << 20

// limits of the default settings on a disk of 100 GiB.
func limits() Limits { return For(config.Default().Logs.Retention, 100<<30) }

// disk has more free than any limit asks for.
var disk = Disk{Free: 90 << 30, Size: 100 << 30, FreeInodes: 900000, Inodes: 1000000}

// crashes are n records of one series of a container, a minute apart, the last
// one a minute ago.
func crashes(container string, n int, change ...func(*Item)) []Item {
	items := make([]Item, n)
	for i := range items {
		finish := now.Add(-time.Duration(n-i) * time.Minute)
		items[i] = Item{
			Path: fmt.Sprintf("%s/%d", container, i+1), Container: container, PodUID: "uid-1", Boot: "boot-1",
			Start: finish.Add(-time.Second), Finish: finish, Began: now.Add(-time.Duration(n) * time.Minute), Index: i + 1,
			Class: record.Crash, Bytes: mib, Log: mib,
		}
		for _, c := range change {
			c(&items[i])
		}
	}
	return items
}

// say is one line per decision, without its reason.
func say(decisions []Decision) string {
	var lines []string
	for _, d := range decisions {
		lines = append(lines, fmt.Sprintf("%s %s", d.Act, d.Path))
	}
	return strings.Join(lines, ", ")
}

func TestDecide(t *testing.T) {
	generation := func(uid string, age time.Duration) func(*Item) {
		return func(i *Item) {
			i.PodUID, i.Path = uid, i.Path+uid
			i.Finish, i.Began = i.Finish.Add(-age), i.Began.Add(-age)
		}
	}
	cases := map[string]struct {
		limits func(*Limits)
		disk   func(*Disk)
		items  []Item
		want   string
	}{
		"nothing to do": {items: crashes("a", 7)},
		"eight crashes: the first 2 and the last 5 stay": {
			items: crashes("a", 8), want: "evict a/3",
		},
		"what was evicted before is not counted again": {
			items: slices.Delete(crashes("a", 20), 2, 15),
		},
		"a record on hold stays beyond the share": {
			items: crashes("a", 8, func(i *Item) { i.Held = i.Index == 3 }),
		},
		"too old": {
			items: crashes("a", 2, func(i *Item) { i.Finish = i.Finish.Add(-15 * 24 * time.Hour) }),
			want:  "evict a/1, evict a/2",
		},
		"the newest of the last 2 revisions stay": {
			items: slices.Concat(
				crashes("a", 6),
				crashes("a", 3, generation("uid-2", time.Hour)),
				crashes("a", 1, generation("uid-3", 2*time.Hour)),
				crashes("a", 1, generation("uid-4", 3*time.Hour)),
			),
			want: "evict a/1uid-4, evict a/1uid-2, evict a/2uid-2",
		},
		"a long record is trimmed": {
			items: crashes("a", 1, func(i *Item) { i.Log, i.Bytes = 100*mib, 100*mib }),
			want:  "trim a/1",
		},
		"a long record that the kubelet holds costs nothing": {
			items: crashes("a", 1, func(i *Item) { i.Log, i.Bytes = 0, 4096 }),
		},
		"too many records: the middle of the longest series": {
			limits: func(l *Limits) { l.MaxRecords = 8 },
			items:  append(crashes("a", 4), crashes("b", 6)...),
			want:   "evict b/2, evict b/3",
		},
		"no trouble goes first among equals": {
			limits: func(l *Limits) { l.MaxRecords = 5 },
			items: crashes("a", 6, func(i *Item) {
				if i.Index == 4 {
					i.Class = record.Completed
				}
			}),
			want: "evict a/4",
		},
		"the only record of a container outlives the extras of others": {
			limits: func(l *Limits) { l.MaxRecords = 3 },
			items:  append(crashes("a", 2), append(crashes("b", 1), crashes("c", 1)...)...),
			want:   "evict a/1",
		},
		"and goes when there are none": {
			limits: func(l *Limits) { l.MaxRecords = 1 },
			items:  append(crashes("b", 1), crashes("c", 1)...),
			want:   "evict b/1",
		},
		"too much: the middle, then tails, before the first crash goes": {
			limits: func(l *Limits) { l.MaxUse = 2 * mib },
			items:  crashes("a", 4),
			want:   "evict a/2, evict a/3",
		},
		"too much of what matters: tails": {
			limits: func(l *Limits) { l.MaxUse = mib },
			items:  crashes("a", 2),
			want:   "tail only a/1, tail only a/2",
		},
		"still too much: metadata": {
			limits: func(l *Limits) { l.MaxUse = 20 << 10 },
			items:  crashes("a", 2),
			want:   "metadata only a/1, metadata only a/2",
		},
		"no room at all": {
			limits: func(l *Limits) { l.MaxUse = 5 << 10 },
			items:  crashes("a", 2),
			want:   "metadata only a/2, evict a/1",
		},
		"a disk that is full of images leaves small logs alone": {
			disk:  func(d *Disk) { d.Free = 12 << 30 },
			items: crashes("a", 7),
		},
		"and less of large ones": {
			limits: func(l *Limits) { l.MaxUse = 10 * mib },
			disk:   func(d *Disk) { d.Free = 12 << 30 },
			items:  crashes("a", 3),
			want:   "evict a/2",
		},
		"close to where the kubelet evicts pods: tails": {
			limits: func(l *Limits) { l.MaxUse = 10 * mib },
			disk:   func(d *Disk) { d.Free = 10<<30 + 600*mib },
			items:  crashes("a", 2),
			want:   "tail only a/1, tail only a/2",
		},
		"the disk is full, of others': no fact is lost": {
			disk:  func(d *Disk) { d.Free = 0 },
			items: append(crashes("a", 3), crashes("b", 1)...),
			want:  "evict a/2, metadata only a/1, metadata only a/3, metadata only b/1",
		},
		"what the kubelet holds does not help": {
			disk:  func(d *Disk) { d.Free = 0 },
			items: crashes("a", 7, func(i *Item) { i.Bytes, i.Log = 0, 0 }),
		},
		"few inodes": {
			disk:  func(d *Disk) { d.FreeInodes = 79997 },
			items: crashes("a", 7),
			want:  "evict a/2, evict a/3",
		},
		"a size that is not known asks for nothing": {
			disk:  func(d *Disk) { *d = Disk{} },
			items: crashes("a", 7),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l, d := limits(), disk
			if c.limits != nil {
				c.limits(&l)
			}
			if c.disk != nil {
				c.disk(&d)
			}
			got := Decide(l, now, d, c.items)
			if diff := cmp.Diff(c.want, say(got)); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
			for _, x := range got {
				if x.Reason == "" || strings.Contains(x.Reason, "\n") {
					t.Errorf("%s: reason %q", x.Path, x.Reason)
				}
			}
		})
	}
}

func TestTheSmallerOfTwoLimitsHolds(t *testing.T) {
	r := config.Default().Logs.Retention
	for fs, want := range map[int64]int64{0: 2 << 30, 100 << 30: 2 << 30, 20 << 30: 1 << 30} {
		if got := For(r, fs).MaxUse; got != want {
			t.Errorf("on %d bytes: %d, want %d", fs, got, want)
		}
	}
}

// The clock was set back by a day: the index of the series still says which
// record is the newest.
func TestAClockStepDoesNotMakeTheNewestTheOldest(t *testing.T) {
	items := crashes("a", 8)
	for i := 5; i < 8; i++ {
		items[i].Finish = items[i].Finish.Add(-24 * time.Hour)
	}
	if got := say(Decide(limits(), now, disk, items)); got != "evict a/3" {
		t.Error(got)
	}
}
