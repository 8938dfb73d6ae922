package pin

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/kubeconfig"
)

// Options say where the kubelet's certificates are.
type Options struct {
	// Directory is the kubelet's certificate store.
	Directory string
	// Kubeconfig is the kubelet's own; a certificate that it names counts too.
	Kubeconfig string
	// Previous bounds how long the certificate before the present one counts.
	Previous time.Duration
	Now      func() time.Time
	Log      *slog.Logger
}

// Pin is the kubelet's client certificate, followed through rotation. It may be
// used from several goroutines.
type Pin struct {
	options Options

	mu      sync.Mutex // guards all below
	files   kubeconfig.Files
	store   slot
	named   slot
	problem string
	reads   int
	count   Refusals
}

// New reads the certificates once. That there are none yet is no error.
func New(o Options) *Pin {
	p := &Pin{options: o}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	if p.store.current == nil {
		return p
	}
	leaf, since, err := before(o.Directory)
	if until := since.Add(o.Previous); err == nil && o.Now().Before(until) {
		p.store.previous, p.store.until = leaf, until
	}
	return p
}

// refresh takes over what changed in the files. When nothing did, it costs a
// stat of each: kubelets connect some 40 times at once after an outage.
func (p *Pin) refresh() {
	now := p.options.Now()
	if !p.files.Changed(now) {
		return
	}
	current := filepath.Join(p.options.Directory, storeCurrent)
	p.files.See(now, p.options.Kubeconfig, current)
	source, err := kubeconfig.Read(p.options.Kubeconfig)
	if err == nil {
		p.files.Also(source.Files()...)
	}
	stored, storeErr := load(current, "")
	p.take(&p.store, stored, now)
	switch {
	case err != nil:
	case source.CertificateFile == current:
		p.named.empty(now, p.options.Previous)
	default:
		var named tls.Certificate
		if named, err = source.Pair(); err == nil {
			p.take(&p.named, &named, now)
		}
	}
	p.reads++
	p.note(err, storeErr)
}

func (p *Pin) take(s *slot, pair *tls.Certificate, now time.Time) {
	if s.fill(pair, now, p.options.Previous) {
		p.options.Log.Info("the kubelet's client certificate was rotated", "until", pair.Leaf.NotAfter.UTC().Format(time.DateTime))
	}
}

// note logs once why there is no certificate to be had.
func (p *Pin) note(errs ...error) {
	problem := ""
	if p.best(p.options.Now()) == nil {
		problem = "it has expired"
		if err := errors.Join(errs...); err != nil {
			problem = err.Error()
		}
	}
	if problem != "" && problem != p.problem {
		p.options.Log.Warn("the kubelet has no client certificate that can be used", "error", problem)
	}
	p.problem = problem
}

// best is the certificate to show upstream: of those that are valid, the one
// that was issued last. It is nil if there is none.
func (p *Pin) best(now time.Time) *tls.Certificate {
	var best *tls.Certificate
	for _, s := range []*slot{&p.store, &p.named} {
		if s.current == nil || now.After(s.current.Leaf.NotAfter) {
			continue
		}
		if best == nil || s.current.Leaf.NotBefore.After(best.Leaf.NotBefore) {
			best = s.current
		}
	}
	return best
}

// ErrNone is that the kubelet has no valid client certificate now.
var ErrNone = errors.New("the kubelet has no valid client certificate")

// Certificate is the kubelet's client certificate for use upstream.
func (p *Pin) Certificate() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	best := p.best(p.options.Now())
	if best == nil {
		return nil, ErrNone
	}
	return best, nil
}

// GetClientCertificate is for tls.Config. There is an error rather than no
// certificate: nothing goes upstream as nobody.
func (p *Pin) GetClientCertificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return p.Certificate()
}

// Fingerprint tells one certificate for use upstream from the next; it is zero
// while there is none.
func (p *Pin) Fingerprint() [sha256.Size]byte {
	c, err := p.Certificate()
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(c.Leaf.Raw)
}

// Verify is for tls.Config.VerifyConnection, which is called for resumed
// sessions too (VerifyPeerCertificate is not). The configuration must ask for a
// certificate (tls.RequestClientCert); that there is none is refused here, so
// that it is counted.
func (p *Pin) Verify(c tls.ConnectionState) error { return p.verify(c, true) }

// VerifyOwn is Verify for the proxy's connections to itself: they show the
// newest certificate, from which nothing follows about the kubelet.
func (p *Pin) VerifyOwn(c tls.ConnectionState) error { return p.verify(c, false) }

func (p *Pin) verify(c tls.ConnectionState, kubelet bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	now := p.options.Now()
	if p.store.current == nil && p.named.current == nil {
		return p.count.refuse(Unreadable)
	}
	if len(c.PeerCertificates) == 0 {
		return p.count.refuse(NoCertificate)
	}
	leaf := c.PeerCertificates[0]
	reason := Stranger
	for _, s := range []*slot{&p.store, &p.named} {
		standing := s.standing(leaf.Raw, now)
		switch {
		case standing == unknown:
			continue
		case standing == wasPrevious:
			reason = Superseded
			continue
		case now.After(leaf.NotAfter):
			reason = Expired
			continue
		case standing == isCurrent && kubelet && s.previous != nil && now.Before(s.until):
			// The kubelet has gone over to the new one.
			s.until = now
		}
		return nil
	}
	return p.count.refuse(reason)
}

// Refused tells how often connections were refused, by reason.
func (p *Pin) Refused() Refusals {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// Reason is why a connection was refused.
type Reason string

// The reasons.
const (
	NoCertificate Reason = "noCertificate"
	// Stranger is a certificate that is not the kubelet's.
	Stranger Reason = "stranger"
	// Superseded is one that the kubelet had before.
	Superseded Reason = "superseded"
	Expired    Reason = "expired"
	// Unreadable is that the kubelet's own certificate is not known.
	Unreadable Reason = "unreadable"
)

// Refusals counts refused connections.
type Refusals struct {
	NoCertificate uint64 `json:"noCertificate"`
	Stranger      uint64 `json:"stranger"`
	Superseded    uint64 `json:"superseded"`
	Expired       uint64 `json:"expired"`
	Unreadable    uint64 `json:"unreadable"`
}

func (r *Refusals) refuse(why Reason) error {
	switch why {
	case NoCertificate:
		r.NoCertificate++
	case Stranger:
		r.Stranger++
	case Superseded:
		r.Superseded++
	case Expired:
		r.Expired++
	case Unreadable:
		r.Unreadable++
	}
	return fmt.Errorf("not the kubelet's client certificate: %s", why)
}
