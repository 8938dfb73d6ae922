package spool

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
)

// A prefix, a file with a hole and a file whose end is that of another one
// never yield an event.
func TestTornFilesNeverYieldAnEvent(t *testing.T) {
	whole, err := encode(event("c1"))
	do(t, err)
	other, err := encode(event("c2"))
	do(t, err)
	if got, err := decode(whole); err != nil || !reflect.DeepEqual(got, event("c1")) {
		t.Fatalf("whole: %+v, %v", got, err)
	}
	for i := range whole {
		for what, torn := range map[string][]byte{
			"prefix": whole[:i],
			"hole":   append(bytes.Repeat([]byte{0}, i+1), whole[i+1:]...),
			"end":    append(bytes.Clone(whole[:i]), make([]byte, len(whole)-i)...),
			"mixed":  append(bytes.Clone(whole[:i]), other[i:]...),
			"more":   append(bytes.Clone(whole), whole[:i+1]...),
		} {
			if bytes.Equal(torn, whole) || bytes.Equal(torn, other) {
				continue
			}
			if e, err := decode(torn); err == nil {
				t.Errorf("%s at %d: %+v", what, i, e)
			}
		}
	}
}

func TestAnEventTooLargeIsNotPut(t *testing.T) {
	e := event("c1")
	e.Detail = strings.Repeat("x", maxEvent)
	if err := New(t.TempDir(), 0).Put(e); err == nil {
		t.Error("put")
	}
}

func FuzzDecode(f *testing.F) {
	whole, err := encode(event("c1"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte("{}\n00000000\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decode(data)
		if err != nil {
			if !reflect.DeepEqual(e, lifecycle.Event{}) {
				t.Errorf("an event comes with %v", err)
			}
			return
		}
		again, err := encode(e)
		if err != nil {
			t.Skip("the event became larger: ", err)
		}
		if got, err := decode(again); err != nil || got.ContainerID != e.ContainerID || got.Kind != e.Kind {
			t.Errorf("%+v becomes %+v, %v", e, got, err)
		}
	})
}
