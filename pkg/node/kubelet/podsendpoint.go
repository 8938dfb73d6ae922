package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// podsEndpoint lists the pods over the kubelet's /pods.
type podsEndpoint struct {
	certificate *clientCertificate
	web         *web
	// limit bounds the answer, in bytes.
	limit int64
}

func newPodsEndpoint(url, certFile, keyFile string, log *slog.Logger) *podsEndpoint {
	certificate := newClientCertificate(certFile, keyFile, log)
	return &podsEndpoint{certificate: certificate, web: newWeb(url, certificate), limit: maxAnswer}
}

// list returns the kubelet's pods. The error is ErrPodsNotAsked, ErrUnauthorized
// or ErrForbidden where that is the reason. ctx must end.
func (p *podsEndpoint) list(ctx context.Context) ([]node.PodView, error) {
	if p.web.address == "" {
		return nil, fmt.Errorf("%w: kubelet.podsURL is empty", ErrPodsNotAsked)
	}
	views, err := p.ask(ctx)
	if err != nil {
		return nil, fmt.Errorf("kubelet /pods: %w", err)
	}
	return views, nil
}

func (p *podsEndpoint) ask(ctx context.Context) ([]node.PodView, error) {
	if p.certificate != nil {
		// Before the handshake, where the error would be buried in others.
		if _, err := p.certificate.load(); err != nil {
			return nil, err
		}
	}
	answer, err := p.web.get(ctx)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, p.refused(answer)
	}
	body := &bounded{from: answer.Body, left: p.limit}
	views, err := decodeJSON(body)
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", p.web.address, because(ctx, err))
	}
	return views, nil
}

// refused says what is missing for /pods to answer (kubelet
// pkg/kubelet/server/server.go InstallAuthFilter, v1.37).
func (p *podsEndpoint) refused(answer *http.Response) error {
	said := firstLine(answer.Body)
	switch answer.StatusCode {
	case http.StatusUnauthorized:
		if p.certificate == nil {
			return fmt.Errorf("%w (401): set kubelet.clientCertificate and kubelet.clientKey to a certificate that the kubelet's clientCAFile has signed", ErrUnauthorized)
		}
		return fmt.Errorf("%w (401): the kubelet does not accept the certificate %s; it has expired, or was not signed by the kubelet's clientCAFile", ErrUnauthorized, p.certificate.certFile)
	case http.StatusForbidden:
		if p.certificate == nil {
			return fmt.Errorf("%w (403): asked without a certificate: set kubelet.clientCertificate and kubelet.clientKey to one whose user may get nodes/pods or nodes/proxy; the kubelet said: %s", ErrForbidden, said)
		}
		return fmt.Errorf("%w (403): the user of certificate %s needs the right to get nodes/pods or nodes/proxy; the kubelet said: %s", ErrForbidden, p.certificate.certFile, said)
	case http.StatusInternalServerError:
		return fmt.Errorf("%s; the kubelet asks the API server about rights, which may be down; it said: %s", answer.Status, said)
	}
	return fmt.Errorf("%s answered %s: %s", p.web.address, answer.Status, said)
}

// errTooLarge ends the reading of an answer that has no end.
var errTooLarge = errors.New("the answer is larger than a node's pods can be")

// bounded fails when more than left bytes are read, where an
// [io.LimitedReader] would pretend that the answer ended there.
type bounded struct {
	from io.Reader
	left int64
}

func (b *bounded) Read(to []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(to)) > b.left {
		to = to[:b.left]
	}
	n, err := b.from.Read(to)
	b.left -= int64(n)
	return n, err
}
