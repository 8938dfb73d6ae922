package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/nodekeeper/nodekeeper/internal/regularfile"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/journal"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
)

const (
	// maxCollected is the most that is taken of one file that is no log.
	maxCollected = 16 << 20
	// journalLines and journalWait bound what is taken of the journal.
	journalLines = "20000"
	journalWait  = time.Minute
)

// ofHost collects of the node whose file system this is, or that has its file
// system at o.root.
func (p *program) ofHost(ctx context.Context, all *collection, o collecting) {
	on := func(path ...string) string { return filepath.Join(append([]string{"/", o.root}, path...)...) }
	cfg, err := config.Load(on(p.path))
	if err != nil {
		cfg = config.Default()
		if !errors.Is(err, fs.ErrNotExist) {
			all.missing("configuration", err)
		}
	}
	dirs := cfg.Directories
	part := all.of("nodes/"+p.hostName(on(dirs.Run)), o.nodeBytes)
	defer func() { all.join(part) }()
	for name, path := range map[string]string{
		"config.yaml": on(p.path),
		"image":       on("/etc/nodekeeper/image"),
		"installed":   on(dirs.State, "installed"),
		status.Name:   on(dirs.Run, status.Name),
		journal.Name:  on(dirs.State, journal.Name),
	} {
		file, err := regularfile.Read(path, maxCollected)
		if err != nil {
			part.missing(name, err)
			continue
		}
		part.save(name, file.Data)
	}
	part.journal(ctx, o.root)
	if files, err := reader.Local(on(dirs.Log)); err != nil {
		part.missing("records", err)
	} else {
		for _, name := range []string{timeline.Name, timeline.Rotated} {
			if data, err := small(ctx, files, name); err != nil {
				part.missing(name, err)
			} else {
				part.save(name, data)
			}
		}
		part.records(ctx, files, o, p.clock.Now().Wall)
		if err := files.Close(); err != nil {
			part.missing("records", err)
		}
	}
}

// small reads a small file of the record root, and nothing that a link there leads
// to.
func small(ctx context.Context, files reader.Files, name string) ([]byte, error) {
	f, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxCollected+1))
	if err = errors.Join(err, f.Close()); err == nil && len(data) > maxCollected {
		err = fmt.Errorf("more than %d bytes", maxCollected)
	}
	return data, err
}

// hostName is the node's name as its agent knows it.
func (p *program) hostName(run string) string {
	if s, err := status.Read(run); err == nil && filepath.IsLocal(s.Node.Name) && filepath.Base(s.Node.Name) == s.Node.Name {
		return s.Node.Name
	}
	return "this"
}

// journal takes the journal of nodekeeper's units, where there is a program that
// reads it: not in an image of nothing.
func (c *collection) journal(ctx context.Context, root string) {
	program, err := exec.LookPath("journalctl")
	if err != nil {
		c.missing("journal.txt", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, journalWait)
	defer cancel()
	args := []string{"--no-pager", "--output=short-iso", "--lines=" + journalLines, "--unit=nodekeeper*"}
	if root != "" {
		args = append(args, "--root="+root)
	}
	var text, said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = &limited{&said, 4096}
	// A child that keeps the pipe open does not hold the collection up.
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.missing("journal.txt", err)
		return
	}
	_, err = io.Copy(&text, io.LimitReader(out, min(maxCollected, c.left)))
	// It may have more to say than is wanted.
	cancel()
	_ = cmd.Wait()
	if err != nil || text.Len() == 0 {
		c.missing("journal.txt", errors.Join(err, errors.New("journalctl says nothing: "+oneLine(said.String()))))
	}
	if text.Len() > 0 {
		c.save("journal.txt", text.Bytes())
	}
}

// limited takes the first bytes and lets the others go.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	_, err := l.w.Write(p[:n])
	return len(p), err
}
