package fault

import (
	"os"
	"path/filepath"
	"syscall"
)

// Set replaces the rules of the call name in dir; with none it removes them.
func Set(dir, name string, rules ...Rule) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	path := filepath.Join(dir, name)
	if len(rules) == 0 {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
		return nil
	}
	// Written aside first: a call must not see half a rule.
	temporary := filepath.Join(dir, ".new-"+name)
	if err := os.WriteFile(temporary, []byte(Format(rules)), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// lock keeps the rules in dir from changing until undone.
func lock(dir string) (func(), error) {
	file, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}
