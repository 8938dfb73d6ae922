package machineconfig

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Step is what is to be done to a pool.
type Step string

// Steps in the life of nodekeeper on a pool.
const (
	Install Step = "install"
	// Upgrade is another image, forwards or back.
	Upgrade Step = "upgrade"
	// Inert and Uninstall, in this order, take nodekeeper off the nodes.
	Inert     Step = "inert"
	Uninstall Step = "uninstall"
)

// Steps lists them.
func Steps() []Step { return []Step{Install, Upgrade, Inert, Uninstall} }

// Feature is a part of nodekeeper that can be left out.
type Feature string

// Features.
const (
	Restart Feature = "restart"
	Logs    Feature = "logs"
	Proxy   Feature = "proxy"
)

// Features lists them.
func Features() []Feature { return []Feature{Restart, Logs, Proxy} }

// Options say what is rendered. The zero value of what is not required is the
// careful one.
type Options struct {
	// Role is the MachineConfigPool's name. Required.
	Role string
	// Image is REGISTRY/NAME@sha256:DIGEST, for Install and Upgrade.
	Image string
	// Features are those wanted; none means an agent that only says what it sees.
	// For Upgrade only Proxy counts.
	Features []Feature
	// Act has the feature Restart act; without, it says what it would do.
	Act bool
	// DryRun has Settings that act refused.
	DryRun bool
	// Settings are the whole configuration file, in place of the one that follows
	// from Restart, Logs and Act. What is said beside them has to agree with them:
	// Features unless nil, Act, and DryRun. Only for Install.
	Settings []byte
	// SettingsName is what errors call the settings; "settings" if empty.
	SettingsName string
	// Step is Install if empty.
	Step Step
}

var (
	label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	// Podman refuses a tag beside a digest, and a name without a registry would
	// be looked for in several.
	reference = regexp.MustCompile(`^([a-z0-9][a-z0-9.-]*)(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+@sha256:[0-9a-f]{64}$`)
)

// check says everything that is wrong, one line each.
func (o Options) check() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case o.Role == "":
		wrong("which pool? a role is needed: worker, master, or a pool of your own")
	case !label.MatchString(o.Role):
		wrong("role %q: must be a DNS label: lower-case letters, digits and -", o.Role)
	}
	if !slices.Contains(Steps(), o.Step) {
		wrong("step %q: must be one of %s", o.Step, list(Steps()))
	}
	if o.Step == Install || o.Step == Upgrade {
		errs = append(errs, checkImage(o.Image))
	}
	for i, f := range o.Features {
		switch {
		case !slices.Contains(Features(), f):
			wrong("feature %q: must be one of %s", f, list(Features()))
		case slices.Contains(o.Features[:i], f):
			wrong("feature %q is named twice", f)
		}
	}
	switch {
	case o.Step != Install:
		if slices.Contains(Steps(), o.Step) && (o.Settings != nil || o.Act || o.DryRun) {
			wrong("the step %s leaves the settings of the nodes alone: leave out --settings and --dry-run, or render the step install", o.Step)
		}
	case o.Settings != nil:
		errs = append(errs, o.checkSettings())
	case o.Act && !o.has(Restart):
		wrong("to act needs the feature restart")
	}
	return errors.Join(errs...)
}

func checkImage(image string) error {
	switch {
	case image == "":
		return errors.New("which image? REGISTRY/NAME@sha256:DIGEST")
	case reference.MatchString(image):
		return nil
	case !strings.Contains(image, "@sha256:"):
		return fmt.Errorf("image %.200q: must be named by its digest, REGISTRY/NAME@sha256:DIGEST: a tag may mean another image tomorrow", image)
	default:
		return fmt.Errorf("image %.200q: must be REGISTRY/NAME@sha256:DIGEST, without a tag", image)
	}
}

func (o Options) has(f Feature) bool { return slices.Contains(o.Features, f) }

// ownPool tells whether the pool is none of those that every cluster has.
func (o Options) ownPool() bool {
	return !slices.Contains([]string{"master", "worker", "arbiter"}, o.Role)
}

func list[T ~string](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}
