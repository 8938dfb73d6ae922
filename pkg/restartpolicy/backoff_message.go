package restartpolicy

import (
	"strings"
	"time"
)

// backOffIn reads the back-off out of the kubelet's CrashLoopBackOff message,
// "back-off 40s restarting failed container=...".
// pkg/kubelet/kuberuntime/kuberuntime_manager.go doBackOff, v1.37.
func backOffIn(message string) (time.Duration, bool) {
	rest, ok := strings.CutPrefix(message, "back-off ")
	if !ok {
		return 0, false
	}
	word, _, ok := strings.Cut(rest, " ")
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(word)
	return d, err == nil && d >= 0
}
