package main

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
)

// bytesCodec leaves messages as they are.
type bytesCodec struct{}

// Name is empty, so that calls go out as plain "application/grpc": CRI-O closes
// connections whose content type names a codec.
func (bytesCodec) Name() string { return "" }

func (bytesCodec) Marshal(message any) ([]byte, error) {
	data, ok := message.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("cannot pass on a %T", message)
	}
	return *data, nil
}

func (bytesCodec) Unmarshal(data []byte, message any) error {
	target, ok := message.(*[]byte)
	if !ok {
		return fmt.Errorf("cannot pass on a %T", message)
	}
	*target = append([]byte(nil), data...)
	return nil
}

// codeOf finds a code by its name, such as DeadlineExceeded.
func codeOf(name string) codes.Code {
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		if strings.EqualFold(code.String(), name) {
			return code
		}
	}
	return codes.Unavailable
}
