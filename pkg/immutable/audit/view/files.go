package view

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/apilog"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/journal"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/lines"
)

// Files are the flags of an audit that name files.
type Files struct {
	logs, journals []string
	svg            string
}

// Add adds the flags.
func (f *Files) Add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.logs, "audit-log", nil, "count in this audit log of an API server (JSON lines, also compressed; - for standard input; may be repeated)")
	flags.StringArrayVar(&f.journals, "journal", nil, "count in this journal of a kubelet (journalctl -u kubelet, any -o; also compressed; - for standard input; may be repeated)")
	flags.StringVar(&f.svg, "svg", "", "write a picture of the requests over time to this file")
}

// Any tells whether there is a file to read.
func (f *Files) Any() bool { return len(f.logs)+len(f.journals) > 0 }

// Check is about bad usage.
func (f *Files) Check() error {
	standard := 0
	for _, names := range [][]string{f.logs, f.journals} {
		for _, name := range names {
			if name == "-" {
				standard++
			}
		}
	}
	switch {
	case standard > 1:
		return errors.New("only one file can be standard input")
	case f.svg != "" && !f.Any():
		return errors.New("--svg draws what --audit-log and --journal count: name one")
	}
	return nil
}

// Read reads the files. Names of nodes restrict what is counted of an audit log.
func (f *Files) Read(in io.Reader, nodes []string, now time.Time) (a Audit, err error) {
	if len(f.logs) > 0 {
		log := apilog.New(nodes...)
		if err := lines.Files(f.logs, in, log.Read); err != nil {
			return Audit{}, fmt.Errorf("read the audit log %w", err)
		}
		r := log.Report()
		a.Log = &r
	}
	if len(f.journals) > 0 {
		j := journal.New(now)
		if err := lines.Files(f.journals, in, j.Read); err != nil {
			return Audit{}, fmt.Errorf("read the journal %w", err)
		}
		r := j.Report()
		a.Journal = &r
	}
	return a, nil
}

// Draw writes the picture, if one was asked for.
func (f *Files) Draw(a Audit) error {
	if f.svg == "" {
		return nil
	}
	var picture bytes.Buffer
	if err := Picture(&picture, a); err != nil {
		return err
	}
	if err := os.WriteFile(f.svg, picture.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}
