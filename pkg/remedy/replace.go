package remedy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

const (
	// outAtLeast and outAtMost bound how long a manifest is away. The kubelet
	// sees the change at once through inotify, or at the latest when it reads
	// the directory again, every 20 s.
	outAtLeast = 3 * time.Second
	outAtMost  = 25 * time.Second
	// returnMargin is kept of the step's time for putting the manifest back.
	returnMargin = 2 * time.Second
	returnTries  = 5
)

// replaceManifest takes the manifest out of the kubelet's sight and puts the
// same file back, which makes the kubelet admit the pod anew.
//
// The hidden file is its own journal: its name says what it was and whose it
// is, and each move is one rename. Whatever interrupts this, Restore finds
// either the manifest or the hidden file.
func (e *Executor) replaceManifest(ctx context.Context, step restartpolicy.Step, dir string) (string, error) {
	if filepath.Dir(step.Target.Manifest) != filepath.Clean(dir) {
		return "", refusal("the manifest is not in the manifest directory")
	}
	release, err := lockInstallers(e.InstallerLocks)
	if err != nil {
		return "", err
	}
	defer release()
	began := time.Now()
	path := step.Target.Manifest
	if err := hide(path, step.Target.Digest); err != nil {
		return "", err
	}
	limit := min(outAtMost, max(step.Timeout-returnMargin, outAtLeast))
	_, waited := e.await(ctx, limit, func(s *node.Snapshot) bool {
		_, listed := s.Kubelet.View.Find(step.Key.PodName)
		return time.Since(began) >= outAtLeast && s.Kubelet.View.Known() && !listed
	})
	note, err := e.bringBack(path)
	switch {
	case err != nil:
		return "", err
	case note != "":
		return note, nil
	case errors.Is(waited, context.Canceled):
		return "put back early: the agent is stopping", nil
	case waited != nil:
		return fmt.Sprintf("out for %s and back; the kubelet was not seen to drop the pod", limit), nil
	}
	return "out and back; the kubelet had dropped the pod", nil
}

// hide renames a manifest to its hidden name, if it is a regular file with the
// content that the verdict was about.
func hide(path, digest string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return refusal("the manifest cannot be read: " + oneLine(err.Error()))
	case !info.Mode().IsRegular():
		return refusal("the manifest is not a regular file: " + path)
	}
	if err := moveNoReplace(path, hidden(path)); err != nil {
		if errors.Is(err, os.ErrExist) {
			return refusal("a hidden manifest is left over: " + hidden(path))
		}
		return fmt.Errorf("hide manifest: %w", err)
	}
	// Compared after the move: what is hidden now is no longer written by
	// name, so that this is the file that the kubelet gets back.
	if got, err := digestOf(hidden(path)); err != nil || got != digest {
		if _, err := unhide(hidden(path)); err != nil {
			return err
		}
		return refusal("the manifest has changed")
	}
	return nil
}

// bringBack puts the manifest back, and tries again for a short while: nothing
// may leave it hidden.
func (e *Executor) bringBack(path string) (string, error) {
	var note string
	var err error
	for range returnTries {
		if note, err = unhide(hidden(path)); err == nil {
			return note, nil
		}
		time.Sleep(e.pause / 4)
	}
	return "", fmt.Errorf("manifest %s is still hidden, move %s back by hand: %w", path, filepath.Base(hidden(path)), err)
}

// moveNoReplace renames a file and fails with os.ErrExist when the new name is
// taken. A file system without such a rename gets a link and an unlink.
func moveNoReplace(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return moveByLink(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

func moveByLink(from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	return os.Remove(from)
}

func digestOf(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, 16<<20)); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
