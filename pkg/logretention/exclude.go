package logretention

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// excluded tells whether a pod matches one of the patterns NAMESPACE or
// NAMESPACE/POD, in which * stands for any text. Neither name has a slash.
func excluded(patterns []string, namespace, pod string) bool {
	for _, p := range patterns {
		of, name, both := strings.Cut(p, "/")
		if matches(of, namespace) && (!both || matches(name, pod)) {
			return true
		}
	}
	return false
}

// matches never fails: the configuration's check lets no pattern pass that
// path.Match would refuse.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// dropExcluded removes live attempts of excluded pods: the hook, which knows no
// exclusions, has linked their logs. It goes before the store, and leaves alone
// what that has taken up already.
func dropExcluded(root string, patterns []string, known func(id string) bool, log *slog.Logger) error {
	if len(patterns) == 0 {
		return nil
	}
	top := filepath.Join(root, record.LiveDir)
	entries, err := os.ReadDir(top)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if known(e.Name()) || !e.IsDir() {
			continue
		}
		dir := filepath.Join(top, e.Name())
		var b record.Birth
		data, readErr := statefile.Read(filepath.Join(dir, record.BirthFile), record.MaxMetaBytes)
		if readErr != nil || record.Decode(data, &b) != nil || !excluded(patterns, b.Namespace, b.Pod) {
			continue
		}
		if removeErr := os.RemoveAll(dir); removeErr != nil {
			err = errors.Join(err, removeErr)
			continue
		}
		log.Info("log let go of: its pod is excluded", "namespace", b.Namespace, "pod", b.Pod, "container", b.Container,
			"attempt", b.Attempt.Attempt, "containerID", b.ContainerID)
	}
	return err
}
