package logretention

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

const (
	// heralded records wait for the journal; more are not told of.
	heralded = 64
	// tailTime bounds the reading of one tail.
	tailTime = 5 * time.Second
	// severity is syslog's "err".
	severity = 3
)

// herald writes one journal entry for each attempt that ended in trouble: its
// facts, and the end of its log, for `oc adm node-logs -u nodekeeper`.
type herald struct {
	root    string
	node    atomic.Value // its name: a string
	tail    int64
	journal func(fields map[string]string, message string, priority int) error
	log     *slog.Logger
	entries chan record.Entry
}

func newHerald(root, node string, tail int64, journal func(map[string]string, string, int) error, log *slog.Logger) *herald {
	h := &herald{root: root, tail: tail, journal: journal, log: log, entries: make(chan record.Entry, heralded)}
	h.node.Store(node)
	return h
}

// tell never blocks: the record is there, whatever the journal does.
func (h *herald) tell(e record.Entry) {
	if h.journal == nil {
		return
	}
	select {
	case h.entries <- e:
	default:
		h.log.Warn("the journal is behind: a crash is not entered", "record", e.Path)
	}
}

// run tells of records until the context ends, and then of those that wait.
func (h *herald) run(ctx context.Context) {
	for {
		select {
		case e := <-h.entries:
			h.enter(ctx, e)
			continue
		default:
		}
		select {
		case e := <-h.entries:
			h.enter(ctx, e)
		case <-ctx.Done():
			return
		}
	}
}

func (h *herald) enter(ctx context.Context, e record.Entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tailTime)
	defer cancel()
	if err := h.journal(h.fields(e), h.message(ctx, e), severity); err != nil {
		h.log.Warn("crash not entered in the journal", "record", e.Path, "error", err)
	}
}

func (h *herald) fields(e record.Entry) map[string]string {
	f := map[string]string{
		"NODEKEEPER_NODE":         h.node.Load().(string),
		"NODEKEEPER_NAMESPACE":    e.Namespace,
		"NODEKEEPER_POD":          e.Pod,
		"NODEKEEPER_POD_UID":      e.PodUID,
		"NODEKEEPER_CONTAINER":    e.Container,
		"NODEKEEPER_CONTAINER_ID": e.ContainerID,
		"NODEKEEPER_ATTEMPT":      strconv.FormatUint(uint64(e.Attempt.Attempt), 10),
		"NODEKEEPER_CLASS":        string(e.Class),
		"NODEKEEPER_RECORD":       e.Path,
	}
	if e.ExitCode != nil {
		f["NODEKEEPER_EXIT_CODE"] = strconv.FormatInt(int64(*e.ExitCode), 10)
	}
	return f
}

// message is one line of facts, and the end of the log below it. What the
// container wrote is escaped: it must not pass for anything else.
func (h *herald) message(ctx context.Context, e record.Entry) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s/%s container %s, attempt %d: %s (%s); record %s",
		e.Namespace, e.Pod, e.Container, e.Attempt.Attempt, e.Class, e.ClassReason, e.Path)
	if h.tail <= 0 || len(e.Segments) == 0 {
		return out.String()
	}
	tail, err := h.end(ctx, e)
	if err != nil {
		fmt.Fprintf(&out, "; its log cannot be read: %v", err)
	}
	if len(tail) > 0 {
		out.WriteString("\n")
		escaped := reader.Escape(&out)
		_, _ = escaped.Write(tail) // a strings.Builder takes everything
		_ = escaped.Close()
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func (h *herald) end(ctx context.Context, e record.Entry) ([]byte, error) {
	files, err := reader.Local(h.root)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	return reader.Tail(ctx, files, reader.Attempt{
		Attempt: e.Attempt, Path: e.Path, Meta: &e.Meta, Segments: e.Segments, Gaps: e.Gaps,
	}, int(h.tail))
}
