package kubelet

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

func TestHealthzIsOkOn200Only(t *testing.T) {
	for code, healthy := range map[int]bool{200: true, 500: false, 404: false, 302: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			io.WriteString(w, "[-]syncloop failed\nmore")
		}))
		k := newClient(t, config.Kubelet{}).Kubelet(within(t, 10*time.Second), server.URL)
		server.Close()
		if k.Healthy != healthy || (k.HealthErr == nil) != healthy {
			t.Errorf("%d: healthy %v, error %v", code, k.Healthy, k.HealthErr)
		}
		if !healthy && !strings.HasSuffix(k.HealthErr.Error(), "[-]syncloop failed") {
			t.Errorf("%d: error %q does not end with the answer's first line", code, k.HealthErr)
		}
	}
}

func TestASilentHealthzHasATimeOfItsOwn(t *testing.T) {
	h := newHealthz("http://" + stopped(t, "tcp", "127.0.0.1:0"))
	h.timeout = 50 * time.Millisecond
	if err := h.ping(context.Background()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want a time-out", err)
	}
}

func TestAKubeletThatIsNotThereIsNotHealthy(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	if err := newHealthz(server.URL).ping(within(t, 10*time.Second)); err == nil {
		t.Error("no error")
	}
	k := newClient(t, config.Kubelet{}).Kubelet(within(t, 10*time.Second), "")
	if k.Healthy || k.HealthErr != nil {
		t.Errorf("without an address: healthy %v, error %v", k.Healthy, k.HealthErr)
	}
}
