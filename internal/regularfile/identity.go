package regularfile

import (
	"errors"
	"io/fs"
	"syscall"
	"time"
)

// Identity tells one state of one file from another without reading it. It is
// comparable; the zero value is no file.
type Identity struct {
	Device, Inode uint64
	Size          int64
	// Modified and Changed are mtime and ctime in nanoseconds since 1970. An
	// editor can set the first back, not the second.
	Modified, Changed int64
}

// ModTime is Modified as a time on the wall clock.
func (id Identity) ModTime() time.Time { return time.Unix(0, id.Modified) }

func identityOf(info fs.FileInfo) (Identity, error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}, errors.New("the file system gives no inode")
	}
	return Identity{
		Device:   uint64(stat.Dev),
		Inode:    stat.Ino,
		Size:     stat.Size,
		Modified: stat.Mtim.Nano(),
		Changed:  stat.Ctim.Nano(),
	}, nil
}
