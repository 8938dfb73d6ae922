package staticpod

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	manifests = "/etc/kubernetes/manifests"
	resources = "/etc/kubernetes/static-pod-resources"
	// stopped is where the restore scripts put manifests aside.
	stopped = "/home/core/assets/manifests-stopped"
)

// Files is the node: where a path of it is found from here (node.Box).
type Files interface {
	Path(path string) (string, error)
}

// Installer changes the manifest of one static pod as library-go's installer
// pod, its startup monitor and the restore scripts of etcd do. One call at a
// time.
type Installer struct {
	files          Files
	nodeName, name string
}

// NewInstaller is for the pod that is called name, on a node.
func NewInstaller(files Files, nodeName, name string) *Installer {
	return &Installer{files, nodeName, name}
}

// Manifest is the path of the manifest on the node.
func (i *Installer) Manifest() string { return filepath.Join(manifests, i.name+"-pod.yaml") }

// InstallRevision fills the placeholders and writes the pod, as JSON and
// without a UID, into the folder of its revision and then among the manifests:
// library-go pkg/operator/staticpod/installerpod/cmd.go writePod. It does not
// rename: the old manifest is removed and the new one written in its place.
func (i *Installer) InstallRevision(revision int, pod []byte) error {
	decoded, err := decode(pod)
	if err != nil {
		return fmt.Errorf("install revision %d of %s: %w", revision, i.name, err)
	}
	delete(metadata(decoded), "uid")
	content, err := encode(decoded)
	if err != nil {
		return err
	}
	// In JSON a placeholder is in quotes: a revision stays a string.
	for placeholder, value := range map[string]string{"REVISION": strconv.Itoa(revision), "NODE_NAME": i.nodeName} {
		content = bytes.ReplaceAll(content, []byte(placeholder), []byte(value))
	}
	kept, err := i.files.Path(i.ofRevision(revision))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(kept, content, 0o600); err != nil {
		return err
	}
	return i.replace(content, 0o600)
}

// Fallback puts the last known good revision in the place of the one that does
// not get ready, under a new UID, which it returns: startupmonitor/fallback.go
// fallbackToPreviousRevision.
func (i *Installer) Fallback(failed int, reason, message string) (uid string, err error) {
	good, err := i.lastKnownGood(failed)
	if err != nil {
		return "", fmt.Errorf("fall back from revision %d of %s: %w", failed, i.name, err)
	}
	text, err := i.read(good)
	if err != nil {
		return "", err
	}
	pod, err := decode(text)
	if err != nil {
		return "", err
	}
	meta := metadata(pod)
	annotations, _ := meta["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		meta["annotations"] = annotations
	}
	const prefix = "startup-monitor.static-pods.openshift.io/fallback-"
	annotations[prefix+"for-revision"] = strconv.Itoa(failed)
	annotations[prefix+"reason"] = reason
	annotations[prefix+"message"] = message
	uid = newUID()
	meta["uid"] = uid
	content, err := encode(pod)
	if err != nil {
		return "", err
	}
	return uid, i.replace(content, 0o644)
}

// lastKnownGood is the manifest that a link names, which is made when it is not
// there: it names the highest revision but the failed one.
func (i *Installer) lastKnownGood(failed int) (string, error) {
	link, err := i.files.Path(filepath.Join(resources, i.name+"-last-known-good"))
	if err != nil {
		return "", err
	}
	if target, err := os.Readlink(link); err == nil {
		return target, nil
	}
	folders, err := filepath.Glob(filepath.Join(filepath.Dir(link), i.name+"-pod-*"))
	if err != nil {
		return "", err
	}
	best := 0
	for _, folder := range folders {
		revision, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(folder), i.name+"-pod-"))
		if err == nil && revision != failed {
			best = max(best, revision)
		}
	}
	if best == 0 {
		return "", errors.New("there is no other revision")
	}
	return i.ofRevision(best), os.Symlink(i.ofRevision(best), link)
}

// MoveAside moves the manifest out of the way: cluster-etcd-operator
// bindata/etcd/etcd-common-tools mv_static_pods.
func (i *Installer) MoveAside() error { return i.move(i.Manifest(), i.aside()) }

// MoveBack moves it back as it was, with its old time.
func (i *Installer) MoveBack() error { return i.move(i.aside(), i.Manifest()) }

func (i *Installer) aside() string { return filepath.Join(stopped, filepath.Base(i.Manifest())) }

// Backup is a manifest that was saved.
type Backup struct {
	content  []byte
	modified time.Time
}

// Backup saves the manifest.
func (i *Installer) Backup() (Backup, error) {
	path, err := i.files.Path(i.Manifest())
	if err != nil {
		return Backup{}, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return Backup{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Backup{}, err
	}
	return Backup{content, info.ModTime()}, nil
}

// Restore writes a saved manifest over the present one, with its old time, as
// tar does for cluster-restore.sh.
func (i *Installer) Restore(saved Backup) error {
	path, err := i.files.Path(i.Manifest())
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return writeAt(path, saved, 0o600)
}

// move does what mv does between two mounts, as /etc and /var are on such a
// node: it copies, sets the old time and removes.
func (i *Installer) move(from, to string) error {
	source, err := i.files.Path(from)
	if err != nil {
		return err
	}
	target, err := i.files.Path(to)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if err := writeAt(target, Backup{content, info.ModTime()}, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Remove(source)
}

func writeAt(path string, saved Backup, mode os.FileMode) error {
	if err := os.WriteFile(path, saved.content, mode); err != nil {
		return err
	}
	return os.Chtimes(path, saved.modified, saved.modified)
}

// replace removes the manifest, so that the kubelet is told of a new file, and
// writes another.
func (i *Installer) replace(content []byte, mode os.FileMode) error {
	path, err := i.files.Path(i.Manifest())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(path, content, mode)
}

func (i *Installer) ofRevision(revision int) string {
	return filepath.Join(resources, fmt.Sprintf("%s-pod-%d", i.name, revision), i.name+"-pod.yaml")
}

func (i *Installer) read(path string) ([]byte, error) {
	outside, err := i.files.Path(path)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(outside)
}

func decode(text []byte) (pod map[string]any, err error) {
	if err := yaml.Unmarshal(text, &pod); err != nil {
		return nil, fmt.Errorf("read the pod: %w", err)
	}
	if _, ok := pod["metadata"].(map[string]any); !ok {
		return nil, errors.New("read the pod: it has no metadata")
	}
	return pod, nil
}

// encode writes what the serializer of the API's types does.
func encode(pod map[string]any) ([]byte, error) {
	metadata(pod)["creationTimestamp"] = nil
	pod["status"] = map[string]any{}
	text, err := json.Marshal(pod)
	return append(text, '\n'), err
}

func metadata(pod map[string]any) map[string]any { return pod["metadata"].(map[string]any) }

// newUID is a random UUID.
func newUID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // it never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
