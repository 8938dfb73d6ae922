package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// Logs are the flags of the command logs. Those that kubectl logs has mean the
// same here.
type Logs struct {
	Query   reader.Query
	Options reader.Options

	tail, limit int64
	since       string
	until       string
	headers     string
	escape      string
}

// When to do what suits people and not programs.
const (
	auto   = "auto"
	always = "always"
	never  = "never"
)

// Add adds the flags, but for the namespace.
func (l *Logs) Add(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVarP(&l.Query.Container, "container", "c", "", "container; not needed where the pod has one")
	flags.StringVar(&l.Query.Crash, "crash", "", "the attempt with this record ID, or a beginning of it that only one has")
	flags.VarP((*previous)(&l.Query.Previous), "previous", "p", "the attempt that ended last, or k-th last with --previous=k")
	flags.Lookup("previous").NoOptDefVal = "1"
	flags.BoolVar(&l.Query.First, "first", false, "the first attempt that is left of the newest series of crashes")
	flags.StringVar(&l.Query.Revision, "revision", "", "only attempts of this revision of the pod")
	flags.BoolVar(&l.Query.All, "all", false, "all attempts, oldest first")
	flags.Int64Var(&l.tail, "tail", -1, "lines to show from the end; -1 for all")
	flags.Var((*cli.TimeSpan)(&l.Options.Since), "since", "only lines newer than this, for example 5m or 7d")
	flags.StringVar(&l.since, "since-time", "", "only lines after this time (RFC3339)")
	flags.StringVar(&l.until, "until", "", "only lines before this time (RFC3339)")
	flags.BoolVar(&l.Options.Timestamps, "timestamps", false, "the time before each line")
	flags.Int64Var(&l.limit, "limit-bytes", 0, "bytes to show at most; 0 for all")
	flags.BoolVarP(&l.Options.Follow, "follow", "f", false, "go on with what is written to a live attempt")
	flags.BoolVar(&l.Options.Prefix, "prefix", false, "the pod, container and attempt before each line")
	flags.StringVar(&l.Options.Stream, "stream", "", "only stdout or stderr")
	flags.BoolVar(&l.Options.Raw, "raw", false, "the files as the runtime wrote them")
	flags.Var(newChoice(&l.headers, auto, always, never), "headers", "lines before attempts and at gaps: always, never, auto")
	flags.Var(newChoice(&l.escape, auto, always, never), "escape", "replace control characters: always, never, auto")
}

