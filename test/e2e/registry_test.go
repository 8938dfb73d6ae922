package e2e

import (
	"errors"
	"io"
	"net/http"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// serveImage is a registry in the box that gives one image for every name and
// tag.
func (s *scene) serveImage(address string, image v1.Image) {
	s.Helper()
	listener, err := s.box.Listen(s.ctx, "tcp", address)
	s.must(err, "listen in the box")
	server := &http.Server{Handler: oneImage{image}}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	s.Cleanup(func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			s.Errorf("registry: %v", err)
		}
	})
}

// oneImage is the part of the registry's interface that a pull takes.
type oneImage struct{ v1.Image }

func (i oneImage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v2/" {
		return
	}
	data, kind, err := i.find(r.URL.Path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(data) // a client that has gone away pulls again
}

func (i oneImage) find(path string) (data []byte, kind string, err error) {
	if strings.Contains(path, "/manifests/") {
		media, err := i.MediaType()
		if err != nil {
			return nil, "", err
		}
		data, err := i.RawManifest()
		return data, string(media), err
	}
	digest, err := v1.NewHash(path[strings.LastIndex(path, "/")+1:])
	if err != nil {
		return nil, "", err
	}
	kind = "application/octet-stream"
	if config, err := i.ConfigName(); err == nil && config == digest {
		data, err := i.RawConfigFile()
		return data, kind, err
	}
	layer, err := i.LayerByDigest(digest)
	if err != nil {
		return nil, "", err
	}
	blob, err := layer.Compressed()
	if err != nil {
		return nil, "", err
	}
	defer blob.Close()
	data, err = io.ReadAll(blob)
	return data, kind, err
}
