package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/safelink"
)

// capture makes ROOT/.live/CONTAINERID with birth.json and log.0, a link to the
// log. What is there already, the agent's or an earlier hook's, stays.
func capture(s *state, e lifecycle.Event, o options) (err error) {
	if e.Pod == "" || e.Container == "" || e.LogPath == "" {
		return fmt.Errorf("a state without pod, container or log path: %q, %q, %q", e.Pod, e.Container, e.LogPath)
	}
	live, err := openLive(o.root)
	if err != nil {
		return err
	}
	defer live.Close()
	made := false
	dir, err := subdirectory(live, e.ContainerID)
	if errors.Is(err, fs.ErrNotExist) {
		if err := room(live, o); err != nil {
			return err
		}
		made = true
		dir, err = ensure(live, e.ContainerID)
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	// The birth comes first: a log without one is nobody's.
	err = errors.Join(writeBirth(dir, birth(s, e)), link(dir, e.LogPath))
	if err != nil && made {
		// Where nothing could be put into it, it is in the way only.
		_ = unix.Unlinkat(int(live.Fd()), e.ContainerID, unix.AT_REMOVEDIR)
	}
	return err
}

func link(dir *os.File, logPath string) error {
	source, err := safelink.Open(logPath)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := source.LinkAt(dir, record.SegmentName(0, false)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func birth(s *state, e lifecycle.Event) record.Birth {
	return record.Birth{
		APIVersion: record.APIVersion,
		Kind:       record.KindBirth,
		Attempt: record.Attempt{
			Namespace:   e.Namespace,
			Pod:         e.Pod,
			PodUID:      e.PodUID,
			Container:   e.Container,
			Attempt:     e.Attempt,
			ContainerID: e.ContainerID,
			SandboxID:   e.SandboxID,
			Revision:    s.revision(),
		},
		BootID:   e.BootID,
		Seen:     e.Time,
		By:       record.SourceHook,
		LogPath:  e.LogPath,
		Bundle:   e.Bundle,
		Image:    s.image(),
		ImageRef: s.Annotations[crioImageRef],
		SpecHash: s.Annotations[containerHash],
		Pid:      e.Pid,
	}
}

// writeBirth puts birth.json there, whole or not at all, unless there is one.
func writeBirth(dir *os.File, b record.Birth) error {
	at := int(dir.Fd())
	var stat unix.Stat_t
	if unix.Fstatat(at, record.BirthFile, &stat, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return nil
	}
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if len(data) > record.MaxMetaBytes {
		return fmt.Errorf("%s of %d bytes", record.BirthFile, len(data))
	}
	temporary := fmt.Sprintf(".tmp-birth-%d", os.Getpid())
	fd, err := unix.Openat(at, temporary, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &fs.PathError{Op: "create", Path: dir.Name() + "/" + temporary, Err: err}
	}
	f := os.NewFile(uintptr(fd), temporary)
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Close())
	if err == nil {
		// Old kernels and some file systems cannot refuse to replace; what
		// would be replaced says the same.
		err = unix.Renameat2(at, temporary, at, record.BirthFile, unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
			err = unix.Renameat(at, temporary, at, record.BirthFile)
		}
	}
	if err != nil {
		_ = unix.Unlinkat(at, temporary, 0)
	}
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("write %s/%s: %w", dir.Name(), record.BirthFile, err)
	}
	return nil
}
