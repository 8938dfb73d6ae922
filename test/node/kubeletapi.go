package node

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// Healthz asks the kubelet's health port; nil means "ok".
func (b *Box) Healthz(ctx context.Context) error {
	status, body, err := get(ctx, b.HTTPClient(), HealthzURL)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, body)
	}
	return err
}

// KubeletGet asks the kubelet's main port for a path such as "/pods" or
// "/metrics", with the test's own certificate.
func (b *Box) KubeletGet(ctx context.Context, path string) (status int, body string, err error) {
	return get(ctx, b.KubeletClient(), KubeletURL+path)
}

// KubeletPods is the kubelet's own list of pods, a v1.PodList as JSON.
func (b *Box) KubeletPods(ctx context.Context) ([]byte, error) {
	status, body, err := b.KubeletGet(ctx, "/pods")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("kubelet's list of pods: status %d: %s", status, body)
	}
	return []byte(body), err
}

// ContainerLogs asks the kubelet as kubectl logs does. Status 200 may carry an
// error as its text, and many errors are 400.
func (b *Box) ContainerLogs(ctx context.Context, namespace, pod, container string, previous bool) (status int, body string, err error) {
	path := "/containerLogs/" + url.PathEscape(namespace) + "/" + url.PathEscape(pod) + "/" + url.PathEscape(container)
	if previous {
		path += "?previous=true"
	}
	return b.KubeletGet(ctx, path)
}
