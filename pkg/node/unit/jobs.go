package unit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// results are all that a job can end with: an entry with none of them tells of
// a job that begins. systemd src/core/job.c job_result_table, v252.
var results = [...]string{"done", "canceled", "timeout", "failed", "dependency", "skipped", "invalid", "assert",
	"unsupported", "collected", "once", "frozen", "concurrency"}

// errNoJob is returned where the journal of this boot knows none.
var errNoJob = errors.New("the journal has no finished job of it in this boot")

// journal runs journalctl with the arguments and returns what it prints.
type journal func(ctx context.Context, arguments ...string) ([]byte, error)

// LastJob returns the last job of a unit that systemd finished in this boot,
// from the journal: D-Bus tells of jobs in hand alone. It runs a program that
// opens all journal files of the boot; what was wrong is in the Err.
func (u *Units) LastJob(ctx context.Context, name string) node.Job {
	// Only systemd itself writes as process 1. The entries must have one of the
	// values of each field.
	arguments := []string{"--boot", "--quiet", "--no-pager", "--lines=1", "--output=json",
		"--output-fields=JOB_TYPE,JOB_RESULT", "_PID=1", "UNIT=" + name}
	for _, result := range results {
		arguments = append(arguments, "JOB_RESULT="+result)
	}
	var job node.Job
	text, err := u.jobs(ctx, arguments...)
	if err == nil {
		job, err = parseJob(text)
	}
	if err != nil {
		return node.Job{Err: explain("ask the journal for the last job of", name, err)}
	}
	return job
}

// parseJob reads one entry of journalctl -o json.
func parseJob(entry []byte) (node.Job, error) {
	if len(bytes.TrimSpace(entry)) == 0 {
		return node.Job{}, errNoJob
	}
	var fields struct {
		Type     string `json:"JOB_TYPE"`
		Result   string `json:"JOB_RESULT"`
		Finished string `json:"__MONOTONIC_TIMESTAMP"`
	}
	if err := json.Unmarshal(entry, &fields); err != nil {
		return node.Job{}, fmt.Errorf("its entry: %w", err)
	}
	if fields.Type == "" || fields.Result == "" {
		return node.Job{}, errors.New("its entry names no type and result")
	}
	finished, err := strconv.ParseInt(fields.Finished, 10, 64)
	if err != nil || finished < 0 || finished > math.MaxInt64/int64(time.Microsecond) {
		return node.Job{}, fmt.Errorf("its entry has no time: %q", fields.Finished)
	}
	return node.Job{Type: fields.Type, Result: fields.Result, Finished: time.Duration(finished) * time.Microsecond}, nil
}

// journalctl is the journal of this host.
func journalctl(ctx context.Context, arguments ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "journalctl", arguments...)
	// A child that holds the pipe must not hold up the look.
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &exit) && len(exit.Stderr) > 0:
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}
