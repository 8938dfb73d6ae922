package hooksd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// program says what is wrong with the hook's program. CRI-O only looks whether
// it exists, and each runtime runs it as root.
func program(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("the program: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	var wrong []error
	say := func(text string, args ...any) {
		wrong = append(wrong, fmt.Errorf("the program %s "+text, append([]any{path}, args...)...))
	}
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		say("is no file: %v", mode)
	case mode.Perm()&0o111 == 0:
		say("is not executable: every container that the hook matches would fail")
	case mode.Perm()&0o022 != 0:
		say("can be written to by others: mode %v", mode)
	}
	if ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		say("belongs to user %d", stat.Uid)
	}
	return errors.Join(wrong...)
}

// lines are the single errors of a joined one.
func lines(err error) (all []string) {
	var joined interface{ Unwrap() []error }
	switch {
	case err == nil:
	case errors.As(err, &joined):
		for _, e := range joined.Unwrap() {
			all = append(all, lines(e)...)
		}
	default:
		all = append(all, err.Error())
	}
	return all
}

// absent tells whether a path is known not to exist.
func absent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
