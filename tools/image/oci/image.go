package oci

import (
	"fmt"
	"maps"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/nodekeeper/nodekeeper/tools/image/program"
)

const (
	project = "https://github.com/nodekeeper/nodekeeper"
	// user is nobody's, for the programs that run in a cluster. On a node they are
	// copied out of the image.
	user = "65532:65532"
)

// Labels are those of the image, and its annotations.
func (b Build) Labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    "nodekeeper",
		"org.opencontainers.image.version":  b.Source.Version,
		"org.opencontainers.image.revision": b.Revision,
		"org.opencontainers.image.source":   project,
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.created":  b.Time.UTC().Format(time.RFC3339),
	}
}

func (b Build) assemble(on program.Platform, programs, plugins, papers v1.Layer) (v1.Image, error) {
	at := v1.Time{Time: b.Time.UTC()}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(image,
		mutate.Addendum{Layer: programs, History: v1.History{Created: at, Comment: "programs"}},
		mutate.Addendum{Layer: plugins, History: v1.History{Created: at, Comment: "the plugin of oc and kubectl for all systems"}},
		mutate.Addendum{Layer: papers, History: v1.History{Created: at, Comment: "licences and bill of materials"}},
	)
	if err != nil {
		return nil, fmt.Errorf("put the image for %s together: %w", on, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("configure the image for %s: %w", on, err)
	}
	config = config.DeepCopy()
	platform := descriptor(on)
	config.Created, config.OS, config.Architecture, config.Variant = at, platform.OS, platform.Architecture, platform.Variant
	config.Config = v1.Config{
		Entrypoint: []string{"/nodekeeper"},
		// So that a pod's command need not name a directory.
		Env:    []string{"PATH=/"},
		User:   user,
		Labels: b.Labels(),
	}
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		return nil, fmt.Errorf("configure the image for %s: %w", on, err)
	}
	return mutate.Annotations(image, b.Labels()).(v1.Image), nil
}

// Index is the one of all images.
func (b Build) Index(images []Image) v1.ImageIndex {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, i := range images {
		platform := descriptor(i.Platform)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: untyped{i.Image}, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return mutate.Annotations(index, maps.Clone(b.Labels())).(v1.ImageIndex)
}

// untyped is an image whose descriptor has no artifactType: copying programs of
// before OCI 1.1 (skopeo 1.9) leave that out, and the index would come out of
// their hands with another digest than the one that MachineConfigs name.
type untyped struct{ v1.Image }

func (untyped) ArtifactType() (string, error) { return "", nil }

func descriptor(on program.Platform) v1.Platform {
	p := v1.Platform{OS: on.OS, Architecture: on.Architecture}
	if on.Architecture == "arm64" {
		p.Variant = "v8"
	}
	return p
}
