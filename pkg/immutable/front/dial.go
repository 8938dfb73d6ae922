package front

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Dial connects to the API server without TLS, for a bypass, through the proxy
// that the environment or the kubeconfig asks for.
func (u *Upstream) Dial(ctx context.Context) (*net.TCPConn, error) {
	target := u.Target()
	via := target.Proxy
	if via == nil {
		var err error
		if via, err = http.ProxyFromEnvironment(&http.Request{URL: target.URL}); err != nil {
			return nil, err
		}
	}
	if via == nil {
		return dialTCP(ctx, target.Address())
	}
	if via.Scheme != "http" {
		return nil, fmt.Errorf("a bypass through a proxy of scheme %q is not possible", via.Scheme)
	}
	address := via.Host
	if via.Port() == "" {
		address += ":80"
	}
	c, err := dialTCP(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := tunnel(ctx, c, via, target.Address()); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("through the proxy %s: %w", via.Host, err)
	}
	return c, nil
}

func dialTCP(ctx context.Context, address string) (*net.TCPConn, error) {
	d := net.Dialer{Timeout: dialTime, KeepAliveConfig: keepAlive}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		_ = c.Close()
		return nil, errors.New("not a TCP connection")
	}
	return tcp, nil
}

// tunnel asks an HTTP proxy for a connection to address.
func tunnel(ctx context.Context, c net.Conn, via *url.URL, address string) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(dialTime)
	}
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if via.User != nil {
		password, _ := via.User.Password()
		credentials := base64.StdEncoding.EncodeToString([]byte(via.User.Username() + ":" + password))
		request.Header.Set("Proxy-Authorization", "Basic "+credentials)
	}
	if err := request.Write(c); err != nil {
		return err
	}
	// The API server says nothing before the kubelet does, so that the reader
	// takes nothing that is not the proxy's.
	response, err := http.ReadResponse(bufio.NewReader(c), request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return c.SetDeadline(time.Time{})
}
