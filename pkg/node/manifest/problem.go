package manifest

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// maxCause bounds what a message quotes of an error: a decoder may put a good
// part of the file into it.
const maxCause = 300

// problem makes one line of a fault: where, what, what to do.
func (f *fault) problem(path string, name node.PodName) *node.ManifestProblem {
	return &node.ManifestProblem{
		Path: path, Pod: name, Kind: f.kind,
		Message: oneLine(path) + ": " + oneLine(f.why) + "; " + f.advice,
	}
}

// unreadable explains why a file could not be read.
func unreadable(path string, cause error) *fault {
	if where := unseen(path, cause); where != "" {
		return &fault{node.ProblemHidden,
			"nodekeeper cannot see " + where + " (" + bare(cause).Error() + "), while the kubelet may, and may run its pod, of which nothing is known here",
			"let nodekeeper read it (ProtectHome= of its unit, permissions), or put the file itself into the directory"}
	}
	switch {
	case errors.Is(cause, regularfile.ErrTooLarge):
		return &fault{node.ProblemUnreadable, "10 MiB or larger, which the kubelet does not read", "make it smaller, or move it out of the directory"}
	case errors.Is(cause, regularfile.ErrNotRegular):
		return &fault{node.ProblemUnreadable, "neither a file nor a directory, which the kubelet does not read", "remove it"}
	case errors.Is(cause, fs.ErrNotExist):
		return &fault{node.ProblemUnreadable, "a symbolic link to " + cmp.Or(firstMissing(path), "a file") + ", which does not exist, so that the kubelet skips it", "restore that file, or remove the link"}
	case errors.Is(cause, syscall.ELOOP):
		return &fault{node.ProblemUnreadable, "a symbolic link that leads back to itself, so that the kubelet skips it", "correct the link, or remove it"}
	}
	return &fault{node.ProblemUnreadable, "cannot be read: " + bare(cause).Error(), "find out why; whether the kubelet can read it is not known"}
}

// bare takes the path off an error of the file system.
func bare(err error) error {
	var named *os.PathError
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}

// oneLine makes one line of text that came from a file or from its name.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if len(text) > maxCause {
		text = strings.ToValidUTF8(text[:maxCause], "") + "..."
	}
	return text
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}
