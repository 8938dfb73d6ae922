package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle"
	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/spool"
)

// tell brings the event to the agent, or lays it where the agent will look
// when it comes.
func tell(ctx context.Context, e lifecycle.Event, o options) error {
	told := lifecycle.Report(ctx, filepath.Join(o.runDir, filepath.Base(lifecycle.DefaultSocket)), e)
	if told == nil {
		return nil
	}
	laid := spool.New(filepath.Join(o.runDir, filepath.Base(spool.DefaultDir)), 0).Put(e)
	if laid != nil {
		return fmt.Errorf("nobody is told of this container: %w", errors.Join(told, laid))
	}
	// An agent that has not been started, or is being restarted, is nothing to
	// speak of.
	if errors.Is(told, fs.ErrNotExist) || errors.Is(told, syscall.ECONNREFUSED) {
		return nil
	}
	return fmt.Errorf("the event was laid aside: %w", told)
}
