package localca

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"
)

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func open(t *testing.T, dir string, c *clock) *Authority {
	t.Helper()
	a, err := Open(dir, []string{"api.example.org", "192.0.2.1"}, c.Now)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func leaf(t *testing.T, a *Authority) *x509.Certificate {
	t.Helper()
	c, err := a.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Leaf
}

func TestTheCertificateIsForTheAPIServersName(t *testing.T) {
	c := &clock{time.Now()}
	a := open(t, filepath.Join(t.TempDir(), "proxy"), c)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.PEM())
	for _, name := range []string{"api.example.org", "192.0.2.1"} {
		if _, err := leaf(t, a).Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err != nil {
			t.Error(err)
		}
	}
	if _, err := leaf(t, a).Verify(x509.VerifyOptions{DNSName: "other.example.org", Roots: roots}); err == nil {
		t.Error("it is for any name")
	}
	// When the API server gets another name, then it is for both.
	a.Name("other.example.org")
	for _, name := range []string{"api.example.org", "other.example.org"} {
		if _, err := leaf(t, a).Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err != nil {
			t.Error(err)
		}
	}
}

func TestARestartKeepsTheAuthorityForTheKubeletThatRuns(t *testing.T) {
	c := &clock{time.Now()}
	dir := filepath.Join(t.TempDir(), "proxy")
	first := open(t, dir, c)
	if again := open(t, dir, c); !bytes.Equal(again.PEM(), first.PEM()) {
		t.Error("another authority")
	}
	path := filepath.Join(dir, "ca.pem")
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if info, err = os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	// When the file is broken, or its end is near, then there is a new one.
	if err := os.WriteFile(path, first.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	second := open(t, dir, c)
	c.now = c.now.Add(authorityLife)
	third := open(t, dir, c)
	if bytes.Equal(second.PEM(), first.PEM()) || bytes.Equal(third.PEM(), second.PEM()) {
		t.Error("the same authority")
	}
}

func TestTheCertificateIsRenewedInTime(t *testing.T) {
	c := &clock{time.Now()}
	a := open(t, t.TempDir(), c)
	first := leaf(t, a)
	c.now = first.NotAfter.Add(-renewBefore - time.Minute)
	if leaf(t, a) != first {
		t.Error("renewed too early")
	}
	c.now = c.now.Add(2 * time.Minute)
	second := leaf(t, a)
	if second == first || !second.NotAfter.After(first.NotAfter) {
		t.Error("not renewed")
	}
	// When the clock is set back by years, then there is a valid one too.
	c.now = first.NotBefore.Add(-time.Hour)
	if third := leaf(t, a); third == second || third.NotBefore.After(c.now) {
		t.Error("not valid now")
	}
}
