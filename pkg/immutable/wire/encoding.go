package wire

import (
	"github.com/munnerz/goautoneg"
)

// Encoding is how objects are written in an answer.
type Encoding int

// The encodings that are written.
const (
	JSON Encoding = iota + 1
	Protobuf
)

const (
	typeJSON     = "application/json"
	typeProtobuf = "application/vnd.kubernetes.protobuf"
)

// ContentType is the media type of an answer that is one object, a list or a
// Status.
func (e Encoding) ContentType() string {
	if e == Protobuf {
		return typeProtobuf
	}
	return typeJSON
}

// StreamContentType is the media type of a watch stream: apiserver
// pkg/endpoints/handlers/watch.go serveWatchHandler, v1.37, which names the
// stream for protobuf only.
func (e Encoding) StreamContentType() string {
	if e == Protobuf {
		return typeProtobuf + ";stream=watch"
	}
	return typeJSON
}

func (e Encoding) String() string {
	switch e {
	case JSON:
		return "json"
	case Protobuf:
		return "protobuf"
	}
	return "none"
}

// Negotiate chooses the encoding that an API server would for the value of an
// Accept header ("" where there is none). False is for whatever is not plain
// JSON or plain protobuf there: YAML, CBOR, tables, metadata only, indented
// JSON, and what no server could serve. It mirrors apiserver
// pkg/endpoints/handlers/negotiation/negotiate.go NegotiateMediaTypeOptions,
// v1.37, with the same parser, whose order of preference is its own.
func Negotiate(accept string) (Encoding, bool) {
	if accept == "" {
		return JSON, true
	}
	for _, clause := range goautoneg.ParseAccept(accept) {
		if clause.Type == "*" && clause.SubType != "*" {
			continue
		}
		if clause.Type != "*" && clause.Type != "application" {
			continue
		}
		var e Encoding
		switch clause.SubType {
		case "json", "*":
			e = JSON
		case "vnd.kubernetes.protobuf":
			e = Protobuf
		case "yaml", "cbor", "cbor-seq":
			// Whether the server has CBOR depends on its feature gates.
			return 0, false
		default:
			continue
		}
		for name, value := range clause.Params {
			if name != "stream" || value != "watch" {
				return 0, false
			}
		}
		return e, true
	}
	return 0, false
}
