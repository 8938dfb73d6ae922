package node

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// tree is a set of files to be written below a folder.
type tree struct {
	files map[string]file
	links map[string]string
}

type file struct {
	content []byte
	mode    os.FileMode
}

func newTree() *tree { return &tree{files: map[string]file{}, links: map[string]string{}} }

func (t *tree) add(path, content string) { t.files[path] = file{[]byte(content), 0o644} }

func (t *tree) addSecret(path string, content []byte) { t.files[path] = file{content, 0o600} }

func (t *tree) link(path, target string) { t.links[path] = target }

func (t *tree) write(place func(path string) string) error {
	for path, file := range t.files {
		target := place(path)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, file.content, file.mode); err != nil {
			return err
		}
	}
	for path, link := range t.links {
		target := place(path)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(link, target); err != nil {
			return err
		}
	}
	return nil
}

// writeRoot writes the box's own files over the template.
func (b *Box) writeRoot() error {
	var err error
	b.secrets, err = writeFiles(func(path string) string {
		// This one is a mount of its own in the box.
		if below, ok := strings.CutPrefix(path, kubeletState+"/"); ok {
			return filepath.Join(b.dir, "kubelet", below)
		}
		return filepath.Join(b.dir, "upper", path)
	}, b.options)
	return err
}

// WriteFiles writes the files of a node with these options below root, over a
// template of package components: for a node that is no box.
func WriteFiles(root string, options Options) error {
	if err := options.complete(); err != nil {
		return err
	}
	_, err := writeFiles(func(path string) string { return filepath.Join(root, path) }, options)
	return err
}

// writeFiles writes each file where place says that its path lies.
func writeFiles(place func(path string) string, options Options) (*secrets, error) {
	t := newTree()
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return nil, err
	}
	t.add("/etc/machine-id", hex.EncodeToString(id)+"\n")
	t.add("/etc/hostname", options.Hostname+"\n")
	t.add("/etc/hosts", fmt.Sprintf("127.0.0.1 localhost\n%s %s\n", nodeIP, options.Hostname))
	// The kubelet starts no pod without one.
	t.add("/etc/resolv.conf", "nameserver 127.0.0.1\n")
	t.add("/etc/systemd/journald.conf.d/box.conf", "[Journal]\nStorage=persistent\nRateLimitIntervalSec=0\nAudit=no\n")
	for program, folder := range map[string]string{
		"kubectl": "kubernetes", "kube-apiserver": "kubernetes",
		"crio": "crio", "crictl": "critools", "etcd": "etcd",
	} {
		t.link("/usr/local/bin/"+program, "/opt/box/"+folder+"/"+program)
	}
	addCRIO(t, options)
	if options.Critest {
		addCritest(t)
	}
	made, err := newSecrets(options.Name)
	if err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	made.addTo(t, options)
	if options.Kubeconfig != Standalone {
		addAPIServer(t)
	}
	if err := addKubelet(t, options); err != nil {
		return nil, err
	}
	addUnits(t, options)
	if options.OpenShift {
		addOpenShift(t, options)
	}
	if options.Profile == OpenShift {
		addOpenShiftProfile(t, options)
	}
	for unit, text := range options.UnitDropIns {
		t.add("/etc/systemd/system/"+unit+".d/50-test.conf", text)
	}
	return made, t.write(place)
}
