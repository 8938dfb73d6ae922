package main

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// longest is less than the timeout in the hook's file, which a runtime answers
// with a failed container.
const longest = time.Second

// options are the flags in the args of the hook's file.
type options struct {
	root           string // of records
	runDir         string // of the agent's socket and spool
	deadline       time.Duration
	all            bool // containers of all pods, not of static ones only
	maxLive        int
	minFreePercent int
	journal        string
}

// parse always gives options to go on with.
func parse(args []string) (options, error) {
	usual := options{
		root:           record.DefaultRoot,
		runDir:         "/run/nodekeeper",
		deadline:       150 * time.Millisecond,
		maxLive:        1000,
		minFreePercent: 5,
		journal:        "/run/systemd/journal/socket",
	}
	o := usual
	flags := flag.NewFlagSet("nodekeeper-hook", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.root, "root", o.root, "")
	flags.StringVar(&o.runDir, "run", o.runDir, "")
	flags.DurationVar(&o.deadline, "deadline", o.deadline, "")
	flags.BoolVar(&o.all, "all", o.all, "")
	flags.IntVar(&o.maxLive, "max-live", o.maxLive, "")
	flags.IntVar(&o.minFreePercent, "min-free-percent", o.minFreePercent, "")
	flags.StringVar(&o.journal, "journal", o.journal, "")
	err := flags.Parse(args)
	switch {
	case err != nil:
	case flags.NArg() > 0:
		err = fmt.Errorf("unknown argument %q", flags.Arg(0))
	case o.deadline <= 0 || o.deadline > longest:
		err = fmt.Errorf("--deadline %v: not in (0, %v]", o.deadline, longest)
	case !filepath.IsAbs(o.root) || !filepath.IsAbs(o.runDir):
		err = fmt.Errorf("--root %q, --run %q: not absolute", o.root, o.runDir)
	}
	if err != nil {
		return usual, fmt.Errorf("args of the hook: %w", err)
	}
	return o, nil
}
