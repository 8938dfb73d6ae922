package config

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"
)

// maxSocketPath is what a unix socket's address holds, in bytes (unix(7)).
const maxSocketPath = 107

// check collects what is wrong. Its methods are the kinds of rules.
type check struct{ errs []FieldError }

func (c *check) add(field, format string, args ...any) {
	c.errs = append(c.errs, FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

func (c *check) between(field string, is Duration, least, most time.Duration) {
	if is.Duration < least || is.Duration > most {
		c.add(field, "must be between %s and %s, not %s", short(least), short(most), short(is.Duration))
	}
}

func (c *check) count(field string, is, least, most int) {
	switch {
	case is < least:
		c.add(field, "must be at least %d, not %d", least, is)
	case is > most:
		c.add(field, "must be at most %d, not %d", most, is)
	}
}

// absolute wants a clean absolute path: relative ones would depend on where
// the agent was started.
func (c *check) absolute(field, path string) {
	switch {
	case path == "":
		c.add(field, "must not be empty; write an absolute path")
	case strings.ContainsRune(path, 0):
		c.add(field, "must not hold a NUL byte")
	case !filepath.IsAbs(path):
		c.add(field, "must be an absolute path, not %q", path)
	case filepath.Clean(path) != strings.TrimSuffix(path, "/") && path != "/":
		c.add(field, "must be a plain path, %q instead of %q", filepath.Clean(path), path)
	}
}

// optional is absolute, or empty.
func (c *check) optional(field, path string) {
	if path != "" {
		c.absolute(field, path)
	}
}

// socket wants a path without a scheme, short enough to be an address.
func (c *check) socket(field, path string) {
	if plain, ok := strings.CutPrefix(path, "unix://"); ok {
		c.add(field, "must be a path without unix://, %q", plain)
		return
	}
	c.absolute(field, path)
	if len(path) > maxSocketPath {
		c.add(field, "must not be longer than %d bytes, which is what a socket's address holds", maxSocketPath)
	}
}

// loopback wants an address that only this host can reach.
func (c *check) loopback(field, address, such string) {
	if a, err := netip.ParseAddrPort(address); err != nil || !a.Addr().IsLoopback() || a.Port() == 0 {
		c.add(field, "must be a loopback address with a port, such as %s, not %q", such, address)
	}
}

// service wants the name of a systemd service.
func (c *check) service(field, name string) {
	base, ok := strings.CutSuffix(name, ".service")
	if !ok || base == "" || strings.ContainsAny(name, "/ \x00") {
		c.add(field, "must be a systemd service such as kubelet.service, not %q", name)
	}
}

// program wants the name of a program as the kernel shows it.
func (c *check) program(field, name string) {
	if name == "" || strings.ContainsAny(name, "/ \x00") {
		c.add(field, "must be a program's name without its directory, not %q", name)
	}
}

// short writes a duration without the zeros at its end: 3m, not 3m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