// Arguments checks how many there are. The usual second one is a number that
// was meant for --previous, which takes it after = only.
func (l *Logs) Arguments(args []string) error {
	if len(args) < 2 {
		return nil
	}
	if i := slices.IndexFunc(args, isNumber); i >= 0 && l.Query.Previous > 0 {
		return fmt.Errorf("--previous takes its number after =: --previous=%s", args[i])
	}
	return fmt.Errorf("one pod at a time: %q is one too many", args[1])
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// Complete takes over the argument NAMESPACE/POD or POD, "" for none, and
// checks the flags. Its errors are those of bad usage.
func (l *Logs) Complete(argument, namespace string, flags *pflag.FlagSet) error {
	f := Filter{Namespace: namespace}
	switch {
	case argument != "":
		if err := f.Name(argument); err != nil {
			return err
		}
	case l.Query.Crash == "":
		return errors.New("which pod? NAMESPACE/POD, or --crash ID (the command crashes lists them)")
	}
	l.Query.Namespace, l.Query.Pod = f.Namespace, f.Pod
	if flags.Changed("tail") && l.tail >= 0 {
		l.Options.Tail = &l.tail
	}
	if l.tail < -1 {
		return fmt.Errorf("--tail %d is less than -1", l.tail)
	}
	switch {
	case l.limit < 0:
		return fmt.Errorf("--limit-bytes %d is less than 1", l.limit)
	case l.limit > 0:
		l.Options.LimitBytes = &l.limit
	}
	chosen := 0
	for _, name := range []string{"crash", "previous", "first", "all"} {
		if flags.Changed(name) {
			chosen++
		}
	}
	if chosen > 1 {
		return errors.New("choose one of --crash, --previous, --first and --all")
	}
	if s := l.Options.Stream; s != "" && s != "stdout" && s != "stderr" {
		return fmt.Errorf("--stream %q is neither stdout nor stderr", s)
	}
	if l.since != "" && l.Options.Since != 0 {
		return errors.New("choose one of --since and --since-time")
	}
	return errors.Join(moment("since-time", l.since, &l.Options.SinceTime), moment("until", l.until, &l.Options.Until), l.plain(flags))
}

// plain refuses what would be left out of raw output without a word.
func (l *Logs) plain(flags *pflag.FlagSet) error {
	if !l.Options.Raw {
		return nil
	}
	for _, name := range []string{"tail", "since", "since-time", "until", "timestamps", "prefix", "stream"} {
		if flags.Changed(name) {
			return fmt.Errorf("--%s does not go with --raw", name)
		}
	}
	return nil
}

func moment(flag, text string, to *time.Time) error {
	if text == "" {
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return fmt.Errorf("--%s %q is no time like 2006-01-02T15:04:05Z", flag, text)
	}
	*to = t
	return nil
}

// Select finds the attempts in an index. A static pod may go by the name in its
// manifest.
func (l *Logs) Select(x *record.Index) ([]reader.Attempt, error) {
	q := l.Query
	if !kept(x, q.Namespace, q.Pod, "") && kept(x, q.Namespace, full(q.Pod, x.Node), "") {
		q.Pod = full(q.Pod, x.Node)
	}
	return reader.Select(x, q)
}

// Knows tells whether an index has anything of the pod, and the container if
// one was named: then what is not found there is nowhere else.
func (l *Logs) Knows(x *record.Index) bool {
	q := l.Query
	return q.Pod == "" || kept(x, q.Namespace, q.Pod, q.Container) || kept(x, q.Namespace, full(q.Pod, x.Node), q.Container)
}

// SelectOfKubelet finds the attempts in the kubelet's own log directory, on the
// named node. The error is fs.ErrNotExist if there is nothing of the pod.
func (l *Logs) SelectOfKubelet(dir, node string) ([]reader.Attempt, error) {
	q := l.Query
	if q.Crash != "" || q.Revision != "" {
		return nil, fs.ErrNotExist
	}
	all, err := reader.PodLogAttempts(dir, q.Namespace, q.Pod, q.Container)
	if errors.Is(err, fs.ErrNotExist) && node != "" {
		all, err = reader.PodLogAttempts(dir, q.Namespace, full(q.Pod, node), q.Container)
	}
	switch {
	case err != nil || q.All:
		return all, err
	case q.First:
		return all[:1], nil
	case q.Previous >= len(all):
		return nil, fmt.Errorf("the kubelet has %d attempts of it besides the newest", len(all)-1)
	}
	return all[len(all)-1-q.Previous:][:1], nil
}

// kept tells whether an index has any attempt of a pod, or of one container of
// it.
func kept(x *record.Index, namespace, pod, container string) bool {
	is := func(a record.Attempt) bool {
		return a.Pod == pod && (namespace == "" || a.Namespace == namespace) && (container == "" || a.Container == container)
	}
	return slices.ContainsFunc(x.Records, func(e record.Entry) bool { return is(e.Attempt) }) ||
		slices.ContainsFunc(x.Live, func(l record.Live) bool { return is(l.Attempt) })
}

// Print writes the logs of attempts. That nobody reads on is no failure, nor is
// the interruption of following.
func (l *Logs) Print(ctx context.Context, out io.Writer, files reader.Files, attempts []reader.Attempt) error {
	terminal := cli.Terminal(out)
	o := l.Options
	switch l.headers {
	case always:
		o.Headers = true
	case auto:
		o.Headers = !o.Raw && (terminal || len(attempts) > 1 ||
			slices.ContainsFunc(attempts, func(a reader.Attempt) bool { return len(a.Gaps) > 0 }))
	}
	w, finish := out, func() error { return nil }
	if l.escape == always || (l.escape == auto && terminal) {
		escaped := reader.Escape(out)
		w, finish = escaped, escaped.Close
	}
	err := errors.Join(reader.Write(ctx, w, files, attempts, o), finish())
	if errors.Is(err, syscall.EPIPE) || (o.Follow && ctx.Err() != nil) {
		return nil
	}
	return err
}

// previous is the flag --previous, which kubectl has as a boolean.
type previous int

func (p *previous) Set(text string) error {
	if yes, err := strconv.ParseBool(text); err == nil && text != "1" && text != "0" {
		*p = 0
		if yes {
			*p = 1
		}
		return nil
	}
	k, err := strconv.Atoi(text)
	if err != nil || k < 1 {
		return errors.New("1 is the attempt that ended last, 2 the one before")
	}
	*p = previous(k)
	return nil
}

func (p *previous) String() string { return strconv.Itoa(int(*p)) }

// Type is what help calls the flag's value.
func (p *previous) Type() string { return "k" }

// choice is a flag that has one of a few values; the first is the default.
type choice struct {
	to   *string
	from []string
}

func newChoice(to *string, from ...string) *choice {
	*to = from[0]
	return &choice{to, from}
}

func (c *choice) Set(text string) error {
	if !slices.Contains(c.from, text) {
		return fmt.Errorf("%q is none of %s", text, strings.Join(c.from, ", "))
	}
	*c.to = text
	return nil
}

func (c *choice) String() string { return *c.to }

// Type is what help calls the flag's value.
func (c *choice) Type() string { return "when" }
