// Command demo shows on a real node in a box what nodekeeper is for. Without
// an argument it reproduces the bug that started it; "lost-exit" shows a
// container whose monitor and first process died together. It exits 1 if
// anything that it announces does not happen.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	if ctx.Err() != nil {
		err = errors.New("interrupted; the box is gone")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	// The API server, which is opened at the end, looks for the kubelet at the
	// node's address.
	story, options := forgotten, node.Options{Kubeconfig: node.APIClosed, API: true,
		KubeletConfig: func(c map[string]any) { c["address"] = "0.0.0.0" }}
	if len(args) > 0 && args[0] == "lost-exit" {
		story, options = lostExit, node.Options{}
	} else if len(args) > 0 {
		return fmt.Errorf("no demo %q: there are the default one and lost-exit", args[0])
	}
	program := os.Getenv("NODEKEEPER_BINARY")
	if program == "" {
		return errors.New("NODEKEEPER_BINARY is not set: run make demo")
	}
	options.Progress = os.Stderr
	box, err := node.Start(ctx, options)
	if err != nil {
		return err
	}
	defer box.Stop()
	d := &demo{ctx: ctx, box: box, program: program, began: time.Now(), out: os.Stdout}
	if err := story(d); err != nil {
		if ctx.Err() == nil {
			d.agentJournal(os.Stderr)
		}
		return err
	}
	d.say("done")
	return nil
}

// demo is one showing.
type demo struct {
	ctx     context.Context
	box     *node.Box
	program string
	began   time.Time
	out     io.Writer
	shown   map[string]bool
}

// say prints one line of the timeline.
func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.out, "%5.0fs  %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

// until waits for a condition of the node.
func (d *demo) until(limit time.Duration, what string, ok func() (bool, error)) error {
	deadline := time.Now().Add(limit)
	for {
		done, err := ok()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if done {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v still not: %s", limit, what)
		}
		select {
		case <-d.ctx.Done():
			return d.ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (d *demo) agentJournal(w io.Writer) {
	if journal, err := d.box.Journal(context.WithoutCancel(d.ctx), node.Agent); err == nil && journal != "" {
		fmt.Fprintf(w, "journal of the agent:\n%s\n", journal)
	}
}
