package hooksd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/containers/common/pkg/hooks"
	current "github.com/containers/common/pkg/hooks/1.0.0"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// FileName is the hook's file. CRI-O takes the file of the last directory where
// several have the same name, and runs hooks in the order of names.
const FileName = "50-nodekeeper.json"

// DefaultDir is the directory that vanishes with the boot: a node that comes up
// without the agent comes up without its hook.
const DefaultDir = "/run/containers/oci/hooks.d"

// timeout is in seconds. The runtime kills the hook, and the container, past
// it; the hook's own deadline is much shorter.
const timeout = 2

// Dirs are the hooks_dir of CRI-O on OpenShift, in their order
// (machine-config-operator templates, crio.yaml).
func Dirs() []string {
	return []string{"/etc/containers/oci/hooks.d", DefaultDir, "/usr/share/containers/oci/hooks.d"}
}

// Options say which hook is installed where.
type Options struct {
	Dir string
	// HookPath is the program. It is frozen into every container's
	// configuration, so it must not change from version to version.
	HookPath string
	// Args are those of the program, without its name.
	Args []string
	// Poststop has the removal of containers reported too.
	Poststop bool
}

func (o Options) path() string { return filepath.Join(o.Dir, FileName) }

// content is the file, proved.
func (o Options) content() ([]byte, error) {
	if !filepath.IsAbs(o.Dir) || !filepath.IsAbs(o.HookPath) {
		return nil, fmt.Errorf("directory %q, program %q: not absolute", o.Dir, o.HookPath)
	}
	seconds := timeout
	stages := []string{"createRuntime"}
	if o.Poststop {
		stages = append(stages, "poststop")
	}
	hook := current.Hook{
		Version: current.Version,
		Hook: specs.Hook{
			Path:    o.HookPath,
			Args:    append([]string{filepath.Base(o.HookPath)}, o.Args...),
			Env:     []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
			Timeout: &seconds,
		},
		// The kubelet sets this annotation itself, so no pod can pretend.
		When:   current.When{Annotations: map[string]string{`^kubernetes\.io/config\.source$`: `^file$`}},
		Stages: stages,
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(hook); err != nil {
		return nil, err
	}
	if err := prove(text.Bytes()); err != nil {
		return nil, fmt.Errorf("CRI-O's loader refuses the hook: %w", err)
	}
	return text.Bytes(), nil
}

// prove reads the text as CRI-O will, and tries on whom it matches.
func prove(text []byte) error {
	hook, err := hooks.Readers[current.Version](text)
	if err != nil {
		return err
	}
	if err := hook.Validate(nil); err != nil {
		return err
	}
	for annotations, want := range map[[2]string]bool{
		{"kubernetes.io/config.source", "file"}:     true,
		{"kubernetes.io/config.source", "api"}:      false,
		{"my-kubernetes.io/config.source", "file"}:  false,
		{"kubernetes.io/config.source", "profiles"}: false,
	} {
		got, err := hook.When.Match(&specs.Spec{}, map[string]string{annotations[0]: annotations[1]}, true)
		if err != nil || got != want {
			return fmt.Errorf("it matches %v: %v, %w", annotations, got, err)
		}
	}
	return nil
}
