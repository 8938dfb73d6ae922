package hooksd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containers/common/pkg/hooks"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
)

// maxFile bounds what is read of a hook's file.
const maxFile = 1 << 20

// Check returns one line for each thing that is wrong: with the installed file
// and its program, and with other files in CRI-O's directories, which are given in
// CRI-O's order: one that its loader cannot read stops CRI-O from starting.
// It changes nothing.
func Check(o Options, dirs []string) (problems []string) {
	problems = append(problems, o.checkFile()...)
	problems = append(problems, lines(program(o.HookPath))...)
	if at := slices.Index(dirs, o.Dir); at >= 0 {
		for _, dir := range dirs[at+1:] {
			if later := filepath.Join(dir, FileName); !absent(later) {
				problems = append(problems, fmt.Sprintf("%s replaces %s: CRI-O takes the last of one name", later, o.path()))
			}
		}
	} else {
		dirs = append([]string{o.Dir}, dirs...)
	}
	for _, dir := range dirs {
		problems = append(problems, checkDir(dir)...)
	}
	return problems
}

func (o Options) checkFile() []string {
	file, err := regularfile.Read(o.path(), maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []string{fmt.Sprintf("%s is missing, so that logs are kept only while the agent runs: nodekeeper hook install", o.path())}
	case err != nil:
		return []string{said(err)}
	}
	want, err := o.content()
	// What is wrong with the program is said by itself.
	if err == nil && !bytes.Equal(file.Data, want) {
		return []string{fmt.Sprintf("%s differs from what this version and configuration would install", o.path())}
	}
	return nil
}

// said is an error about a file, which names it, and what to do where that is
// known.
func said(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return err.Error() + ": run it as root"
	}
	return err.Error()
}

// checkDir looks for files that the loader chokes on (pkg/hooks ReadDir and
// New, v0.63). It passes over a hook whose program is missing.
func checkDir(dir string) (problems []string) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []string{said(err)}
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if !strings.HasSuffix(path, ".json") {
			continue
		}
		err := unreadable(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, fmt.Sprintf("%s keeps CRI-O from starting: %v", path, err))
		}
	}
	return problems
}

// unreadable is why the loader chokes on a file.
func unreadable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	// The loader would wait for a FIFO.
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is no file: %v", info.Mode())
	}
	_, err = hooks.Read(path, nil)
	return err
}
