package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/process"
)

// versionTries is how often a process's program is asked for its version.
const versionTries = 3

// Identity tells which process is the kubelet of this node, and how that one
// works. What it has found out about a process it keeps for as long as that
// runs; another process is asked anew. One goroutine at a time may use it.
type Identity struct {
	cfg   config.Kubelet
	host  process.Host
	clock node.Clock
	log   *slog.Logger
	name  hostName

	// last is the process that was the kubelet last, nil before the first.
	last *known
	// told is the last line that was logged.
	told string
}

var _ node.KubeletIdentity = (*Identity)(nil)

// known is what has been found out about one process.
type known struct {
	*running
	flags    flags
	flagsErr error
	inForce  inForce
	nodeName string
	from     string
	version  string
	tries    int
	settings node.Settings
}

// NewIdentity returns an Identity that knows nothing yet. It keeps cfg and does
// not change it.
func NewIdentity(cfg config.Kubelet, host process.Host, clock node.Clock, log *slog.Logger) *Identity {
	return &Identity{cfg: cfg, host: host, clock: clock, log: log, name: hostName{read: os.Hostname, file: "/etc/hostname"}}
}

// Identify looks for the process and reads what it has read. unit is the state
// of the configured service, as far as systemd tells; it helps where more than
// one process could be the kubelet. Of a kubelet that does not run, the last
// settings of this boot hold on. A new process's program is run for its
// version, which takes its time from ctx. The settings are shared: the caller
// must not write to them.
func (i *Identity) Identify(ctx context.Context, unit node.Unit) (node.KubeletProcess, node.Settings) {
	now := i.clock.Now()
	i.name.look(now.Boot)
	var last *running
	if i.last != nil {
		last = i.last.running
	}
	found, err := find(i.host, unit, last)
	p, s := node.KubeletProcess{Err: err}, node.Settings{}
	switch {
	case err == nil:
		if !found.same(last) {
			i.last = &known{inForce: inForce{}}
			i.last.flags, i.last.flagsErr = parseFlags(found.flags, found.program.Dir)
		}
		i.last.running = found
		p = node.KubeletProcess{
			PID: found.stat.PID, Started: found.stat.Started, State: found.stat.State,
			Program: found.program.Path, Unit: found.program.Unit,
		}
		i.read(ctx, now)
		s = i.last.settings
	case i.last != nil && errors.Is(err, errNoKubelet):
		s = i.last.settings
	default:
		s = i.unseen(err)
	}
	if line := Identified(p, s, i.cfg.Unit); line != i.told {
		i.told = line
		i.log.Info("the kubelet's identity changed", "identity", line)
	}
	return p, s
}

// read brings what is known of the process that runs up to date.
func (i *Identity) read(ctx context.Context, now node.Instant) {
	k := i.last
	began := now.Wall.Add(k.stat.Started - now.Boot)
	readAt := began
	if k.within {
		// It has written the files itself, and read them then.
		readAt = time.Time{}
	}
	files := k.inForce.update(listSettings(k.flags.config, k.flags.configDir, cmp.Or(k.program.Dir, "/")), readAt)
	k.settings = settingsOf(files, k.flags, i.cfg)
	k.settings.Err = oneError(files.err, k.flagsErr)
	k.settings.AllFeatureGates = k.settings.Err == nil && !files.lost && !k.within
	if k.version == "" && k.tries < versionTries {
		var err error
		k.tries++
		if k.version, err = versionOf(ctx, i.host, k.running); err != nil {
			i.log.Debug("the kubelet's version is not known", "error", err)
		}
	}
	k.settings.Version = k.version
	var err error
	if k.nodeName == "" {
		k.nodeName, k.from, err = provedName(k.flags, i.name.at(k.stat.Started, began))
	}
	k.settings.NodeName, k.settings.NodeNameFrom, k.settings.NodeNameErr = k.nodeName, k.from, err
	i.configured(&k.settings)
}

// unseen are the settings where no process is known, and why: those that the
// files have now.
func (i *Identity) unseen(why error) node.Settings {
	files, err := inFiles(i.cfg)
	s := settingsOf(inForce{}.update(files, time.Time{}), flags{}, i.cfg)
	s.Err = oneError(s.Err, err)
	s.NodeNameErr = fmt.Errorf("nothing tells the node's name: %w", why)
	i.configured(&s)
	return s
}

// configured puts the name from our own configuration on top.
func (i *Identity) configured(s *node.Settings) {
	if name := canonical(i.cfg.NodeName); name != "" {
		s.NodeName, s.NodeNameFrom, s.NodeNameErr = name, "kubelet.nodeName", nil
	}
}

// Identified says in one line who the kubelet is, and how that is known. unit is
// the configured service. The text is for people and stays the same while the
// situation does.
func Identified(p node.KubeletProcess, s node.Settings, unit string) string {
	var line strings.Builder
	line.WriteString("kubelet")
	if s.Version != "" {
		line.WriteString(" " + s.Version)
	}
	switch {
	case p.Err != nil:
		fmt.Fprintf(&line, ": %v", p.Err)
	case p.Unit == "":
		fmt.Fprintf(&line, ", process %d of no service", p.PID)
	default:
		fmt.Fprintf(&line, ", process %d of %s", p.PID, p.Unit)
		if unit != "" && p.Unit != unit {
			fmt.Fprintf(&line, " (set kubelet.unit to it: it is %s)", unit)
		}
	}
	switch {
	case s.NodeName != "":
		fmt.Fprintf(&line, ", node name %s from %s", s.NodeName, s.NodeNameFrom)
	case p.Err == nil:
		fmt.Fprintf(&line, "; its node name is not known, so nothing is done: %v", s.NodeNameErr)
	}
	if len(s.NotReadYet) > 0 {
		fmt.Fprintf(&line, "; younger than the process, and so not in force: %s", strings.Join(s.NotReadYet, ", "))
	}
	return line.String()
}
