package main

import (
	"reflect"
	"testing"
)

func TestAPanicIsALineInTheJournal(t *testing.T) {
	r := &run{}
	func() {
		defer r.rescue()
		panic("first\nsecond")
	}()
	if want := []string{"panic: first; second"}; !reflect.DeepEqual(r.journal.said, want) {
		t.Errorf("it says %q", r.journal.said)
	}
}
