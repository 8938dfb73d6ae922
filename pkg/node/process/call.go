package process

import (
	"os"
	"path"
	"slices"
	"strings"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// verbs are the commands of runc and crun. "init" is missing on purpose: it is
// not a call but the container's future init process, and may live for ever.
var verbs = []string{
	"checkpoint", "create", "delete", "events", "exec", "features", "kill", "list", "pause", "ps",
	"restore", "resume", "run", "spec", "start", "state", "update",
}

// call reads one process that may be an OCI runtime call of the runtime's.
// crun's child that waits to become the init process keeps the command line of
// the create that made it; like a build in a container, it is in a container's
// cgroup.
func (s Scanner) call(pid int, from origins) (node.RuntimeCall, bool) {
	line, err := os.ReadFile(s.Host.pidFile(pid, "cmdline"))
	if err != nil {
		return node.RuntimeCall{}, false
	}
	verb, id, ok := s.parseCall(arguments(line))
	if !ok {
		return node.RuntimeCall{}, false
	}
	stat, err := s.Host.Stat(pid)
	if err != nil || stat.Dead() || !from.ofRuntime(stat) {
		return node.RuntimeCall{}, false
	}
	return node.RuntimeCall{
		PID:         pid,
		Verb:        verb,
		ContainerID: id,
		Age:         max(0, s.SinceBoot()-stat.Started),
	}, true
}

// parseCall takes a command line apart: RUNTIME [option ...] VERB [option ...]
// ID. A script's interpreter comes before its name.
func (s Scanner) parseCall(argv []string) (verb, id string, ok bool) {
	program := slices.IndexFunc(argv[:min(2, len(argv))], func(arg string) bool {
		return slices.Contains(s.Runtimes, path.Base(arg))
	})
	if program < 0 {
		return "", "", false
	}
	arguments := argv[program+1:]
	at := slices.IndexFunc(arguments, func(arg string) bool {
		return arg == "init" || slices.Contains(verbs, arg)
	})
	if at < 0 || arguments[at] == "init" {
		return "", "", false
	}
	rest := arguments[at+1:]
	if i := slices.IndexFunc(rest, isContainerID); i >= 0 {
		id = rest[i]
	}
	return arguments[at], id, true
}

// arguments splits the contents of /proc/PID/cmdline.
func arguments(line []byte) []string {
	return strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
}
