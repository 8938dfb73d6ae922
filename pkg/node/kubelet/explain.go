package kubelet

import (
	"errors"
	"fmt"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Why a source gave no view. They are found in [node.View].Err with errors.Is.
var (
	// ErrNoPodsAPI: no socket is configured, or there is none at its path. The
	// kubelet is older than 1.37, its gate PodsAPI is off, or it is down.
	ErrNoPodsAPI = errors.New("no Pods API")
	// ErrSourcesNotReady: the kubelet runs, and not all of its pod sources
	// (files, API server) have answered since it started.
	ErrSourcesNotReady = errors.New("the kubelet's pod sources are not all ready")
	// ErrPodsNotAsked: no URL of /pods is configured.
	ErrPodsNotAsked = errors.New("/pods is not asked")
	// ErrUnauthorized: the kubelet does not know who asks for /pods.
	ErrUnauthorized = errors.New("not authenticated")
	// ErrForbidden: the kubelet knows who asks, and that one may not.
	ErrForbidden = errors.New("not allowed")
)

// Describe says in one line what can be seen of the kubelet's pods, what
// cannot, and why. The text is for people and stays the same while the
// situation does.
func Describe(v node.View) string {
	switch {
	case v.Source == node.ViewPodsAPI:
		return "all pods are seen, with reasons, through the Pods API"
	case v.Source == node.ViewPods && v.SourcesNotReady:
		return "all pods are seen, with reasons, through /pods; the kubelet is still waiting for a pod source (the API server?) and ends no old pods until then"
	case v.Source == node.ViewPods && v.Err != nil:
		return fmt.Sprintf("all pods are seen, with reasons, through /pods; the better source failed: %s", v.Err)
	case v.Source == node.ViewPods:
		return "all pods are seen, with reasons, through /pods"
	case v.SourcesNotReady:
		return fmt.Sprintf("the kubelet runs but its pods are not seen: back-off, admission and start errors are unknown (%s)", v.Err)
	case v.Err != nil:
		return fmt.Sprintf("the kubelet's pods are not seen: back-off, admission and start errors are unknown (%s)", v.Err)
	}
	return "the kubelet has not been asked for its pods"
}

// bothErrors is two errors on one line; [errors.Join] would make two of it.
type bothErrors struct{ first, second error }

func join(first, second error) error { return bothErrors{first, second} }

func (e bothErrors) Error() string   { return e.first.Error() + "; " + e.second.Error() }
func (e bothErrors) Unwrap() []error { return []error{e.first, e.second} }
