package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// collectedUnits get a journal file each; the whole journal is there too.
func (b *Box) collectedUnits() []string {
	return []string{CRIO, b.options.KubeletUnit, Agent, API, Etcd, CRIProxy}
}

// collectedFolders are copied as they are; most nodes have not all of them.
var collectedFolders = []string{
	"/etc/kubernetes/manifests", "/etc/kubernetes/static-pod-resources", "/etc/kubernetes/kubelet.conf", "/etc/nodekeeper", "/var/log/pods", "/var/log/nodekeeper",
	"/var/lib/nodekeeper", "/run/nodekeeper", "/run/box",
}

// Collect gathers into dir all that tells what went on in the box. What cannot
// be had is skipped, and part of the error; it works with a box half dead.
func (b *Box) Collect(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var failures []error
	save := func(name, content string, err error) {
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", name, err))
			content += "\n" + err.Error() + "\n"
		}
		failures = append(failures, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	for name, args := range map[string][]string{
		"journal.txt":         {"journalctl", "--no-pager", "--output=short-precise"},
		"units.txt":           {"systemctl", "--no-pager", "status", "--all", "--lines=0", "--no-legend"},
		"processes.txt":       {"ps", "-eo", "pid,ppid,stat,lstart,cgroup,args"},
		"mounts.txt":          {"cat", "/proc/self/mounts"},
		"cri-containers.json": {"crictl", "--timeout=5s", "ps", "--all", "--output=json"},
		"cri-sandboxes.json":  {"crictl", "--timeout=5s", "pods", "--output=json"},
		"cri-images.json":     {"crictl", "--timeout=5s", "images", "--output=json"},
	} {
		content, _, err := b.Exec(ctx, args...)
		// systemctl status tells dead units by its exit code.
		if name == "units.txt" && content != "" {
			err = nil
		}
		save(name, content, err)
	}
	for _, unit := range b.collectedUnits() {
		if content, err := b.Journal(ctx, unit); err == nil && !strings.Contains(content, "-- No entries --") {
			save("journal-"+strings.TrimSuffix(unit, ".service")+".txt", content, nil)
		}
	}
	for name, path := range map[string]string{"kubelet-pods.json": "/pods", "kubelet-metrics.txt": "/metrics", "kubelet-configz.json": "/configz"} {
		_, content, err := b.KubeletGet(ctx, path)
		save(name, content, err)
	}
	for _, folder := range collectedFolders {
		failures = append(failures, b.copyOut(ctx, folder, dir))
	}
	return errors.Join(failures...)
}

func (b *Box) copyOut(ctx context.Context, folder, dir string) error {
	source, err := b.Path(folder)
	if err != nil {
		return err
	}
	if _, err := os.Stat(source); os.IsNotExist(err) {
		return nil
	}
	target := filepath.Join(dir, filepath.Dir(folder))
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	// Not cp -a: sockets cannot be copied, and owners mean nothing outside.
	if output, err := exec.CommandContext(ctx, "cp", "--recursive", "--no-dereference", "--preserve=mode,timestamps", source, target).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", folder, err, output)
	}
	return nil
}
