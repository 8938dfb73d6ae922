package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	recordFile     = "record.json"
	overlayfsMagic = 0x794c7630
)

// Record says who answers for a box and by which names it is known to the
// kernel. It lies in the box's folder from before anything is borrowed.
type Record struct {
	Name       string  `json:"name"`
	Cgroup     string  `json:"cgroup"`
	Owner      Process `json:"owner"`
	Supervisor Process `json:"supervisor"`
}

// RunDir is the folder of all boxes: NODEKEEPER_RUN_DIR or /var/tmp. It must
// not be on an overlay, which cannot carry another overlay's upper folder.
func RunDir() string {
	if dir := os.Getenv("NODEKEEPER_RUN_DIR"); dir != "" {
		return dir
	}
	return "/var/tmp/nodekeeper-boxes"
}

// NewBoxDir makes the folder of a box with its record in it. The caller owns
// the folder; RemoveBox takes it away.
func NewBoxDir(name string) (string, Record, error) {
	var record Record
	if err := os.MkdirAll(RunDir(), 0o711); err != nil {
		return "", record, fmt.Errorf("make the folder of boxes: %w", err)
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(RunDir(), &fs); err == nil && fs.Type == overlayfsMagic {
		return "", record, fmt.Errorf("%s is on an overlay file system, which cannot hold a box: set NODEKEEPER_RUN_DIR to a folder on a disk", RunDir())
	}
	unlock, err := lockRunDir()
	if err != nil {
		return "", record, err
	}
	defer unlock()
	dir, err := os.MkdirTemp(RunDir(), name+"-")
	if err != nil {
		return "", record, fmt.Errorf("make the folder of box %s: %w", name, err)
	}
	// nspawn and the kubelet insist on search permission for others.
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", record, err
	}
	record = Record{Name: name, Cgroup: "nodekeeper-" + filepath.Base(dir), Owner: Self()}
	return dir, record, WriteRecord(dir, record)
}

// WriteRecord replaces the record of a box in one step.
func WriteRecord(dir string, record Record) error {
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	temporary := filepath.Join(dir, "."+recordFile)
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return fmt.Errorf("write the record of box %s: %w", record.Name, err)
	}
	return os.Rename(temporary, filepath.Join(dir, recordFile))
}

// ReadRecord reads the record of the box in dir.
func ReadRecord(dir string) (Record, error) {
	var record Record
	data, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		return record, err
	}
	if err := json.Unmarshal(data, &record); err != nil {
		return record, fmt.Errorf("read the record of box %s: %w", filepath.Base(dir), err)
	}
	return record, nil
}

// boxDirs lists the folders that hold a box.
func boxDirs() ([]string, error) {
	entries, err := os.ReadDir(RunDir())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list boxes: %w", err)
	}
	var dirs []string
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			dirs = append(dirs, filepath.Join(RunDir(), entry.Name()))
		}
	}
	return dirs, nil
}

// lockRunDir keeps others from making or removing boxes, and from changing
// kernel settings, until undone.
func lockRunDir() (func(), error) {
	file, err := os.OpenFile(filepath.Join(RunDir(), ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the folder of boxes: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock the folder of boxes: %w", err)
	}
	return func() { file.Close() }, nil
}
