package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nodekeeper/nodekeeper/internal/cli"
)

// unreachable is the network when nobody answers.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

func TestAnAddressThatNoKubeconfigNamedIsDoubted(t *testing.T) {
	for host, doubted := range map[string]bool{"http://localhost:8080": true, "https://api.test:6443": false} {
		server, err := connect(&rest.Config{Host: host, Transport: unreachable{}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = server.get(context.Background(), "/api", nil, nil)
		if err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "--kubeconfig") != doubted {
			t.Errorf("%q: %v", host, err)
		}
	}
}

func TestAKubeconfigThatIsNotThereIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	var out, stderr bytes.Buffer
	code := newPlugin(&out, &stderr, time.Now).execute(context.Background(), []string{"crashes", "node1", "--kubeconfig", path})
	if want := "nodekeeper: kubeconfig: stat " + path + ": no such file or directory\n"; code != cli.ExitFailure || stderr.String() != want {
		t.Errorf("code %d, %q", code, stderr.String())
	}
}
