package wire

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http/httptest"
	"testing"
)

func TestOnlyALongListIsCompressedAndOnlyForWhoTakesIt(t *testing.T) {
	for _, c := range []struct {
		name       string
		length     int
		accept     string
		compressed bool
	}{
		{"at the threshold", 128 << 10, "gzip", false},
		{"past the threshold", 128<<10 + 1, "gzip", true},
		{"past it, among others", 1 << 20, "br, gzip", true},
		{"past it, not taken", 1 << 20, "", false},
		{"past it, another one taken", 1 << 20, "br", false},
		{"past it, with a weight, which servers do not read", 1 << 20, "gzip;q=1.0", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := bytes.Repeat([]byte("x"), c.length)
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Accept-Encoding", c.accept)
			w := httptest.NewRecorder()
			if err := WriteList(w, r, Protobuf, body); err != nil {
				t.Fatal(err)
			}
			head := w.Header()
			if head.Get("Content-Type") != "application/vnd.kubernetes.protobuf" || head.Get("Cache-Control") != "no-cache, private" {
				t.Errorf("headers %v", head)
			}
			if (head.Get("Content-Encoding") == "gzip") != c.compressed || (head.Get("Vary") == "Accept-Encoding") != c.compressed {
				t.Errorf("headers %v", head)
			}
			got := io.Reader(w.Body)
			if c.compressed {
				if w.Body.Len() >= c.length {
					t.Errorf("%d bytes are sent for %d", w.Body.Len(), c.length)
				}
				var err error
				if got, err = gzip.NewReader(w.Body); err != nil {
					t.Fatal(err)
				}
			}
			if data, err := io.ReadAll(got); err != nil || !bytes.Equal(data, body) {
				t.Errorf("%d bytes arrive, %v", len(data), err)
			}
		})
	}
}
