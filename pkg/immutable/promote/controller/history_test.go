package controller

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
)

var start = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func object(uid, version, data string) promote.Object {
	return promote.Object{
		Resource:  promote.ConfigMaps,
		Meta:      metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version},
		Namespace: metav1.ObjectMeta{ResourceVersion: "1"},
		Content:   &promote.Content{Text: map[string]string{"k": data}},
	}
}

func TestContentAgesFromItsFirstSight(t *testing.T) {
	h := newHistory(nil)
	since := func(o promote.Object, days int) int {
		t.Helper()
		at, room := h.observe(o, start.Add(time.Duration(days)*24*time.Hour))
		if !room {
			t.Fatal("no room")
		}
		return int(at.Sub(start).Hours()) / 24
	}
	for _, look := range []struct {
		o         promote.Object
		day, want int
	}{
		{object("u", "1", "a"), 0, 0},
		{object("u", "1", "a"), 3, 0},
		{object("u", "2", "a"), 4, 0}, // only metadata
		{object("u", "3", "b"), 5, 5},
		{object("u", "4", "a"), 6, 6}, // back again is another change
		{object("v", "9", "a"), 7, 7}, // deleted and made again
	} {
		if got := since(look.o, look.day); got != look.want {
			t.Errorf("version %s on day %d: since day %d, want %d", look.o.Meta.ResourceVersion, look.day, got, look.want)
		}
	}
	// A refusal in between does not make it younger.
	h.settle(object("v", "10", "a"), promote.RuleDeployed)
	if got := since(object("v", "11", "a"), 9); got != 7 {
		t.Errorf("since day %d after a refusal", got)
	}
}

func TestWhatIsRememberedHoldsForOneVersionOfObjectAndNamespace(t *testing.T) {
	h := newHistory(nil)
	o := object("u", "1", "a")
	h.settle(o, promote.RuleImmutable)
	if r, same := h.recall(o); !same || r.Rule != promote.RuleImmutable {
		t.Errorf("%+v, %v", r, same)
	}
	o.Namespace.ResourceVersion = "2"
	if _, same := h.recall(o); same {
		t.Error("the namespace has changed")
	}
	if _, same := h.recall(object("u", "2", "a")); same {
		t.Error("the object has changed")
	}
	if _, same := h.recall(object("w", "1", "a")); same {
		t.Error("another is not known")
	}
}

func TestTheHistoryIsBounded(t *testing.T) {
	h := newHistory(nil)
	kept := 0
	for i := range 2 * shards * maxRecords {
		if h.put(types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i)), record{
			Version: "18446744073709551615", Namespace: "18446744073709551615", Print: "AAAAAAAAAAAAAAAAAAAAAA", Since: start.Unix(), Rule: promote.RuleAccountPull,
		}) {
			kept++
		}
	}
	if kept != shards*maxRecords {
		t.Errorf("%d kept", kept)
	}
	for i := range h.shards {
		text, err := json.Marshal(h.shards[i].records)
		if err != nil || len(text) > 1<<20 {
			t.Errorf("a full shard has %d bytes, more than a Secret takes: %v", len(text), err)
		}
	}
	// One that is known always has room.
	for uid, r := range h.shards[0].records {
		r.Version = "1"
		if !h.put(uid, r) {
			t.Error("a known object has no room")
		}
		break
	}
	h.dropUnseen()
	for i := range h.shards {
		if n := len(h.shards[i].records); n != 0 {
			t.Errorf("%d records of objects that are gone", n)
		}
	}
}
