package reader

import (
	"bytes"
	"encoding/json"
)

// stream is where a record came from.
type stream int

const (
	stdout stream = iota
	stderr
	// damaged is a line that is no record. Nobody knows whose it was.
	damaged
	streams
)

// entry is one physical line, or as much of it as has been read.
type entry struct {
	stamp
	stream stream
	// text is what the container wrote. It is borrowed.
	text []byte
	// partial is set if more of the container's line follows in another record.
	partial bool
}

// parse takes a line of CRI's format, or of docker's
// (cri-client pkg/logs/logs.go parseCRILog and parseDockerJSONLog, v0.37),
// with its newline if it has one. Anything else is a damaged line.
func parse(line []byte) entry {
	if len(line) > 0 && line[0] == '{' {
		if e, ok := parseJSON(line); ok {
			return e
		}
	} else if e, ok := parseCRI(line); ok {
		return e
	}
	return entry{stream: damaged, text: line}
}

func parseCRI(line []byte) (entry, bool) {
	var e entry
	i := bytes.IndexByte(line, ' ')
	if i < 0 {
		return e, false
	}
	when, rest := line[:i], line[i+1:]
	switch {
	case bytes.HasPrefix(rest, []byte("stdout ")):
		e.stream = stdout
	case bytes.HasPrefix(rest, []byte("stderr ")):
		e.stream = stderr
	default:
		return e, false
	}
	rest = rest[len("stdout "):]
	i = bytes.IndexByte(rest, ' ')
	if i < 0 {
		return e, false
	}
	tags := rest[:i]
	e.text = rest[i+1:]
	// The first of the tags, which colons separate, is P for a part.
	e.partial = len(tags) > 0 && tags[0] == 'P' && (len(tags) == 1 || tags[1] == ':')
	if n := len(e.text); e.partial && n > 0 && e.text[n-1] == '\n' {
		e.text = e.text[:n-1]
	}
	var ok bool
	e.stamp, ok = parseStamp(when)
	return e, ok
}

// dockerLine is a record of docker's json-file driver. A line of the container
// ends where log ends in a newline.
type dockerLine struct {
	Log    string `json:"log"`
	Stream string `json:"stream"`
	Time   string `json:"time"`
}

func parseJSON(line []byte) (entry, bool) {
	var d dockerLine
	if json.Unmarshal(line, &d) != nil {
		return entry{}, false
	}
	e := entry{text: []byte(d.Log)}
	switch d.Stream {
	case "stdout":
		e.stream = stdout
	case "stderr":
		e.stream = stderr
	default:
		return entry{}, false
	}
	var ok bool
	e.stamp, ok = parseStamp([]byte(d.Time))
	e.partial = len(e.text) > 0 && e.text[len(e.text)-1] != '\n'
	return e, ok
}
