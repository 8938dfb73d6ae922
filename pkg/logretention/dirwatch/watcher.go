package dirwatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrTooMany is returned by Add where one more directory cannot be watched: the
// watcher's own bound, or the node's fs.inotify.max_user_watches.
var ErrTooMany = errors.New("too many watched directories")

// Event is one change. Either Overflow is set, or Dir is a watched directory:
// Name then appeared in it, or Gone says that it is there no more and is not
// watched any longer.
type Event struct {
	Dir, Name string
	// IsDir is set when the name is a directory's.
	IsDir    bool
	Gone     bool
	Overflow bool
}

// Watcher watches directories, not what lies below them. Its methods may be
// called concurrently; the caller closes it.
type Watcher struct {
	file *os.File
	max  int

	watches sync.Mutex // guards what follows
	byPath  map[string]int32
	byWatch map[int32]string
}

// New makes a watcher of at most so many directories.
func New(most int) (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("start inotify: %w", err)
	}
	return &Watcher{
		file:    os.NewFile(uintptr(fd), "inotify"),
		max:     most,
		byPath:  map[string]int32{},
		byWatch: map[int32]string{},
	}, nil
}

// names are the events that are asked for. A file that is moved onto another
// (conmon's reopened log) and one that is created both appear.
const names = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR

// Add watches a directory. A symbolic link at the end of its path is refused:
// somebody may have planted it. Adding it again changes nothing, unless
// another directory has taken its name: that is then the one watched.
func (w *Watcher) Add(dir string) error { return w.add(dir, names|unix.IN_DONT_FOLLOW) }

// AddRoot is Add for a directory that the admin has named, which may be a link.
func (w *Watcher) AddRoot(dir string) error { return w.add(dir, names) }

func (w *Watcher) add(dir string, mask uint32) error {
	w.watches.Lock()
	defer w.watches.Unlock()
	if _, again := w.byPath[dir]; !again && len(w.byPath) >= w.max {
		return ErrTooMany
	}
	var wd int
	err := w.control(func(fd int) (err error) {
		wd, err = unix.InotifyAddWatch(fd, dir, mask)
		return err
	})
	switch {
	case errors.Is(err, unix.ENOSPC):
		return ErrTooMany
	case err != nil:
		return &os.PathError{Op: "watch", Path: dir, Err: err}
	}
	// The same directory under another name has the same watch.
	if old, ok := w.byWatch[int32(wd)]; ok && old != dir {
		delete(w.byPath, old)
	}
	if old, ok := w.byPath[dir]; ok && old != int32(wd) {
		w.drop(old)
	}
	w.byPath[dir], w.byWatch[int32(wd)] = int32(wd), dir
	return nil
}

// Has tells whether a directory is watched.
func (w *Watcher) Has(dir string) bool {
	w.watches.Lock()
	defer w.watches.Unlock()
	_, ok := w.byPath[dir]
	return ok
}

// RemoveTree ends the watches on a directory and on those below it.
func (w *Watcher) RemoveTree(dir string) {
	w.watches.Lock()
	defer w.watches.Unlock()
	for path, wd := range w.byPath {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			delete(w.byPath, path)
			w.drop(wd)
		}
	}
}

// Len is how many directories are watched.
func (w *Watcher) Len() int {
	w.watches.Lock()
	defer w.watches.Unlock()
	return len(w.byPath)
}

// drop ends a watch. That the kernel has ended it before is no matter.
func (w *Watcher) drop(wd int32) {
	delete(w.byWatch, wd)
	_ = w.control(func(fd int) error {
		_, err := unix.InotifyRmWatch(fd, uint32(wd))
		return err
	})
}

func (w *Watcher) control(call func(fd int) error) error {
	conn, err := w.file.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := conn.Control(func(fd uintptr) { result = call(int(fd)) }); err != nil {
		return err
	}
	return result
}

// Run sends events until the context ends, which is no error, or the watcher
// is closed. It waits for the receiver: the kernel's queue is the buffer.
func (w *Watcher) Run(ctx context.Context, events chan<- Event) error {
	stop := context.AfterFunc(ctx, func() { _ = w.Close() })
	defer stop()
	buffer := make([]byte, 64<<10)
	for {
		n, err := w.file.Read(buffer)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("read inotify events: %w", err)
		}
		for _, raw := range split(buffer[:n]) {
			e, ok := w.event(raw)
			if !ok {
				continue
			}
			select {
			case events <- e:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// Close ends all watches.
func (w *Watcher) Close() error { return w.file.Close() }

func (w *Watcher) event(raw raw) (Event, bool) {
	if raw.mask&unix.IN_Q_OVERFLOW != 0 {
		return Event{Overflow: true}, true
	}
	w.watches.Lock()
	defer w.watches.Unlock()
	dir, ok := w.byWatch[raw.wd]
	if !ok {
		return Event{}, false
	}
	switch {
	case raw.mask&(unix.IN_MOVE_SELF|unix.IN_DELETE_SELF|unix.IN_IGNORED|unix.IN_UNMOUNT) != 0:
		delete(w.byPath, dir)
		w.drop(raw.wd)
		return Event{Dir: dir, Gone: true}, true
	case raw.name == "":
		return Event{}, false
	}
	return Event{Dir: dir, Name: raw.name, IsDir: raw.mask&unix.IN_ISDIR != 0}, true
}
