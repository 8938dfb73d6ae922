package manifest

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
)

// volumes returns those of a pod by name. Mirrors ValidateVolumes, and
// validateVolumeSource for the kinds that static pods have.
func (c *check) volumes(spec *corev1.PodSpec) map[string]*corev1.VolumeSource {
	byName := make(map[string]*corev1.VolumeSource, len(spec.Volumes))
	for i := range spec.Volumes {
		name, v := spec.Volumes[i].Name, &spec.Volumes[i].VolumeSource
		at := fmt.Sprintf("spec.volumes[%d]", i)
		c.follows(at+".name", name, validation.IsDNS1123Label)
		c.must(byName[name] == nil, at+".name", "%q: used twice", name)
		byName[name] = v
		sources := sourcesOf(v)
		switch {
		case v.Image == nil || len(sources) > 2:
			c.must(len(sources) == 1, at, "more than one source: %s", strings.Join(sources, ", "))
		case len(sources) == 2: // 1.31 knows the field, and does not count it
			c.forbids(imageVolumes, at, "more than one source: %s", strings.Join(sources, ", "))
		default:
			c.imageVolume(at, v.Image)
		}
		if h := v.HostPath; h != nil {
			c.hostPath(at+".hostPath", h)
		}
		if dir := v.EmptyDir; dir != nil {
			c.must(dir.SizeLimit == nil || dir.SizeLimit.Sign() >= 0, at+".emptyDir.sizeLimit", "must not be negative")
		}
		if v.NFS != nil {
			c.must(v.NFS.Server != "" && path.IsAbs(v.NFS.Path), at+".nfs", "a server and an absolute path are needed")
		}
		if s := v.Secret; s != nil {
			c.must(s.SecretName != "", at+".secret.secretName", "is needed")
			c.mode(at+".secret.defaultMode", s.DefaultMode)
		}
		if m := v.ConfigMap; m != nil {
			c.must(m.Name != "", at+".configMap.name", "is needed")
			c.mode(at+".configMap.defaultMode", m.DefaultMode)
		}
		if p := v.Projected; p != nil {
			c.mode(at+".projected.defaultMode", p.DefaultMode)
			for _, source := range p.Sources {
				c.must(source.ServiceAccountToken == nil || spec.ServiceAccountName != "", at+".projected", "a serviceAccountToken needs spec.serviceAccountName")
			}
		}
	}
	return byName
}

// imageVolume mirrors validateImageVolumeSource.
func (c *check) imageVolume(at string, image *corev1.ImageVolumeSource) {
	c.needs(imageVolumes, at, "an image cannot be the source")
	switch image.PullPolicy {
	case corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
	case "":
		c.needs(imagePullDefault, at+".image.pullPolicy", "is needed")
	default:
		c.forbids(imageVolumes, at+".image.pullPolicy", "%q: must be Always, IfNotPresent or Never", image.PullPolicy)
	}
}

// hostPath mirrors validateHostPathVolumeSource and validateHostPathType.
func (c *check) hostPath(at string, h *corev1.HostPathVolumeSource) {
	c.must(h.Path != "", at+".path", "is needed")
	c.noBacksteps(at+".path", h.Path)
	oneOf(c, at+".type", ptr.Deref(h.Type, corev1.HostPathUnset), corev1.HostPathUnset, corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory,
		corev1.HostPathFileOrCreate, corev1.HostPathFile, corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev)
}

func (c *check) mode(at string, mode *int32) {
	c.must(mode == nil || 0 <= *mode && *mode <= 0o777, at, "must be between 0 and 0777")
}
