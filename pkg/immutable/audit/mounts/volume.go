package mounts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

const (
	// projected is the directory of projected volumes, whose files are of
	// several sources.
	projected = "kubernetes.io~projected"
	// maxFile is more than an object can hold.
	maxFile = 2 << 20
)

// volume is a volume that an atomic writer of the kubelet fills.
type volume struct {
	// plugin is its directory below volumes.
	plugin  string
	sources []source
}

// source is an object of a volume.
type source struct {
	key      shape.Key
	items    []corev1.KeyToPath
	optional bool
}

func volumeOf(namespace string, v *corev1.Volume) volume {
	of := func(resource shape.Resource, name string, items []corev1.KeyToPath, optional *bool) source {
		return source{shape.Key{Resource: resource, Namespace: namespace, Name: name}, items, optional != nil && *optional}
	}
	switch {
	case v.Projected != nil:
		out := volume{plugin: projected}
		for _, p := range v.Projected.Sources {
			if p.Secret != nil && p.Secret.Name != "" {
				out.sources = append(out.sources, of(shape.Secrets, p.Secret.Name, p.Secret.Items, p.Secret.Optional))
			}
			if p.ConfigMap != nil && p.ConfigMap.Name != "" {
				out.sources = append(out.sources, of(shape.ConfigMaps, p.ConfigMap.Name, p.ConfigMap.Items, p.ConfigMap.Optional))
			}
		}
		return out
	case v.Secret != nil && v.Secret.SecretName != "":
		return volume{"kubernetes.io~secret", []source{of(shape.Secrets, v.Secret.SecretName, v.Secret.Items, v.Secret.Optional)}}
	case v.ConfigMap != nil && v.ConfigMap.Name != "":
		return volume{"kubernetes.io~configmap", []source{of(shape.ConfigMaps, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional)}}
	}
	return volume{}
}

// read returns the files of a volume by their paths, and when they were written.
func (v volume) read(dir string) (map[string][]byte, time.Time, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, time.Time{}, bare(err)
	}
	defer root.Close()
	info, err := root.Stat("..data")
	if err != nil {
		return nil, time.Time{}, bare(err)
	}
	files := map[string][]byte{}
	data, err := root.OpenRoot("..data")
	if err != nil {
		return nil, time.Time{}, bare(err)
	}
	defer data.Close()
	err = fs.WalkDir(data.FS(), ".", func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := data.Open(at)
		if err != nil {
			return err
		}
		defer f.Close()
		files[at], err = io.ReadAll(io.LimitReader(f, maxFile))
		return err
	})
	return files, info.ModTime(), bare(err)
}

// bare takes the path, which is long and says nothing new, out of an error.
func bare(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// compare says in words how the files are not what the live data of each source
// would give; empty for not at all.
func (v volume) compare(files map[string][]byte, data []map[string][]byte) []string {
	// Of two sources that give one file the later one counts.
	want, owner := map[string][]byte{}, map[string]int{}
	for at, s := range v.sources {
		for file, content := range s.paths(data[at]) {
			want[file], owner[file] = content, at
		}
	}
	counts := make([]difference, len(v.sources))
	for file, content := range want {
		switch mounted, ok := files[file]; {
		case !ok:
			counts[owner[file]].missing++
		case !bytes.Equal(mounted, content):
			counts[owner[file]].changed++
		}
	}
	for file := range files {
		if _, wanted := want[file]; wanted {
			continue
		}
		for at, s := range v.sources {
			// A file that no source names can be a token's, or be left by any.
			if v.plugin != projected || s.names(file) {
				counts[at].more++
			}
		}
	}
	said := make([]string, len(counts))
	for at, c := range counts {
		said[at] = c.String()
	}
	return said
}

// difference counts files.
type difference struct{ changed, missing, more int }

func (d difference) String() string {
	var said []string
	for _, part := range []struct {
		n    int
		what string
	}{{d.changed, "changed"}, {d.missing, "missing"}, {d.more, "too many"}} {
		if part.n > 0 {
			said = append(said, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "files: " + strings.Join(said, ", ")
}

// paths are the files that the live data gives, as the kubelet makes them:
// pkg/volume/secret/secret.go MakePayload, and alike for ConfigMaps.
func (s source) paths(data map[string][]byte) map[string][]byte {
	if len(s.items) == 0 {
		return data
	}
	out := map[string][]byte{}
	for _, item := range s.items {
		if content, ok := data[item.Key]; ok {
			out[path.Clean(item.Path)] = content
		}
	}
	return out
}

func (s source) names(file string) bool {
	for _, item := range s.items {
		if path.Clean(item.Path) == file {
			return true
		}
	}
	return false
}
