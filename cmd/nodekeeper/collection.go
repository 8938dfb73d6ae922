package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// collection is a directory that is being filled. Nothing outside of it is ever
// written, whatever the names that come from nodes.
type collection struct {
	root *os.Root
	dir  string
	// left is how much more may be written.
	left int64
	// problems are what could not be had.
	problems []string
	// err is what kept the directory from being written.
	err error
}

func newCollection(dir string, bytes int64) (*collection, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &collection{root: root, left: bytes}, nil
}

func (c *collection) close() { _ = c.root.Close() }

// of is a part of the collection with bounds of its own, which join adds.
func (c *collection) of(dir string, bytes int64) *collection {
	return &collection{root: c.root, dir: path.Join(c.dir, dir), left: bytes}
}

func (c *collection) join(part *collection) {
	for _, text := range part.problems {
		c.problems = append(c.problems, part.dir+": "+text)
	}
	c.err = errors.Join(c.err, part.err)
}

// missing notes what could not be had.
func (c *collection) missing(what string, err error) {
	c.problems = append(c.problems, what+": "+oneLine(err.Error()))
}

// save writes a file, if there is room for it.
func (c *collection) save(file string, data []byte) {
	if int64(len(data)) > c.left {
		c.problems = append(c.problems, fmt.Sprintf("%s: %d bytes are more than may still be taken", file, len(data)))
		return
	}
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		c.problems = append(c.problems, fmt.Sprintf("%q is no name for a file", file))
		return
	}
	at := filepath.FromSlash(path.Join(c.dir, file))
	err := c.root.MkdirAll(filepath.Dir(at), 0o700)
	// Whatever an earlier call or somebody else left there, a FIFO perhaps, is not
	// written to.
	if err == nil {
		err = c.root.Remove(at)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = c.root.WriteFile(at, data, 0o600)
	}
	if err != nil {
		c.err = errors.Join(c.err, err)
		return
	}
	c.left -= int64(len(data))
}

func (c *collection) json(file string, v any) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		c.missing(file, err)
		return
	}
	c.save(file, append(data, '\n'))
}

// finish leaves word of what is missing.
func (c *collection) finish() {
	if len(c.problems) > 0 {
		c.left = maxCollected
		c.save("missing.txt", []byte(strings.Join(c.problems, "\n")+"\n"))
	}
}

// records takes the index, and of each attempt its facts and the end of its log,
// newest first.
func (c *collection) records(ctx context.Context, files reader.Files, o collecting, now time.Time) {
	index, err := reader.Load(ctx, files)
	if err != nil {
		c.missing("records", err)
		return
	}
	c.json("index.json", index)
	attempts, err := reader.Select(index, reader.Query{All: true})
	if err != nil {
		c.missing("records", err)
		return
	}
	slices.Reverse(attempts)
	for i, a := range attempts {
		if a.Meta != nil && o.since > 0 && now.Sub(ended(a.Meta)) > o.since {
			continue
		}
		if c.left <= 0 || ctx.Err() != nil {
			c.missing("records", fmt.Errorf("%d older attempts are left out", len(attempts)-i))
			return
		}
		dir := path.Join("records", strings.TrimPrefix(a.Path, "."))
		if a.Meta != nil {
			c.json(path.Join(dir, record.MetaFile), a.Meta)
		} else {
			c.json(path.Join(dir, record.BirthFile), a.Birth)
		}
		log, err := reader.Tail(ctx, files, a, int(min(o.recordBytes, max(0, c.left))))
		if err != nil {
			c.missing(path.Join(dir, "log.txt"), err)
		}
		if log = bytes.TrimSpace(log); len(log) > 0 && int64(len(log)) < c.left {
			c.save(path.Join(dir, "log.txt"), append(log, '\n'))
		}
	}
}

func ended(m *record.Meta) time.Time {
	if m.Finished != nil {
		return *m.Finished
	}
	return m.Recorded
}

// oneLine makes a bounded line of a text that came from elsewhere.
func oneLine(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
