package manifest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// maxCause bounds what a message quotes of an error: a decoder may put a good
// part of the file into it.
const maxCause = 300

func unparsable(path string, name node.PodName, cause error) *node.ManifestProblem {
	return &node.ManifestProblem{
		Path: path, Pod: name, Kind: node.ProblemUnparsable,
		Message: fmt.Sprintf("%s: %s; the kubelet runs no pod from this file: mend it, or move it out of the directory",
			oneLine(path), oneLine(cause.Error())),
	}
}

func unreadable(path string, cause error) *node.ManifestProblem {
	var what string
	switch {
	case errors.Is(cause, regularfile.ErrTooLarge):
		what = "10 MiB or larger; the kubelet does not read it: make it smaller, or move it out of the directory"
	case errors.Is(cause, regularfile.ErrNotRegular):
		what = "neither a file nor a directory; the kubelet does not read it: remove it"
	case errors.Is(cause, os.ErrNotExist):
		what = "a symbolic link to a file that does not exist; the kubelet skips it: restore the file, or remove the link"
	default:
		what = "cannot be read: " + oneLine(bare(cause).Error()) + "; correct its permissions, or move it out of the directory"
	}
	return &node.ManifestProblem{
		Path: path, Kind: node.ProblemUnreadable, Message: oneLine(path) + ": " + what,
	}
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
