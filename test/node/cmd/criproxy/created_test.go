package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestSubjectHasTheCreation(t *testing.T) {
	c := &created{requests: map[string][]byte{}}
	first, second := strings.Repeat("a1", 32), strings.Repeat("b2", 32)
	c.note([]byte("\x0a\x04main"), []byte("\n@"+first))
	c.note([]byte("\x0a\x04side"), []byte("\n@"+second))
	got := c.subject([]byte("\n@" + first))
	if !bytes.Contains(got, []byte(first)) || !bytes.Contains(got, []byte("main")) || bytes.Contains(got, []byte("side")) {
		t.Errorf("%q", got)
	}
	if got := c.subject([]byte("nothing")); string(got) != "nothing" {
		t.Errorf("%q", got)
	}
}
