package remedy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// limits bound what one act saves, and what is kept of all of them.
type limits struct {
	// logBytes is for one log, actBytes for all that one act saves.
	logBytes, actBytes int64
	time               time.Duration
	// directories and bytes are what is kept of all acts, newest first.
	directories int
	bytes       int64
}

func defaultLimits() limits {
	return limits{logBytes: 10 << 20, actBytes: 64 << 20, time: 10 * time.Second, directories: 50, bytes: 256 << 20}
}

// archive saves the evidence of acts, each in a directory of its own. It never
// fails: what could not be saved is returned, and written beside the rest.
type archive struct {
	dir string
	// units are those whose journal is kept.
	units  []string
	limits limits
	// create and link are the only ways in which it makes files; journal asks
	// for the last lines of a unit's journal.
	create  func(path string) (file, error)
	link    func(from *os.File, to string) error
	journal func(ctx context.Context, unit string) ([]byte, error)
	// writing is held while evidence is written, so that a disk that hangs
	// costs one goroutine and not one for each act.
	writing sync.Mutex
}

func newArchive(d Dependencies) *archive {
	return &archive{
		dir: d.EvidenceDir, units: []string{d.KubeletUnit}, limits: defaultLimits(),
		create: createFile, link: linkFile, journal: journalctl,
	}
}

// subject is what evidence is saved about.
type subject struct {
	snap *node.Snapshot
	// why is a step or a verdict: it opens facts.json.
	why    any
	label  string
	key    restartpolicy.Key
	target restartpolicy.Target
	// wide takes in every static pod of the node.
	wide bool
	// extra units whose journal is kept.
	units []string
}

func (x subject) name() string {
	t := x.target
	id := short(firstOf(t.ContainerID, t.SandboxID, t.UID, x.key.Name, x.key.Container, "node"))
	return x.snap.Taken.Wall.UTC().Format("20060102T150405.000Z") + "-" + safeName(x.label) + "-" + safeName(id)
}

// SaveEvidence saves what would be saved before an act about a verdict, and
// acts on nothing. A kubelet that has reached its API server again deletes the
// logs of an old generation within a second: the agent calls this once when it
// first sees such a verdict. It returns the directory, empty if there is none,
// and one line for each thing that could not be saved.
func (e *Executor) SaveEvidence(ctx context.Context, s *node.Snapshot, v restartpolicy.Verdict) (dir string, missing []string) {
	return e.evidence.save(ctx, subject{
		snap: s, why: v, label: "verdict-" + string(v.State), key: v.Key, target: v.Target,
		wide: v.Key.Name == "",
	})
}

// save writes the evidence within the limits. It returns at the limit of time
// even when the disk hangs.
func (a *archive) save(ctx context.Context, x subject) (dir string, missing []string) {
	if a.dir == "" {
		return "", nil
	}
	if !a.writing.TryLock() {
		return "", []string{"everything: evidence of an earlier act is still being written"}
	}
	ctx, cancel := begun(ctx, a.limits.time)
	defer cancel()
	made, done := make(chan string, 1), make(chan []string, 1)
	go func() { // ends with ctx, unless the disk hangs: then with the disk
		missing := a.fill(ctx, x, made)
		// Free before the answer, so that whoever has it can write more.
		a.writing.Unlock()
		done <- missing
	}()
	limit := time.NewTimer(a.limits.time + time.Second)
	defer limit.Stop()
	select {
	case missing = <-done:
	case <-limit.C:
		missing = []string{fmt.Sprintf("unknown: the disk did not take it within %s", a.limits.time)}
	}
	select {
	case dir = <-made:
	default:
	}
	return dir, missing
}

// fill makes room and then the directory, which it tells of as soon as it is
// there, and writes everything. It returns what is missing.
func (a *archive) fill(ctx context.Context, x subject, made chan<- string) []string {
	if err := os.MkdirAll(a.dir, 0o750); err != nil {
		return []string{"everything: " + err.Error()}
	}
	a.prune(ctx)
	dir, err := makeUnique(filepath.Join(a.dir, x.name()))
	if err != nil {
		return []string{"everything: " + err.Error()}
	}
	made <- dir
	b := &evidenceDir{archive: a, dir: dir, left: a.limits.actBytes}
	b.facts(x)
	b.manifests(ctx, x)
	b.logs(ctx, x)
	b.journals(ctx, x)
	b.listMissing()
	return b.missing
}

// conclude adds what became of the act to its evidence.
func (a *archive) conclude(out Outcome) {
	if !a.writing.TryLock() {
		return
	}
	defer a.writing.Unlock()
	b := &evidenceDir{archive: a, dir: out.Evidence, left: 1 << 20}
	b.put("outcome.txt", []byte(string(out.Result)+": "+out.Detail+"\n"))
}

// evidenceDir is the directory that is being filled.
type evidenceDir struct {
	*archive
	dir     string
	left    int64
	missing []string
}

func (b *evidenceDir) miss(what string, why any) {
	b.missing = append(b.missing, fmt.Sprintf("%s: %v", what, why))
}

// put writes one small file whole, or says that it is missing.
func (b *evidenceDir) put(name string, data []byte) {
	if int64(len(data)) > b.left {
		b.miss(name, "the act's limit of bytes is reached")
		return
	}
	f, err := b.create(filepath.Join(b.dir, name))
	if err != nil {
		b.miss(name, err)
		return
	}
	n, err := f.Write(data)
	b.left -= int64(n)
	if err := firstErr(err, f.Close()); err != nil {
		b.miss(name, err)
	}
}

func (b *evidenceDir) journals(ctx context.Context, x subject) {
	for _, unit := range append(append([]string{}, b.units...), x.units...) {
		if unit == "" {
			continue
		}
		text, err := b.journal(ctx, unit)
		if len(text) > 0 {
			b.put("journal-"+safeName(unit)+".txt", text)
		}
		if err != nil {
			b.miss("journal of "+unit, oneLine(err.Error()))
		}
	}
}

// listMissing writes what is missing into the evidence itself.
func (b *evidenceDir) listMissing() {
	if len(b.missing) > 0 {
		b.left = 1 << 20
		b.put("missing.txt", []byte(strings.Join(b.missing, "\n")+"\n"))
	}
}

// makeUnique makes a directory that nobody but root reads: manifests and logs
// may hold secrets.
func makeUnique(path string) (string, error) {
	for n := 1; ; n++ {
		try := path
		if n > 1 {
			try += "-" + strconv.Itoa(n)
		}
		if err := os.Mkdir(try, 0o700); err == nil || !os.IsExist(err) || n == 100 {
			return try, err
		}
	}
}

func subjectOf(s *node.Snapshot, step restartpolicy.Step, runtimeUnit string) subject {
	x := subject{snap: s, why: step, label: string(step.Kind), key: step.Key, target: step.Target, wide: step.Kind.NodeWide()}
	if step.Kind == restartpolicy.RestartRuntime {
		x.units = []string{runtimeUnit}
	}
	return x
}
