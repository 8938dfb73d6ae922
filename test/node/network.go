package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Where the parts of a box answer, from inside its network.
const (
	KubeletURL = "https://127.0.0.1:10250"
	HealthzURL = "http://127.0.0.1:10248/healthz"
	APIURL     = "https://127.0.0.1:6443"
)

// HTTPClient connects from inside the box's network, to addresses only (no
// names), and trusts every certificate. It holds no connection between
// requests and needs no closing; a request ends after a minute at the latest.
func (b *Box) HTTPClient() *http.Client {
	return b.httpClient(&tls.Config{InsecureSkipVerify: true})
}

// APIClient is an HTTPClient that the API server knows as its administrator.
func (b *Box) APIClient() *http.Client { return b.clientWith(b.secrets.adminTLS()) }

// KubeletClient is an HTTPClient that the kubelet lets read everything.
func (b *Box) KubeletClient() *http.Client { return b.clientWith(b.secrets.kubeletTLS()) }

func (b *Box) clientWith(config *tls.Config, err error) *http.Client {
	if err != nil {
		// It shows when the server refuses the request.
		return b.HTTPClient()
	}
	return b.httpClient(config)
}

func (b *Box) httpClient(config *tls.Config) *http.Client {
	return &http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{DialContext: b.Dial, TLSClientConfig: config, DisableKeepAlives: true},
	}
}

// Dial connects from inside the box's network; the connection stays there.
func (b *Box) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return within(b, func() (net.Conn, error) {
		dialer := net.Dialer{FallbackDelay: -1} // a second dialer would run outside
		return dialer.DialContext(ctx, network, address)
	})
}

// Listen listens inside the box's network; the caller closes the listener.
func (b *Box) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	return within(b, func() (net.Listener, error) {
		return new(net.ListenConfig).Listen(ctx, network, address)
	})
}

// within calls open on a thread in the box's network.
func within[T any](b *Box, open func() (T, error)) (T, error) {
	type result struct {
		opened T
		err    error
	}
	leader, err := b.super.leader()
	if err != nil {
		return result{}.opened, err
	}
	results := make(chan result, 1)
	go func() {
		// Never unlocked: the thread ends with this goroutine, so none with
		// the wrong network is left.
		runtime.LockOSThread()
		var got result
		if got.err = enterNetwork(leader); got.err == nil {
			got.opened, got.err = open()
		}
		results <- got
	}()
	got := <-results
	return got.opened, got.err
}

func enterNetwork(leader int) error {
	namespace, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", leader), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the box's network: %w", err)
	}
	defer unix.Close(namespace)
	if err := unix.Setns(namespace, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the box's network: %w", err)
	}
	return nil
}

// get returns status and body of a GET.
func get(ctx context.Context, client *http.Client, address string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	var body strings.Builder
	if _, err := io.Copy(&body, response.Body); err != nil {
		return 0, "", err
	}
	return response.StatusCode, body.String(), nil
}
