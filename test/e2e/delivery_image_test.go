package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// registryAddress is where the node finds the registry, repository what it
	// pulls there.
	registryAddress = "127.0.0.1:5000"
	repository      = registryAddress + "/nodekeeper/nodekeeper"
	pushPath        = "/v2/nodekeeper/nodekeeper"
	// The node's pull secret.
	pullUser, pullPassword = "node", "pull"
)

// imageStore is a registry beside the node. It wants the node's pull secret.
type imageStore struct {
	handler http.Handler

	mu    sync.Mutex // guards the rest
	asked int        // requests since the last reset
	hangs bool       // answers nothing
}

func newImageStore() *imageStore {
	return &imageStore{handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
}

// ServeHTTP is what the node meets.
func (i *imageStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.asked++
	hangs := i.hangs
	i.mu.Unlock()
	if hangs {
		<-r.Context().Done()
		return
	}
	if user, password, _ := r.BasicAuth(); user != pullUser || password != pullPassword {
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	i.handler.ServeHTTP(w, r)
}

func (i *imageStore) hang(hangs bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.hangs = hangs
}

// requests are those since it was asked last.
func (i *imageStore) requests() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := i.asked
	i.asked = 0
	return n
}

// push puts an image into the registry and returns its reference by digest, as
// the node knows it.
func (i *imageStore) push(t *testing.T, image v1.Image) string {
	t.Helper()
	config, err := image.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	i.put(t, http.MethodPost, pushPath+"/blobs/uploads/?digest="+digestOf(t, image.ConfigName), "application/octet-stream", bytes.NewReader(config))
	for _, layer := range layers {
		blob, err := layer.Compressed()
		if err != nil {
			t.Fatal(err)
		}
		i.put(t, http.MethodPost, pushPath+"/blobs/uploads/?digest="+digestOf(t, layer.Digest), "application/octet-stream", blob)
		blob.Close()
	}
	return i.name(t, image)
}

// pushIndex is push for the images of several platforms.
func (i *imageStore) pushIndex(t *testing.T, index v1.ImageIndex) string {
	t.Helper()
	list, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range list.Manifests {
		image, err := index.Image(entry.Digest)
		if err != nil {
			t.Fatal(err)
		}
		i.push(t, image)
	}
	return i.name(t, index)
}

// described is an image or an index.
type described interface {
	RawManifest() ([]byte, error)
	MediaType() (types.MediaType, error)
	Digest() (v1.Hash, error)
}

func (i *imageStore) name(t *testing.T, of described) string {
	t.Helper()
	manifest, err := of.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	kind, err := of.MediaType()
	if err != nil {
		t.Fatal(err)
	}
	digest := digestOf(t, of.Digest)
	i.put(t, http.MethodPut, pushPath+"/manifests/"+digest, string(kind), bytes.NewReader(manifest))
	return repository + "@" + digest
}

// put is a request of a push, past the pull secret.
func (i *imageStore) put(t *testing.T, method, target, kind string, body io.Reader) {
	t.Helper()
	request := httptest.NewRequest(method, target, body)
	request.Header.Set("Content-Type", kind)
	answer := httptest.NewRecorder()
	i.handler.ServeHTTP(answer, request)
	if answer.Code != http.StatusCreated {
		t.Fatalf("push: %s %s: %d %s", method, target, answer.Code, answer.Body)
	}
}

func digestOf(t *testing.T, digest func() (v1.Hash, error)) string {
	t.Helper()
	hash, err := digest()
	if err != nil {
		t.Fatal(err)
	}
	return hash.String()
}

// builtImage is the image that is delivered, for this machine's platform only.
func builtImage(t *testing.T) v1.ImageIndex {
	t.Helper()
	dir, err := builtLayout()
	if err != nil {
		t.Fatalf("build the image: %v", err)
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := top.IndexManifest()
	if err != nil || len(list.Manifests) != 1 {
		t.Fatalf("layout %s: %v, %v", dir, list, err)
	}
	index, err := top.ImageIndex(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// builtVersion is what the programs in an index say of themselves.
func builtVersion(t *testing.T, index v1.ImageIndex) string {
	t.Helper()
	list, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	image, err := index.Image(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return config.Config.Labels["org.opencontainers.image.version"]
}

// builtLayout builds the image once, by the program that builds the one that is
// delivered; $NODEKEEPER_IMAGE is one that is there already.
var builtLayout = sync.OnceValues(func() (string, error) {
	if layout := os.Getenv("NODEKEEPER_IMAGE"); layout != "" {
		return layout, nil
	}
	dir := filepath.Join(filepath.Dir(os.Getenv("NODEKEEPER_BINARY")), "e2e")
	command := exec.Command("go", "run", ".", "build", "-only", "linux/"+runtime.GOARCH, "-out", dir)
	command.Dir = filepath.Join("..", "..", "tools", "image")
	command.Env = append(os.Environ(), "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, tail(string(out), 3))
	}
	return filepath.Join(dir, "image"), nil
})

// builtWith is an image with the agent under test, said to be another version,
// and the hook.
func builtWith(t *testing.T, version string) v1.Image {
	t.Helper()
	dir := t.TempDir()
	for name, from := range map[string]string{"nodekeeper": "./cmd/nodekeeper", "nodekeeper-hook": "./cmd/hook"} {
		command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+version, "-o", filepath.Join(dir, name), from)
		command.Dir = filepath.Join("..", "..")
		command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("build version %s: %v: %s", version, err, out)
		}
	}
	return imageOf(t, map[string]string{"nodekeeper": filepath.Join(dir, "nodekeeper"), "nodekeeper-hook": filepath.Join(dir, "nodekeeper-hook")})
}

// imageOf is an image from scratch with these programs in its root, by name.
func imageOf(t *testing.T, programs map[string]string) v1.Image {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for name, path := range programs {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("image: %v", err)
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(opener, tarball.WithCompressionLevel(gzip.BestSpeed))
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Config = v1.Config{Entrypoint: []string{"/nodekeeper"}}
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		t.Fatal(err)
	}
	return image
}
