package kubelet

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of v1.Pod in k8s.io/api/core/v1/generated.proto.
const (
	podMetadata protowire.Number = 1
	podStatus   protowire.Number = 3
)

// decodeProto reads the metadata and status of a marshalled v1.Pod. The spec,
// by far the largest part, is stepped over without being decoded.
func decodeProto(raw []byte) (*kubeletPod, error) {
	var p kubeletPod
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return nil, fmt.Errorf("decode pod: %w", protowire.ParseError(n))
		}
		raw = raw[n:]
		if kind != protowire.BytesType || (number != podMetadata && number != podStatus) {
			if n = protowire.ConsumeFieldValue(number, kind, raw); n < 0 {
				return nil, fmt.Errorf("decode pod: %w", protowire.ParseError(n))
			}
			raw = raw[n:]
			continue
		}
		part, n := protowire.ConsumeBytes(raw)
		if n < 0 {
			return nil, fmt.Errorf("decode pod: %w", protowire.ParseError(n))
		}
		raw = raw[n:]
		var err error
		if number == podMetadata {
			err = p.meta.Unmarshal(part)
		} else {
			err = p.status.Unmarshal(part)
		}
		if err != nil {
			return nil, podErr(&p, fmt.Errorf("decode pod: %w", err))
		}
	}
	return &p, p.check()
}
