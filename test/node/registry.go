package node

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nodekeeper/nodekeeper/test/node/components"
)

// RegistryAddress is one that CRI-O pulls from without TLS in every box. Nothing
// listens there before ServeRegistry.
const RegistryAddress = "127.0.0.1:5001"

// Registry gives the workload image under every name and tag, as an image that
// the node has not yet. All methods may be called concurrently.
type Registry struct {
	*Server

	program []byte

	mu      sync.Mutex // guards what follows
	slow    time.Duration
	refused bool
	pulls   map[string]int
	images  map[string]v1.Image // by name and tag
}

// ServeRegistry is a registry in the box at RegistryAddress. The caller closes
// it before the box is stopped.
func (b *Box) ServeRegistry(ctx context.Context) (*Registry, error) {
	program, err := os.ReadFile(filepath.Join(b.set.Programs, "workload"))
	if err != nil {
		return nil, err
	}
	r := &Registry{program: program, pulls: map[string]int{}, images: map[string]v1.Image{}}
	r.Server, err = b.Serve(ctx, RegistryAddress, r)
	return r, err
}

// Image is the reference of an image for a manifest. Each name is an image of
// its own, which is pulled once.
func (r *Registry) Image(name string) string { return RegistryAddress + "/" + name + ":latest" }

// SetSlow has the content of each image take that long from now on; it comes in
// small parts all the while.
func (r *Registry) SetSlow(span time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slow = span
}

// SetRefused answers that there are no images, or answers again.
func (r *Registry) SetRefused(refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = refused
}

// Pulls is how often the content of an image has been asked for.
func (r *Registry) Pulls(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pulls[name]
}

// ServeHTTP is the part of the registry's interface that a pull takes:
// /v2/NAME/manifests/TAG and /v2/NAME/blobs/DIGEST.
func (r *Registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	path := strings.TrimPrefix(request.URL.Path, "/v2/")
	if path == "" {
		return
	}
	name, kind, last := split(path)
	r.mu.Lock()
	refused, slow := r.refused, r.slow
	image, err := r.image(name)
	r.mu.Unlock()
	if refused || kind == "" || err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`)
		return
	}
	part, err := partOf(image, kind, last)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", part.media)
	w.Header().Set("Content-Length", fmt.Sprint(len(part.content)))
	if !part.layer || request.Method == http.MethodHead {
		_, _ = w.Write(part.content) // a client that has gone away asks again
		return
	}
	r.mu.Lock()
	r.pulls[name]++
	r.mu.Unlock()
	trickle(request.Context(), w, part.content, slow)
}

// trickle writes the content in a hundred parts, over the span.
func trickle(ctx context.Context, w http.ResponseWriter, content []byte, span time.Duration) {
	const parts = 100
	for part := range parts {
		from, to := len(content)*part/parts, len(content)*(part+1)/parts
		if _, err := w.Write(content[from:to]); err != nil {
			return
		}
		if span == 0 {
			continue
		}
		_ = http.NewResponseController(w).Flush() // nor does a client that has gone away mind
		select {
		case <-time.After(span / parts):
		case <-ctx.Done():
			return
		}
	}
}

// split takes NAME/KIND/LAST apart; the name may have slashes.
func split(path string) (name, kind, last string) {
	words := strings.Split(path, "/")
	if len(words) < 3 {
		return path, "", ""
	}
	return strings.Join(words[:len(words)-2], "/"), words[len(words)-2], words[len(words)-1]
}

// image needs mu. Its second half is random, but the same for the same name: a
// layer that the node has already would not be pulled.
func (r *Registry) image(name string) (v1.Image, error) {
	if made, ok := r.images[name]; ok {
		return made, nil
	}
	ballast := make([]byte, 1<<20)
	source := rand.NewChaCha8(sha256.Sum256([]byte(name)))
	_, _ = source.Read(ballast) // it never fails
	made, err := components.Image(map[string][]byte{"workload": r.program, "ballast": ballast})
	if err == nil {
		r.images[name] = made
	}
	return made, err
}

// part is one answer of a registry.
type part struct {
	content []byte
	media   string
	layer   bool
}

func partOf(image v1.Image, kind, last string) (part, error) {
	if kind == "manifests" {
		media, err := image.MediaType()
		if err != nil {
			return part{}, err
		}
		content, err := image.RawManifest()
		return part{content, string(media), false}, err
	}
	digest, err := v1.NewHash(last)
	if err != nil {
		return part{}, err
	}
	const blob = "application/octet-stream"
	if config, err := image.ConfigName(); err == nil && config == digest {
		content, err := image.RawConfigFile()
		return part{content, blob, false}, err
	}
	layer, err := image.LayerByDigest(digest)
	if err != nil {
		return part{}, err
	}
	compressed, err := layer.Compressed()
	if err != nil {
		return part{}, err
	}
	defer compressed.Close()
	content, err := io.ReadAll(compressed)
	return part{content, blob, true}, err
}
