package main

import (
	"testing"

	"google.golang.org/grpc/codes"
)

func TestCodeOf(t *testing.T) {
	for name, want := range map[string]codes.Code{
		"DeadlineExceeded": codes.DeadlineExceeded,
		"notfound":         codes.NotFound,
		"":                 codes.Unavailable,
		"nonsense":         codes.Unavailable,
	} {
		if got := codeOf(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

func TestBytesCodecCopies(t *testing.T) {
	wire := []byte("abc")
	var message []byte
	if err := (bytesCodec{}).Unmarshal(wire, &message); err != nil {
		t.Fatal(err)
	}
	wire[0] = 'x'
	if string(message) != "abc" {
		t.Errorf("message changed with the wire's buffer: %q", message)
	}
	if _, err := (bytesCodec{}).Marshal("text"); err == nil {
		t.Error("a string was taken for a message")
	}
}
