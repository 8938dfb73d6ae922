// Package keypair reads a client certificate and its key from files that a
// kubelet, or whoever else owns them, may be replacing at the same moment. It
// never waits for a FIFO in the place of one.
package keypair

import (
	"crypto/tls"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
)

// limit is more than a certificate or a key is, in bytes.
const limit = 1 << 20

// Stamps tell the files of a certificate and of its key from what is there at
// another time. They are comparable.
type Stamps [2]regularfile.Identity

// Read reads both files, which may be one and the same. The errors are those of
// regularfile.Read and tls.X509KeyPair: of files that are written one after the
// other, the second may not belong to the first for a moment.
func Read(certFile, keyFile string) (tls.Certificate, Stamps, error) {
	var stamps Stamps
	var data [2][]byte
	for i, name := range []string{certFile, keyFile} {
		f, err := regularfile.Read(name, limit)
		if err != nil {
			return tls.Certificate{}, stamps, err
		}
		stamps[i], data[i] = f.Identity, f.Data
	}
	pair, err := tls.X509KeyPair(data[0], data[1])
	return pair, stamps, err
}

// OnDisk are the stamps as they are now, zero for what is no file.
func OnDisk(certFile, keyFile string) (stamps Stamps) {
	for i, name := range []string{certFile, keyFile} {
		stamps[i], _ = regularfile.Stat(name)
	}
	return stamps
}
