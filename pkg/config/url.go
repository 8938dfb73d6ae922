package config

import (
	"fmt"
	"net/netip"
	"net/url"
)

// CheckURL returns why one of the kubelet's addresses may not be asked. What
// it answers decides about containers, so it must come from this host or from
// one whose certificate is verified.
func CheckURL(address string) error {
	target, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("%q is not a URL such as https://127.0.0.1:10250/pods", address)
	}
	switch {
	case target.Hostname() == "":
		return fmt.Errorf("%q is not a URL such as https://127.0.0.1:10250/pods", address)
	case target.Scheme == "https":
		return nil
	case target.Scheme != "http":
		return fmt.Errorf("%q: only http and https can be asked", address)
	case !IsLoopback(target.Hostname()):
		return fmt.Errorf("%q: %q is not a loopback address, and http does not verify who answers; use https, or 127.0.0.1", address, target.Hostname())
	}
	return nil
}

// IsLoopback tells whether a host is written as a loopback address.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
