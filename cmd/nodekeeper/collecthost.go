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
	var cfg config.Configuration
	path, err := o.on(p.path)
	if err == nil {
		cfg, err = config.Load(path)
	}
	if err != nil {
		cfg = config.Default()
		if !errors.Is(err, fs.ErrNotExist) {
			all.missing("configuration", err)
		}
	}
	dirs := cfg.Directories
	part := all.of("nodes/"+p.hostName(o, dirs.Run), o.nodeBytes)
	defer func() { all.join(part) }()
	for name, path := range map[string]string{
		"config.yaml": p.path,
		"image":       "/etc/nodekeeper/image",
		"installed":   filepath.Join(dirs.State, "installed"),
		status.Name:   filepath.Join(dirs.Run, status.Name),
		journal.Name:  filepath.Join(dirs.State, journal.Name),
	} {
		var file regularfile.File
		path, err := o.on(path)
		if err == nil {
			file, err = regularfile.Read(path, maxCollected)
		}
		if err != nil {
			part.missing(name, err)
			continue
		}
		part.save(name, file.Data)
	}
	part.journal(ctx, o.root)
	var files *reader.Dir
	if path, err = o.on(dirs.Log); err == nil {
		files, err = reader.Local(path)
	}
	if err != nil {
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

// on is where something of the node is. No link leads out of what is mounted: what
// is there is not the node's.
func (o collecting) on(path string) (string, error) {
	if o.root == "" {
		return path, nil
	}
	root, err := filepath.EvalSymlinks(o.root)
	if err != nil {
		return "", err
	}
	at, err := filepath.EvalSymlinks(filepath.Join(root, path))
	if err != nil {
		return "", err
	}
	if in, err := filepath.Rel(root, at); err != nil || !filepath.IsLocal(in) {
		return "", fmt.Errorf("%s: a link leads out of %s", path, o.root)
	}
	return at, nil
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
func (p *program) hostName(o collecting, run string) string {
	path, err := o.on(filepath.Join(run, status.Name))
	if err != nil {
		return "this"
	}
	if s, err := status.Read(filepath.Dir(path)); err == nil && filepath.IsLocal(s.Node.Name) && filepath.Base(s.Node.Name) == s.Node.Name {
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
