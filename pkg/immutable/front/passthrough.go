package front

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"sync"
)

// replayLimit is the largest body that is read before it is sent, so that it
// can be sent again where the API server closed the connection meanwhile. A
// kubelet that speaks to it directly does the same.
const replayLimit = 256 << 10

// copyBuffer is what a response that is passed through holds for as long as it
// lasts: a frame.
const copyBuffer = 16 << 10

// NewPassThrough makes the handler that passes requests on untouched.
func NewPassThrough(u *Upstream, log *slog.Logger) http.Handler {
	p := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { rewrite(r, u) },
		Transport:     u,
		FlushInterval: -1,
		BufferPool:    &buffers{},
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				panic(http.ErrAbortHandler) // the kubelet has gone
			}
			log.Debug("no answer of the API server", "error", err)
			unavailable(w)
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !replayable(r) {
			panic(http.ErrAbortHandler)
		}
		// Go's server would add what the API server left out.
		w.Header()["Content-Type"] = nil
		w.Header()["Date"] = nil
		p.ServeHTTP(w, r)
	})
}

// forwarded are headers that ReverseProxy takes away. Nothing is added to them,
// or the audit log would name 127.0.0.1, but what is there stays.
var forwarded = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

func rewrite(r *httputil.ProxyRequest, u *Upstream) {
	target := u.Target()
	r.Out.URL.Scheme, r.Out.URL.Host = target.URL.Scheme, target.URL.Host
	r.Out.Host = target.URL.Host
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	for _, name := range forwarded {
		if values, ok := r.In.Header[name]; ok {
			r.Out.Header[name] = values
		}
	}
	if kept, ok := r.In.Body.(*keptBody); ok {
		r.Out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(kept.content)), nil }
	}
}

type keptBody struct {
	*bytes.Reader
	content []byte
}

func (*keptBody) Close() error { return nil }

// replayable keeps a small body. It is false if the body did not come.
func replayable(r *http.Request) bool {
	if r.ContentLength <= 0 || r.ContentLength > replayLimit {
		return true
	}
	content := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, content); err != nil {
		return false
	}
	r.Body = &keptBody{bytes.NewReader(content), content}
	return true
}

// UnreachableHeader marks answers of the proxy where the API server gave none.
const UnreachableHeader = "Nodekeeper-Unreachable"

// unavailable says that there was no answer, as an API server says it. There is
// no Retry-After: client-go would wait for it inside the request.
func unavailable(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(UnreachableHeader, "true")
	delete(w.Header(), "Date")
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure",
		"message": "the API server does not answer", "reason": "ServiceUnavailable", "code": http.StatusServiceUnavailable,
	})
}

type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[copyBuffer]byte); ok {
		return p[:]
	}
	return make([]byte, copyBuffer)
}

func (b *buffers) Put(p []byte) {
	// It may have held a Secret.
	clear(p)
	b.pool.Put((*[copyBuffer]byte)(p))
}
