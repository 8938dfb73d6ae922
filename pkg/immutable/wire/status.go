package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const statusKind = "Status"

// DecodeStatus reads the body of a refusal, in protobuf or in JSON. An error
// means that it is no Status, as of a load balancer in between.
func DecodeStatus(body []byte) (*metav1.Status, error) {
	var status metav1.Status
	if !bytes.HasPrefix(body, []byte(magic)) {
		if json.Unmarshal(body, &status) != nil || status.Kind != statusKind {
			return nil, errors.New("decode status: neither protobuf nor JSON of a Status")
		}
		return &status, nil
	}
	kind, message, err := openEnvelope(body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("decode status: %w", err)
	case kind != statusKind:
		return nil, errors.New("decode status: the object is of another kind")
	}
	if err := status.Unmarshal(message); err != nil {
		return nil, fmt.Errorf("decode status: %w", err)
	}
	return &status, nil
}

// EncodeStatus writes the body of a refusal.
func EncodeStatus(enc Encoding, status *metav1.Status) ([]byte, error) {
	if enc == JSON {
		out, err := statusJSON(status)
		if err != nil {
			return nil, fmt.Errorf("encode status: %w", err)
		}
		return out, nil
	}
	message, err := status.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	return appendEnvelope(make([]byte, 0, sizeEnvelope(statusKind, len(message))), statusKind, message), nil
}
