package node

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func TestRegistry(t *testing.T) {
	r := &Registry{program: []byte("program"), pulls: map[string]int{}, images: map[string]v1.Image{}}
	server := httptest.NewServer(r)
	defer server.Close()
	get := func(path string) (int, string) {
		t.Helper()
		answer, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	manifest := func(name string) *v1.Manifest {
		t.Helper()
		if _, err := r.image(name); err != nil {
			t.Fatal(err)
		}
		m, err := r.images[name].Manifest()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	one, other := manifest("team/one"), manifest("other")
	layer := one.Layers[0].Digest
	if layer == other.Layers[0].Digest {
		t.Error("two names are one image")
	}
	if code, body := get("/v2/team/one/manifests/latest"); code != 200 || len(body) == 0 {
		t.Errorf("manifest: %d %s", code, body)
	}
	if code, body := get("/v2/team/one/blobs/" + one.Config.Digest.String()); code != 200 || len(body) != int(one.Config.Size) {
		t.Errorf("configuration: %d %s", code, body)
	}
	begin := time.Now()
	r.SetSlow(300 * time.Millisecond)
	if code, body := get("/v2/team/one/blobs/" + layer.String()); code != 200 || len(body) != int(one.Layers[0].Size) {
		t.Errorf("layer: %d, %d bytes", code, len(body))
	}
	if took := time.Since(begin); took < 300*time.Millisecond {
		t.Errorf("it took %v", took)
	}
	if r.Pulls("team/one") != 1 || r.Pulls("other") != 0 {
		t.Errorf("pulls: %v", r.pulls)
	}
	r.SetRefused(true)
	if code, _ := get("/v2/team/one/manifests/latest"); code != http.StatusNotFound {
		t.Errorf("refused: %d", code)
	}
	if code, _ := get("/v2/"); code != http.StatusOK {
		t.Errorf("refused, and asked whether it is a registry: %d", code)
	}
}
