package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
)

// maxEvent bounds a file: an event has some hundred bytes.
const maxEvent = 64 << 10

var errTorn = errors.New("not an event that was written whole")

// encode makes one line of JSON and one of its checksum: JSON alone would not
// tell a file whose middle is missing.
func encode(e lifecycle.Event) ([]byte, error) {
	line, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	line = append(line, '\n')
	data := fmt.Appendf(line, "%08x\n", checksum(line))
	if len(data) > maxEvent {
		return nil, fmt.Errorf("an event of %d bytes, more than %d", len(data), maxEvent)
	}
	return data, nil
}

func decode(data []byte) (lifecycle.Event, error) {
	line, sum, ok := bytes.Cut(data, []byte("\n"))
	if !ok || string(sum) != fmt.Sprintf("%08x\n", checksum(data[:len(line)+1])) {
		return lifecycle.Event{}, errTorn
	}
	var e lifecycle.Event
	if err := json.Unmarshal(line, &e); err != nil {
		return lifecycle.Event{}, fmt.Errorf("%w: %w", errTorn, err)
	}
	if e.Kind == "" || e.ContainerID == "" {
		return lifecycle.Event{}, fmt.Errorf("%w: no kind or no container", errTorn)
	}
	return e, nil
}

func checksum(line []byte) uint32 {
	return crc32.Checksum(line, crc32.MakeTable(crc32.Castagnoli))
}
