package cri

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

const (
	// imageAge is how long an answer is believed: an image may be pulled or
	// removed at any time.
	imageAge = 20 * time.Second
	// imageCalls bounds the questions of one look, imageTimeout their time. The
	// storage of CRI-O may be busy with a pull.
	imageCalls   = 5
	imageTimeout = 2 * time.Second
)

// image is what the runtime said of one image, and when on the boot clock.
type image struct {
	answer node.Answer
	at     time.Duration
}

// Images tells which of the images, by their names in a manifest or their IDs, the
// runtime has. What could not be asked, or not within the bounds of one look, is
// Unknown. It must not be called beside Runtime.
func (r *Reader) Images(ctx context.Context, names []string) map[string]node.Answer {
	ctx, cancel := context.WithTimeout(ctx, imageTimeout)
	defer cancel()
	now := r.clock.Now().Boot
	known := make(map[string]image, len(names))
	for _, name := range names {
		i := r.images[name]
		if now-i.at >= imageAge {
			i.answer = node.Unknown
		}
		known[name] = i
	}
	// Those that have waited longest are asked for first.
	order := slices.SortedFunc(maps.Keys(known), func(a, b string) int {
		return cmp.Or(cmp.Compare(known[a].at, known[b].at), strings.Compare(a, b))
	})
	answers := make(map[string]node.Answer, len(known))
	asked := 0
	for _, name := range order {
		if known[name].answer == node.Unknown && asked < imageCalls {
			asked++
			known[name] = image{answer: r.askImage(ctx, name), at: now}
		}
		answers[name] = known[name].answer
	}
	r.images = known
	return answers
}

func (r *Reader) askImage(ctx context.Context, name string) node.Answer {
	there, err := r.client.HasImage(ctx, name)
	if err != nil {
		r.log.Debug("the runtime did not tell of an image", "image", name, "error", err)
		return node.Unknown
	}
	return node.AnswerOf(there)
}

// HasImage asks whether the runtime has an image, as the kubelet asks before it
// pulls: by the name in the manifest, with the default tag where it has neither
// tag nor digest; the runtime resolves short names (kubelet pkg/kubelet/images
// EnsureImageExists and applyDefaultImageTag, v1.33).
func (c *Client) HasImage(ctx context.Context, name string) (bool, error) {
	if _, err := c.service(ctx); err != nil {
		return false, err
	}
	answer, err := c.images.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: withTag(name)}})
	if err != nil {
		return false, c.explain("ask for image "+name, err)
	}
	return answer.GetImage() != nil, nil
}

// imageID is how a record names what it was made from.
var imageID = regexp.MustCompile(`^[0-9a-f]{64}$`)

// withTag adds the default tag. A colon before the last slash is a port.
func withTag(name string) string {
	if imageID.MatchString(name) || strings.Contains(name, "@") || strings.Contains(name[strings.LastIndex(name, "/")+1:], ":") {
		return name
	}
	return name + ":latest"
}
