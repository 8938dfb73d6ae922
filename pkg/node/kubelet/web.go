package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

// maxHeaderBytes bounds the headers of an answer.
const maxHeaderBytes = 64 << 10

// web asks one of the kubelet's ports.
//
// Each question has its own connection, which ends with the question's
// context: the kubelet may have restarted since the last one, and a changed
// client certificate counts at once. No proxy is used and no redirect
// followed.
//
// The kubelet's serving certificate is self-signed unless somebody set up
// more, so it is not verified on loopback addresses, where nobody but this
// host can answer. Elsewhere it is verified as usual.
type web struct {
	address  string
	settings *tls.Config
	dial     dialFunc
}

func newWeb(address string, certificate *clientCertificate) *web {
	w := &web{
		address:  address,
		settings: &tls.Config{MinVersion: tls.VersionTLS12},
		dial:     new(net.Dialer).DialContext,
	}
	if target, err := url.Parse(address); err == nil && config.IsLoopback(target.Hostname()) {
		w.settings.InsecureSkipVerify = true
		w.dial = loopbackOnly(w.dial)
	}
	if certificate != nil {
		w.settings.GetClientCertificate = certificate.get
	}
	return w
}

// get asks. ctx must end: the connection is closed when it does. The caller
// closes the body.
func (w *web) get(ctx context.Context) (*http.Response, error) {
	if err := config.CheckURL(w.address); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json, text/plain;q=0.5")
	client := &http.Client{
		Transport: &http.Transport{
			DialContext:            w.dialFor(ctx),
			TLSClientConfig:        w.settings,
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: maxHeaderBytes,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, explainTLS(w.address, because(ctx, err))
	}
	return answer, nil
}

// dialFor dials for one question. The context that a Transport hands to its
// dialer is not the request's: a handshake with a stopped kubelet goes on after
// the request has been given up, and would leave a connection for each look.
func (w *web) dialFor(ctx context.Context) dialFunc {
	return func(_ context.Context, network, address string) (net.Conn, error) {
		conn, err := w.dial(ctx, network, address)
		if err == nil {
			context.AfterFunc(ctx, func() { conn.Close() })
		}
		return conn, err
	}
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// loopbackOnly refuses a connection that does not end on this host: "localhost"
// is only as good as the file that names it.
func loopbackOnly(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		remote, err := netip.ParseAddrPort(conn.RemoteAddr().String())
		if err != nil || !remote.Addr().Unmap().IsLoopback() {
			conn.Close()
			return nil, fmt.Errorf("%s led to %s, which is not a loopback address; its certificate would not be verified", address, conn.RemoteAddr())
		}
		return conn, nil
	}
}

// because names the end of ctx where that was the cause of an error: the
// connection was closed with it.
func because(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}

// explainTLS adds what to do to the error of a server that is not verifiable.
func explainTLS(address string, err error) error {
	var unverified *tls.CertificateVerificationError
	if !errors.As(err, &unverified) {
		return err
	}
	return fmt.Errorf("%w: the kubelet's own certificate is accepted on loopback addresses only; set kubelet.podsURL to 127.0.0.1 instead of %s", err, address)
}
