package dirwatch

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// raw is struct inotify_event of inotify(7).
type raw struct {
	wd   int32
	mask uint32
	name string
}

// split takes a buffer of the kernel's apart. What does not add up ends it.
func split(buffer []byte) []raw {
	var out []raw
	for len(buffer) >= unix.SizeofInotifyEvent {
		order := binary.NativeEndian
		size := int64(order.Uint32(buffer[12:]))
		if size > int64(len(buffer)-unix.SizeofInotifyEvent) {
			break
		}
		end := unix.SizeofInotifyEvent + int(size)
		name, _, _ := bytes.Cut(buffer[unix.SizeofInotifyEvent:end], []byte{0})
		out = append(out, raw{
			wd:   int32(order.Uint32(buffer)),
			mask: order.Uint32(buffer[4:]),
			name: string(name),
		})
		buffer = buffer[end:]
	}
	return out
}
