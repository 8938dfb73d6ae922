package pin

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
)

// slot is one place where the kubelet has a client certificate: the link of its
// certificate store, or what its kubeconfig names. Its fields belong to the
// Pin's mutex.
type slot struct {
	current *tls.Certificate
	// previous was current before; it counts until the given time, or until
	// the kubelet was seen to use the current one.
	previous *x509.Certificate
	until    time.Time
}

// fill takes what the place holds now. A place that is empty or half written
// keeps what it had.
func (s *slot) fill(pair *tls.Certificate, now time.Time, previous time.Duration) (rotated bool) {
	if pair == nil || s.current != nil && bytes.Equal(s.current.Leaf.Raw, pair.Leaf.Raw) {
		return false
	}
	if s.current != nil {
		s.previous, s.until, rotated = s.current.Leaf, now.Add(previous), true
	}
	s.current = pair
	return rotated
}

// empty takes the place away: the kubelet is told to look elsewhere.
func (s *slot) empty(now time.Time, previous time.Duration) {
	if s.current != nil {
		s.previous, s.until, s.current = s.current.Leaf, now.Add(previous), nil
	}
}

// standing is what a leaf is to a slot.
type standing int

const (
	unknown standing = iota
	isCurrent
	isPrevious
	wasPrevious
)

func (s *slot) standing(leaf []byte, now time.Time) standing {
	switch {
	case s.current != nil && bytes.Equal(s.current.Leaf.Raw, leaf):
		return isCurrent
	case s.previous == nil || !bytes.Equal(s.previous.Raw, leaf):
		return unknown
	case now.Before(s.until):
		return isPrevious
	}
	return wasPrevious
}

// The names in the kubelet's certificate store (client-go util/certificate
// certificate_store.go, v0.37).
const (
	storeCurrent = "kubelet-client-current.pem"
	storePrefix  = "kubelet-client-"
	storeSuffix  = ".pem"
)

// before finds the leaf that the store's link named before the present one, for
// a proxy that starts in the middle of a rotation. since is when the link was
// set. The store's names order as their times do.
func before(dir string) (leaf *x509.Certificate, since time.Time, err error) {
	link := filepath.Join(dir, storeCurrent)
	target, err := os.Readlink(link)
	if err != nil {
		return nil, time.Time{}, err
	}
	info, err := os.Lstat(link)
	if err != nil {
		return nil, time.Time{}, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, time.Time{}, err
	}
	current := filepath.Base(target)
	for _, entry := range slices.Backward(entries) {
		name := entry.Name()
		if !strings.HasPrefix(name, storePrefix) || !strings.HasSuffix(name, storeSuffix) || name >= current {
			continue
		}
		pair, err := load(filepath.Join(dir, name), "")
		if err != nil {
			return nil, time.Time{}, err
		}
		return pair.Leaf, info.ModTime(), nil
	}
	return nil, time.Time{}, fs.ErrNotExist
}

// limit is more than any file of a certificate has.
const limit = 1 << 20

// load reads a certificate with its key; both are in one file if key is empty.
func load(certificate, key string) (*tls.Certificate, error) {
	c, err := regularfile.Read(certificate, limit)
	if err != nil {
		return nil, err
	}
	k := c
	if key != "" && key != certificate {
		if k, err = regularfile.Read(key, limit); err != nil {
			return nil, err
		}
	}
	return pair(c.Data, k.Data)
}

func pair(certificate, key []byte) (*tls.Certificate, error) {
	p, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	if p.Leaf == nil {
		return nil, errors.New("the certificate is not parsed")
	}
	return &p, nil
}
