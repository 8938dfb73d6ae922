package manifest

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// unseen returns what is in the way of a file that is not there, or that may not
// be read, if that may be so for us only: systemd can hide the homes from our
// unit (ProtectHome=), and our rights are not the kubelet's. It returns "" where
// the kubelet sees what we see.
func unseen(path string, err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission): // EACCES and EPERM
		return cmp.Or(firstMissing(path), path)
	case !errors.Is(err, fs.ErrNotExist):
		return ""
	}
	missing := firstMissing(path)
	for _, home := range []string{"/root", "/home", "/run/user"} {
		// It may be a link itself: /home to /var/home.
		for _, dir := range []string{home, resolved(home)} {
			if strings.HasPrefix(missing, dir+"/") {
				return missing
			}
		}
	}
	return ""
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// firstMissing follows all links of a path and returns where they lead if they
// lead nowhere.
func firstMissing(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	at, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0 && links < 40; {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(next)
		if err == nil {
			links++
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		}
		if _, err := os.Lstat(next); err != nil {
			return filepath.Join(next, filepath.Join(rest...))
		}
		at = next
	}
	return ""
}
