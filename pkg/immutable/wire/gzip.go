package wire

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
)

// gzipThreshold is the length in bytes up to which a list is sent as it is, and
// gzipLevel how hard a longer one is pressed: apiserver
// pkg/endpoints/handlers/responsewriters/writers.go, v1.37.
const (
	gzipThreshold = 128 << 10
	gzipLevel     = 1
)

// WriteList answers a LIST with a body that EncodeList made, with the headers
// of a server: compressed if it is long and the client takes gzip. The error is
// that of the connection.
func WriteList(w http.ResponseWriter, r *http.Request, enc Encoding, body []byte) error {
	header := w.Header()
	header.Set("Cache-Control", "no-cache, private")
	header.Set("Content-Type", enc.ContentType())
	if len(body) <= gzipThreshold || !takesGzip(r.Header.Get("Accept-Encoding")) {
		w.WriteHeader(http.StatusOK)
		if _, err := w.Write(body); err != nil {
			return fmt.Errorf("write list: %w", err)
		}
		return nil
	}
	header.Set("Content-Encoding", "gzip")
	header.Add("Vary", "Accept-Encoding")
	w.WriteHeader(http.StatusOK)
	out, err := gzip.NewWriterLevel(w, gzipLevel)
	if err == nil {
		_, err = out.Write(body)
	}
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		return fmt.Errorf("write list: %w", err)
	}
	return nil
}

// takesGzip reads Accept-Encoding as a server does, for which a weighted gzip is
// none: compression.go ContentEncodingSupported.
func takesGzip(accept string) bool {
	for encoding := range strings.SplitSeq(accept, ",") {
		if strings.TrimSpace(encoding) == "gzip" {
			return true
		}
	}
	return false
}
