package kubelet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
)

// writePair puts a certificate for a user, and its key, in place of the files.
func writePair(t *testing.T, user, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: user}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	replace(t, keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}))
}

func replace(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// leaveSocket leaves a socket file behind that nobody listens on.
func leaveSocket(t *testing.T, socket string) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	listener.Close()
}

func removeSocket(t *testing.T, socket string) {
	t.Helper()
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
}

func TestTheClientCertificateFollowsItsFiles(t *testing.T) {
	// given a kubelet that knows admin and nobody else
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case len(r.TLS.PeerCertificates) == 0:
			w.WriteHeader(http.StatusUnauthorized)
		case r.TLS.PeerCertificates[0].Subject.CommonName != "admin":
			w.WriteHeader(http.StatusForbidden)
		default:
			podList(t, crashing(1))(w, r)
		}
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	defer server.Close()

	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	p := newPodsEndpoint(server.URL, certFile, keyFile, slog.New(slog.DiscardHandler))
	list := func() error { _, err := p.list(within(t, 10*time.Second)); return err }

	if err := list(); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), certFile) {
		t.Errorf("without files: got error %v, want one that names the file", err)
	}
	writePair(t, "stranger", certFile, keyFile)
	if err := list(); !errors.Is(err, ErrForbidden) || !strings.Contains(err.Error(), certFile) {
		t.Errorf("as stranger: got error %v, want ErrForbidden and the file", err)
	}
	writePair(t, "admin", certFile, keyFile)
	if err := list(); err != nil {
		t.Errorf("as admin: %v", err)
	}
	// a rotation that is half done
	replace(t, keyFile, []byte("not yet"))
	if err := list(); err != nil {
		t.Errorf("with a broken key on disk: %v, want the last pair to serve on", err)
	}
	writePair(t, "stranger", certFile, keyFile)
	if err := list(); !errors.Is(err, ErrForbidden) {
		t.Errorf("after the rotation: got error %v, want ErrForbidden", err)
	}
}

func TestAFIFOInThePlaceOfTheCertificateHoldsNobodyUp(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	writePair(t, "admin", certFile, keyFile)
	c := newClientCertificate(certFile, keyFile, slog.New(slog.DiscardHandler))
	pair, err := c.load()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(keyFile), syscall.Mkfifo(keyFile, 0o600)); err != nil {
		t.Fatal(err)
	}
	if again, err := c.load(); err != nil || again != pair {
		t.Errorf("%p, %v: want the last pair to serve on", again, err)
	}
	if _, err := newClientCertificate(certFile, keyFile, slog.New(slog.DiscardHandler)).load(); !errors.Is(err, regularfile.ErrNotRegular) {
		t.Errorf("without a last pair: %v", err)
	}
}
