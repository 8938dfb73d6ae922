package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/journal"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/report"
)

const (
	// shortestReport and longestReport bound --since.
	shortestReport = time.Minute
	longestReport  = 90 * 24 * time.Hour
	// tailLines are more than fit into the end of a log that is shown.
	tailLines = 80
)

func (p *program) report() *cobra.Command {
	since := 24 * time.Hour
	var dir, to string
	c := &cobra.Command{
		Use:   "report",
		Short: "make one page of what happened on this node",
		Long: `Make one HTML page of what happened on this node: how the static pods were over
time, what crashed and with which last words, what the agent did. The page needs
nothing else to be read, and only its owner can read it. Logs may hold secrets:
look at what you pass on. Its times are in the time zone of TZ.`,
		Args: cobra.NoArgs,
	}
	c.Flags().Var((*cli.TimeSpan)(&since), "since", "how much time it is about, up to now; at most "+cli.TimeSpan(longestReport).String())
	c.Flags().StringVarP(&to, "output", "o", "report.html", "the file, - for the standard output")
	logDir(c, &dir)
	c.RunE = cli.Does(func(c *cobra.Command, _ []string) error {
		switch {
		case since < shortestReport || since > longestReport:
			return cli.Usage(fmt.Errorf("--since %s: from %s to %s", cli.TimeSpan(since), cli.TimeSpan(shortestReport), cli.TimeSpan(longestReport)))
		case to == "":
			return cli.Usage(errors.New("which file? -o FILE.html"))
		case to == "-" && cli.Terminal(p.out):
			return cli.Usage(errors.New("a page is nothing for a terminal: -o FILE.html"))
		}
		cfg, err := p.load(c, silently)
		if err != nil {
			return err
		}
		if dir != "" {
			cfg.Directories.Log = dir
		}
		now := p.clock.Now().Wall
		page := func(w io.Writer) error {
			return p.page(c.Context(), w, cfg.Directories, dir != "", now.Add(-since), now)
		}
		if to == "-" {
			return page(p.out)
		}
		return whole(to, page)
	})
	return c
}

// page writes the page. What cannot be read is told on it, unless that is for
// want of the right to, or nothing is in a record root that was named: a name
// that is mistyped would make a page of a node on which nothing happened.
func (p *program) page(ctx context.Context, w io.Writer, dirs config.Directories, named bool, from, to time.Time) error {
	src := report.Sources{Version: versionText()}
	var refused error
	note := func(err error) {
		switch {
		case err == nil:
		case errors.Is(err, fs.ErrPermission):
			refused = err
		default:
			src.Notes = append(src.Notes, err.Error())
		}
	}
	s, err := status.Read(dirs.Run)
	if err == nil {
		src.Status, src.Stale = &s, s.Stale(p.clock.BootID(), p.clock.Now())
	} else if !errors.Is(err, status.ErrNotRunning) {
		note(err)
	}
	src.Acts, err = journal.Read(dirs.State)
	note(err)
	src.Timeline, err = timeline.Read(dirs.Log, from)
	note(err)
	files, index, err := openRecords(ctx, dirs.Log)
	if err != nil && named && !(errors.Is(err, reader.ErrNoRecords) && len(src.Timeline.Lines) > 0) {
		return err
	}
	note(err)
	if err == nil {
		defer files.Close()
		src.Records = index
		src.Tail = func(e *record.Entry) (string, error) { return lastWords(ctx, files, e) }
	}
	if refused != nil {
		return asRoot(refused)
	}
	return report.Write(w, src, from, to)
}

// lastWords is the end of the log of a record.
func lastWords(ctx context.Context, files *reader.Dir, e *record.Entry) (string, error) {
	lines := int64(tailLines)
	var end last
	attempt := reader.Attempt{Attempt: e.Attempt, Path: e.Path, Meta: &e.Meta, Segments: e.Segments, Gaps: e.Gaps}
	err := reader.Write(ctx, &end, files, []reader.Attempt{attempt}, reader.Options{Tail: &lines})
	return string(end), err
}

// last keeps the end of what is written to it.
type last []byte

func (l *last) Write(p []byte) (int, error) {
	*l = append(*l, p...)
	if n := len(*l) - report.TailBytes; n > 0 {
		*l = append((*l)[:0], (*l)[n:]...)
	}
	return len(p), nil
}
