package server

import (
	"encoding/binary"
	"io"
	"net"
)

// headerLength is that of ttrpc's message header: four bytes of length, four
// of stream, type and flags (ttrpc channel.go, v1.2.10).
const headerLength = 10

// guest is one connection. It watches the messages' headers pass, because
// ttrpc itself would make room for messages of 4 MiB.
type guest struct {
	net.Conn
	door *door
	// Used by the goroutine that reads only: what has come of a header, and
	// what is still to come of a body.
	header []byte
	body   int64
}

// Read ends the connection like a peer that went away for every reason: past
// the deadline ttrpc's server would otherwise keep it.
func (g *guest) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if err != nil || !g.pass(p[:n]) {
		return 0, io.EOF
	}
	return n, nil
}

// pass is false as soon as a header announces too much.
func (g *guest) pass(p []byte) bool {
	for len(p) > 0 {
		if g.body > 0 {
			n := min(int64(len(p)), g.body)
			g.body -= n
			p = p[n:]
			continue
		}
		n := min(len(p), headerLength-len(g.header))
		g.header = append(g.header, p[:n]...)
		p = p[n:]
		if len(g.header) < headerLength {
			return true
		}
		g.body = int64(binary.BigEndian.Uint32(g.header))
		g.header = g.header[:0]
		if g.body > g.door.bounds.message {
			return false
		}
	}
	return true
}

// Close makes room for another one.
func (g *guest) Close() error {
	g.door.mu.Lock()
	delete(g.door.inside, g)
	g.door.mu.Unlock()
	return g.Conn.Close()
}
