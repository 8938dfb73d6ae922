package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// inotifyInstances is enough for twenty boxes: systemd, CRI-O and the kubelet
// of one take about 15, and the usual limit is 128 for all of a user's.
const inotifyInstances = 512

// borrowed are the settings of the whole machine that a box changes: the
// first is ours, the others are the kubelet's at its start.
var borrowed = []string{
	"fs/inotify/max_user_instances",
	"vm/overcommit_memory",
	"vm/panic_on_oom",
	"kernel/panic",
	"kernel/panic_on_oops",
	"kernel/keys/root_maxkeys",
	"kernel/keys/root_maxbytes",
}

func settingsFile() string { return filepath.Join(RunDir(), ".settings.json") }

// RaiseSettings notes the machine's settings, unless another box did already,
// and raises what is too low. The last box removed puts them back.
func RaiseSettings() error {
	unlock, err := lockRunDir()
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(settingsFile()); errors.Is(err, os.ErrNotExist) {
		saved := map[string]string{}
		for _, name := range borrowed {
			if value, err := os.ReadFile(filepath.Join("/proc/sys", name)); err == nil {
				saved[name] = strings.TrimSpace(string(value))
			}
		}
		data, err := json.Marshal(saved)
		if err != nil {
			return err
		}
		if err := os.WriteFile(settingsFile(), data, 0o600); err != nil {
			return fmt.Errorf("note kernel settings: %w", err)
		}
	}
	name := filepath.Join("/proc/sys", borrowed[0])
	value, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read kernel setting: %w", err)
	}
	if current, err := strconv.Atoi(strings.TrimSpace(string(value))); err != nil || current >= inotifyInstances {
		return err
	}
	if err := os.WriteFile(name, []byte(strconv.Itoa(inotifyInstances)), 0o644); err != nil {
		return fmt.Errorf("raise %s, which boxes need: %w", borrowed[0], err)
	}
	return nil
}

// restoreSettings needs the lock.
func restoreSettings() error {
	data, err := os.ReadFile(settingsFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read noted kernel settings: %w", err)
	}
	saved := map[string]string{}
	if err := json.Unmarshal(data, &saved); err != nil {
		return fmt.Errorf("read noted kernel settings: %w", err)
	}
	var failures []error
	for name, value := range saved {
		path := filepath.Join("/proc/sys", name)
		if now, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(now)) == value {
			continue
		}
		failures = append(failures, os.WriteFile(path, []byte(value), 0o644))
	}
	failures = append(failures, os.Remove(settingsFile()))
	return errors.Join(failures...)
}
