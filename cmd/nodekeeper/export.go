package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/internal/statefile"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/journal"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/view"
)

func (p *program) export() *cobra.Command {
	var filter view.Filter
	var dir, to string
	c := &cobra.Command{
		Use:   "export [POD | NAMESPACE/POD] -o FILE.tgz",
		Short: "pack crash records, acts and status into one file to pass on",
		Long: `Pack crash records with their logs, the acts of the same time, the status of the
agent and an index into a tar.gz file that only its owner can read. Logs may hold
secrets: look at what you pass on.`,
		Args: cobra.MaximumNArgs(1),
	}
	filter.Add(c.Flags())
	logDir(c, &dir)
	c.Flags().StringVarP(&to, "output", "o", "", "the file, - for the standard output")
	c.RunE = cli.Does(func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			if err := filter.Name(args[0]); err != nil {
				return cli.Usage(err)
			}
		}
		switch {
		case to == "":
			return cli.Usage(errors.New("which file? -o FILE.tgz"))
		case to == "-" && cli.Terminal(p.out):
			return cli.Usage(errors.New("an archive is nothing for a terminal: -o FILE.tgz"))
		}
		cfg, err := p.load(c, silently)
		if err != nil {
			return err
		}
		if dir != "" {
			cfg.Directories.Log = dir
		}
		pack := func(w io.Writer) error { return p.pack(c.Context(), w, filter, cfg.Directories) }
		if to == "-" {
			return pack(p.out)
		}
		return whole(to, pack)
	})
	return c
}

// pack writes the archive. What could not be packed is in the error, and the
// rest in the archive.
func (p *program) pack(ctx context.Context, w io.Writer, filter view.Filter, dirs config.Directories) error {
	files, index, err := openRecords(ctx, dirs.Log)
	if err != nil {
		return err
	}
	defer files.Close()
	now := p.clock.Now().Wall
	a := newArchive(w, "nodekeeper-"+nodeName(index)+"-"+now.UTC().Format("20060102T150405Z"), now)
	index = filter.Of(index, now)
	if len(index.Records)+len(index.Live) == 0 {
		p.warn("no crash records are chosen: the archive has the acts and the status only")
	}
	a.text("version.txt", []byte(versionLine()))
	a.json(index, "index.json")
	if s, err := status.Read(dirs.Run); err == nil {
		a.json(s, status.Name)
	} else {
		p.warn(err.Error())
	}
	acts, err := journal.Read(dirs.State)
	if err != nil {
		p.warn("acts: " + err.Error())
	}
	for _, act := range acts {
		if filter.Since == 0 || now.Sub(act.Began.Wall) <= filter.Since {
			a.line(act)
		}
	}
	a.lines(journal.Name)
	for i := range index.Records {
		a.record(ctx, files, &index.Records[i])
	}
	for i := range index.Live {
		a.live(ctx, files, &index.Live[i])
	}
	for _, name := range a.gone {
		p.warn(name + " was evicted meanwhile and is not in the archive")
	}
	return a.Close()
}

func (p *program) warn(text string) { fmt.Fprintln(p.err, name+": "+text) }

// whole writes a file that appears when it is complete, or not at all.
// In the place of a device or a link, as of /dev/null or /dev/stdout, it would take
// that away from everybody.
func whole(path string, write func(io.Writer) error) (err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return cli.Usage(fmt.Errorf("-o %s: not a regular file: name another, or - for the standard output", path))
	}
	temporary := path + ".partial"
	// Whatever lies there, a link perhaps, is not written to.
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary))
		}
	}()
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	return statefile.SyncDir(filepath.Dir(path))
}
