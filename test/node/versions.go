package node

import (
	"context"
	"fmt"
	"strings"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Versions is what the programs of a node say of themselves.
type Versions struct {
	Kubelet string // "1.33.13"
	Runtime string // "cri-o 1.34.0"
}

// Versions asks the node.
func (b *Box) Versions(ctx context.Context) (Versions, error) {
	said, _, err := b.Exec(ctx, b.options.Profile.files().program, "--version")
	if err != nil {
		return Versions{}, fmt.Errorf("version of the kubelet: %w", err)
	}
	runtime, err := b.CRI(ctx)
	if err != nil {
		return Versions{}, err
	}
	answer, err := runtime.Version(ctx, &cri.VersionRequest{})
	if err != nil {
		return Versions{}, fmt.Errorf("version of the runtime: %w", err)
	}
	return Versions{
		Kubelet: strings.TrimPrefix(strings.TrimSpace(said), "Kubernetes v"),
		Runtime: answer.RuntimeName + " " + answer.RuntimeVersion,
	}, nil
}
