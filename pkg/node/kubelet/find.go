package kubelet

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/nodekeeper/nodekeeper/pkg/node"
	"github.com/nodekeeper/nodekeeper/pkg/node/process"
)

// errNoKubelet is returned where no process can be the node's kubelet.
var errNoKubelet = errors.New("no kubelet runs on this node: no process of that name outside of containers")

// running is a process that is, or holds, a kubelet.
type running struct {
	stat    process.Stat
	program process.Program
	// flags are the arguments of the kubelet in it.
	flags []string
	// within is set where they are not on the command line, and the program
	// itself writes the files that they name.
	within bool
}

// same tells whether two are one process.
func (r *running) same(as *running) bool {
	return r != nil && as != nil && r.stat.PID == as.stat.PID && r.stat.Started == as.stat.Started
}

// find tells which process is the kubelet of this node. The one in the
// configured service is, whatever else runs; last, the one that was found
// before, stays the one while it runs; without both there must be one only.
func find(host process.Host, unit node.Unit, last *running) (*running, error) {
	if last != nil && last.stat.PID == unit.MainPID {
		// Nothing can take its place: no other is looked for.
		if r, err := read(host, unit.MainPID, last); err == nil && r.same(last) {
			r.program.Unit = unit.Name
			return r, nil
		}
	}
	all, err := kubelets(host, last)
	if err != nil {
		return nil, err
	}
	var inUnit []*running
	for _, r := range all {
		if r.stat.PID == unit.MainPID {
			r.program.Unit = unit.Name
			return r, nil
		}
		if unit.Name != "" && r.program.Unit == unit.Name {
			inUnit = append(inUnit, r)
		}
	}
	if len(inUnit) > 0 {
		all = inUnit
	}
	at := slices.IndexFunc(all, func(r *running) bool { return r.same(last) || len(all) == 1 })
	switch {
	case len(all) == 0:
		return nil, errNoKubelet
	case at < 0:
		return nil, fmt.Errorf("%d processes could be this node's kubelet (%s): set kubelet.unit to the service of the right one", len(all), listed(all))
	}
	return all[at], nil
}

func listed(all []*running) string {
	var out []string
	for _, r := range all {
		in := r.program.Unit
		if in == "" {
			in = "no service"
		}
		out = append(out, fmt.Sprintf("%d in %s", r.stat.PID, in))
	}
	return strings.Join(out, ", ")
}

// kubelets are the processes that can be the node's kubelet, by PID. Those of
// containers are others', and so are those of users: only root, or whoever runs
// this agent, can run the node's. The copy of itself that a kubelet makes to
// start a program counts for nothing.
func kubelets(host process.Host, last *running) ([]*running, error) {
	pids, err := host.Named(func(comm string) bool {
		return strings.HasPrefix(comm, "kubelet") || comm == "hyperkube" || comm == "microshift" || comm == "k3s-server" || comm == "k3s-agent"
	})
	if err != nil {
		return nil, fmt.Errorf("look for the kubelet's process: %w", err)
	}
	var all []*running
	for _, pid := range pids {
		r, err := read(host, pid, last)
		switch {
		case errors.Is(err, process.ErrGone):
		case err != nil:
			return nil, fmt.Errorf("look for the kubelet's process: %w", err)
		case r != nil:
			all = append(all, r)
		}
	}
	return slices.DeleteFunc(all, func(r *running) bool {
		return slices.ContainsFunc(all, func(other *running) bool { return other.stat.PID == r.stat.Parent })
	}), nil
}

// read returns nil for a process that is not the node's kubelet. Of the one that
// was last only the state is read anew: its command line might have to be waited
// for.
func read(host process.Host, pid int, last *running) (*running, error) {
	stat, err := host.Stat(pid)
	if err != nil || stat.Dead() {
		return nil, err
	}
	if last != nil && stat.PID == last.stat.PID && stat.Started == last.stat.Started {
		again := *last
		again.stat = stat
		return &again, nil
	}
	program, err := host.Program(pid)
	if err != nil || program.Contained || program.User != 0 && program.User != os.Geteuid() {
		return nil, err
	}
	flags, within := kubeletOf(program)
	if flags == nil {
		return nil, nil
	}
	return &running{stat, program, flags, within}, nil
}

// kubeletOf returns the flags of the kubelet that a program is or has within
// it; nil if there is none. The kubelets of RKE2 and k0s are programs of their
// own.
func kubeletOf(p process.Program) (flags []string, within bool) {
	name, arguments := path.Base(p.Path), p.Argv[1:]
	switch {
	case name == "kubelet", path.Base(p.Argv[0]) == "kubelet":
	case name == "hyperkube" && len(arguments) > 0 && arguments[0] == "kubelet":
		arguments = arguments[1:]
	case name == "microshift" && slices.Contains(arguments, "run"):
		// microshift pkg/node/kubelet.go configure, 2026-08.
		return []string{
			"--config=/var/lib/microshift/resources/kubelet/config/config.yaml",
			"--kubeconfig=/var/lib/microshift/resources/kubelet/kubeconfig",
		}, true
	case name == "k3s":
		// k3s pkg/daemons/agent/agent_linux.go kubeletArgsAndConfig, v1.35. It
		// writes a title over its command line, so that a --data-dir or a
		// --kubelet-arg of its own is not seen.
		return []string{
			"--config-dir=/var/lib/rancher/k3s/agent/etc/kubelet.conf.d",
			"--kubeconfig=/var/lib/rancher/k3s/agent/kubelet.kubeconfig",
		}, true
	default:
		return nil, false
	}
	for _, argument := range arguments {
		// It answers and ends.
		if name, _, _ := strings.Cut(argument, "="); name == "--version" || name == "--help" || name == "-h" {
			return nil, false
		}
	}
	return append([]string{}, arguments...), false
}
