package oci

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push sends an index to a repository, with a tag if the reference has one, and
// is the reference by digest. A registry on the loopback address is spoken to
// without TLS; the user's credentials are those of docker and podman.
func Push(ctx context.Context, index v1.ImageIndex, reference string) (string, error) {
	digest, err := index.Digest()
	if err != nil {
		return "", fmt.Errorf("push to %s: %w", reference, err)
	}
	to, err := name.ParseReference(reference, name.StrictValidation)
	if err != nil {
		// Without a tag.
		repository, err := name.NewRepository(reference, name.StrictValidation)
		if err != nil {
			return "", fmt.Errorf("push to %s: %w", reference, err)
		}
		to = repository.Digest(digest.String())
	}
	if err := remote.WriteIndex(to, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return "", fmt.Errorf("push to %s: %w", reference, err)
	}
	return to.Context().Digest(digest.String()).String(), nil
}
