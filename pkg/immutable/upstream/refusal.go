package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// ErrTooLarge is for an answer of more than Options.MaxObjectBytes.
var ErrTooLarge = errors.New("object is too large to be kept")

// ErrAnswer is for an answer that is not one of an API server about the object.
var ErrAnswer = errors.New("answer not understood")

// refusalLimit is how much of a refusal's body is kept. A Status is far below.
const refusalLimit = 64 << 10

// unknownPodWaits is how long a refusal of the node authorizer is waited for,
// attempt by attempt. All fit into the second that a kubelet waits.
var unknownPodWaits = []time.Duration{
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond,
}

// Refusal is an answer other than 200, as the API server gave it.
type Refusal struct {
	// Code is the HTTP status.
	Code int
	// RetryAfter is the header, in seconds, and "" where there was none.
	RetryAfter string
	// ContentType is the body's.
	ContentType string
	// Body is a Status in protobuf, or whatever stood in its place.
	Body []byte
}

// Error names the status only: what is in the body is the API server's to tell.
func (r *Refusal) Error() string {
	return fmt.Sprintf("the API server answered %d %s", r.Code, http.StatusText(r.Code))
}

// Wait is how long the API server asked to be left alone; 0 if it did not.
func (r *Refusal) Wait() time.Duration {
	seconds, err := strconv.Atoi(r.RetryAfter)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

func readRefusal(response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, refusalLimit))
	if err != nil {
		return err
	}
	return &Refusal{
		Code:        response.StatusCode,
		RetryAfter:  response.Header.Get("Retry-After"),
		ContentType: response.Header.Get("Content-Type"),
		Body:        body,
	}
}

// unknownPod tells the refusal of a pod that the node authorizer has not seen
// from one that will stay: its reason stands in the message, in either
// encoding. kubernetes plugin/pkg/auth/authorizer/node/node_authorizer.go
// authorize, v1.37.
func unknownPod(err error) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && refusal.Code == http.StatusForbidden &&
		bytes.Contains(refusal.Body, []byte("no relationship found between node"))
}
