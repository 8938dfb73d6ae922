package retention

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"pgregory.net/rapid"
)

func drawItems(t *rapid.T) []Item {
	var items []Item
	for c := range rapid.IntRange(1, 4).Draw(t, "containers") {
		container := fmt.Sprintf("pod/%d", c)
		began, index := now.Add(-time.Duration(rapid.IntRange(1, 400).Draw(t, "age"))*time.Hour), 0
		finish, uid := began, 0
		for n := range rapid.IntRange(1, 12).Draw(t, "records") {
			finish = finish.Add(time.Duration(rapid.IntRange(1, 3600).Draw(t, "pause")) * time.Second)
			index++
			switch rapid.IntRange(0, 9).Draw(t, "event") {
			case 0:
				uid++
				began, index = finish, 1
			case 1:
				began, index = finish, 1
			case 2:
				index += 3 // some were evicted
			}
			log := rapid.Int64Range(0, 100<<20).Draw(t, "log")
			items = append(items, Item{
				Path: fmt.Sprintf("%s/%d", container, n), Container: container,
				PodUID: fmt.Sprint(uid), Boot: fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "boot")),
				Start: finish.Add(-time.Second), Finish: finish, Began: began, Index: index,
				Class: rapid.SampledFrom(record.Classes[:]).Draw(t, "class"),
				Log:   log, Bytes: log + 8192, Held: rapid.IntRange(0, 9).Draw(t, "held") == 0,
			})
		}
	}
	return items
}

func drawLimits(t *rapid.T) Limits {
	return Limits{
		MaxUse: rapid.Int64Range(0, 300<<20).Draw(t, "maxUse"), KeepFree: rapid.Int64Range(0, 1<<30).Draw(t, "keepFree"),
		MaxAge: time.Duration(rapid.IntRange(1, 400).Draw(t, "maxAge")) * time.Hour, MaxRecords: rapid.IntRange(1, 40).Draw(t, "maxRecords"),
		KeepFreeInodes: 8, MaxBytesPerRecord: rapid.Int64Range(4096, 64<<20).Draw(t, "maxBytes"),
		First: rapid.IntRange(0, 3).Draw(t, "first"), Last: rapid.IntRange(1, 5).Draw(t, "last"), Generations: rapid.IntRange(0, 3).Draw(t, "generations"),
	}
}

// carryOut is what the store does, in numbers.
func carryOut(l Limits, d Disk, items []Item, decisions []Decision) (Disk, []Item) {
	acts := map[string]Act{}
	for _, x := range decisions {
		acts[x.Path] = x.Act
	}
	var left []Item
	for _, i := range items {
		act, ok := acts[i.Path]
		before := i.Bytes
		if !ok {
			left = append(left, i)
			continue
		}
		to := map[Act]int64{Trim: l.MaxBytesPerRecord, TailOnly: TailBytes, MetaOnly: MetadataBytes}[act]
		if act == Evict {
			d.Free, d.FreeInodes = d.Free+before, d.FreeInodes+2
			continue
		}
		i.Bytes -= i.Log - to
		i.Log = to
		d.Free += before - i.Bytes
		left = append(left, i)
	}
	return d, left
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, l := drawItems(t), drawLimits(t)
		size := int64(2 << 30)
		d := Disk{Free: rapid.Int64Range(0, size).Draw(t, "free"), Size: size, Inodes: 1000, FreeInodes: rapid.Int64Range(60, 1000).Draw(t, "freeInodes")}
		decisions := Decide(l, now, d, items)

		shuffled := append([]Item(nil), items...)
		rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed"))).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if again := Decide(l, now, d, shuffled); !reflect.DeepEqual(decisions, again) {
			t.Fatalf("another order, other decisions:\n%v\n%v", decisions, again)
		}

		seen := map[string]bool{}
		byPath := map[string]Item{}
		for _, i := range items {
			byPath[i.Path] = i
		}
		for _, x := range decisions {
			if seen[x.Path] {
				t.Fatalf("%s is decided twice", x.Path)
			}
			seen[x.Path] = true
			if byPath[x.Path].Held {
				t.Fatalf("%s of a record on hold", x.Act)
			}
		}

		after, left := carryOut(l, d, items, decisions)
		if again := Decide(l, now, after, left); len(again) != 0 {
			t.Fatalf("not done: %v\nafter %v", again, decisions)
		}
		held, use := 0, int64(0)
		for _, i := range left {
			if i.Held {
				held++
			}
			use += i.Bytes
		}
		if len(left) > max(l.MaxRecords, held) {
			t.Fatalf("%d records, %d of them on hold, at most %d", len(left), held, l.MaxRecords)
		}
		if held == 0 && use > l.MaxUse {
			t.Fatalf("%d bytes, at most %d", use, l.MaxUse)
		}
	})
}

// With room enough, the first of the current series and the newest stay.
func TestTheShareIsSafeWhenThereIsRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, l := drawItems(t), drawLimits(t)
		l.MaxUse, l.KeepFree, l.KeepFreeInodes, l.MaxRecords, l.MaxAge = 1<<50, 0, 0, 1000, 10000*time.Hour
		evicted := map[string]bool{}
		for _, x := range Decide(l, now, disk, items) {
			if x.Act == Evict {
				evicted[x.Path] = true
			} else if x.Act != Trim {
				t.Fatalf("%s although there is room", x.Act)
			}
		}
		newest := map[string]Item{}
		for _, i := range items {
			newest[i.Container] = i // they are drawn in the order of time
		}
		for _, i := range items {
			n := newest[i.Container]
			first := i.PodUID == n.PodUID && i.Began.Equal(n.Began) && i.Index <= l.First
			if evicted[i.Path] && (first || i.Path == n.Path) {
				t.Fatalf("%s is evicted", i.Path)
			}
		}
	})
}
