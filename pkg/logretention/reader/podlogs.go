package reader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// DefaultPodLogsDir is the kubelet's default podLogsDir.
const DefaultPodLogsDir = "/var/log/pods"

// PodLogs are the kubelet's own log files, of which PodLogAttempts tells.
func PodLogs(dir string) (*Dir, error) { return Local(dir) }

// podLogShape is a kubelet log file: ATTEMPT.log, with a time behind it after
// rotation, and compressed after the rotation that follows
// (kubelet pkg/kubelet/logs/container_log_manager.go, v1.37).
var podLogShape = regexp.MustCompile(`^(\d{1,10})\.log(\.\d{8}-\d{6})?(\.gz)?$`)

// PodLogAttempts finds the attempts of one container in the kubelet's own
// directories, oldest first: of every pod UID that is left. The namespace may be
// empty where the pod's name is unique, the container where the pod has one.
// Their paths are for the Files that PodLogs returns.
func PodLogAttempts(dir, namespace, pod, container string) ([]Attempt, error) {
	files, err := Local(dir)
	if err != nil {
		return nil, err
	}
	attempts, err := files.podLogAttempts(namespace, pod, container)
	return attempts, errors.Join(err, files.Close())
}

func (d *Dir) podLogAttempts(namespace, pod, container string) ([]Attempt, error) {
	ctx := context.Background()
	names, err := d.List(ctx, ".")
	if err != nil {
		return nil, err
	}
	var all []podLog
	for _, name := range names {
		parts := strings.Split(name, "_")
		if len(parts) != 3 || parts[1] != pod || (namespace != "" && parts[0] != namespace) {
			continue
		}
		containers, err := d.List(ctx, name)
		if err != nil {
			continue
		}
		for _, c := range containers {
			who := record.Attempt{Namespace: parts[0], Pod: pod, PodUID: parts[2], Container: c}
			all = append(all, d.podLogs(ctx, path.Join(name, c), who)...)
		}
	}
	return choosePodLogs(all, Query{Namespace: namespace, Pod: pod, Container: container})
}

// podLog is an attempt and when its newest file was written last.
type podLog struct {
	Attempt
	written time.Time
}

func choosePodLogs(all []podLog, q Query) ([]Attempt, error) {
	if len(all) == 0 {
		return nil, fmt.Errorf("the kubelet has no log of pod %s: %w", podName(q.Namespace, q.Pod), fs.ErrNotExist)
	}
	slices.SortFunc(all, func(a, b podLog) int {
		return cmp.Or(a.written.Compare(b.written), strings.Compare(a.PodUID, b.PodUID), cmp.Compare(a.Attempt.Attempt.Attempt, b.Attempt.Attempt.Attempt))
	})
	attempts := make([]Attempt, len(all))
	for i := range all {
		attempts[i] = all[i].Attempt
	}
	attempts, err := q.narrow(attempts)
	if err != nil {
		return nil, err
	}
	attempts[len(attempts)-1].Live = true
	return attempts, nil
}

// podLogs finds the attempts in one container's directory.
func (d *Dir) podLogs(ctx context.Context, dir string, who record.Attempt) []podLog {
	names, err := d.List(ctx, dir)
	if err != nil {
		return nil
	}
	// The names of one attempt's files sort by time, and the one without a
	// time, which is the newest, comes first.
	slices.Sort(names)
	logs := map[uint32]*podLog{}
	for _, name := range names {
		attempt, ok := podLogNumber(name)
		if !ok {
			continue
		}
		info, err := d.root.Stat(filepath.FromSlash(path.Join(dir, name)))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		who.Attempt = attempt
		log := logs[attempt]
		if log == nil {
			log = &podLog{Attempt: Attempt{Attempt: who, Path: dir}}
			logs[attempt] = log
		}
		if info.ModTime().After(log.written) {
			log.written = info.ModTime()
		}
		log.add(record.Segment{Name: name, Bytes: sizeOfText(name, info.Size())})
	}
	var all []podLog
	for _, log := range logs {
		log.order()
		all = append(all, *log)
	}
	return all
}

// add leaves out a compressed file whose text is still there: the kubelet was
// interrupted between writing the one and removing the other.
func (p *podLog) add(s record.Segment) {
	if n := len(p.Segments); n > 0 && p.Segments[n-1].Name+".gz" == s.Name {
		return
	}
	p.Segments = append(p.Segments, s)
}

// order puts the file without a time, the newest, behind the others.
func (p *podLog) order() {
	if s := p.Segments; len(s) > 1 && strings.HasSuffix(s[0].Name, ".log") {
		p.Segments = append(s[1:], s[0])
	}
}

// sizeOfText is 0 where only reading would tell.
func sizeOfText(name string, size int64) int64 {
	if strings.HasSuffix(name, ".gz") {
		return 0
	}
	return size
}

func podLogNumber(name string) (uint32, bool) {
	m := podLogShape.FindStringSubmatch(name)
	if m == nil || (m[2] == "" && m[3] != "") {
		return 0, false
	}
	n, err := strconv.ParseUint(m[1], 10, 32)
	return uint32(n), err == nil
}
