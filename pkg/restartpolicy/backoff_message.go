package restartpolicy

import (
	"strings"
	"time"
)

// maxBackOff is more than any kubelet waits (300 s). What is longer was not
// written by one, and would put off help for as long.
const maxBackOff = time.Hour

// parseBackOff reads the back-off from the message of a container that waits
// in CrashLoopBackOff:
//
//	back-off 2m40s restarting failed container=main pod=app-node1_ns(uid)
//
// It returns false for any other message. The wait counts from when the
// container finished (kubelet pkg/kubelet/kuberuntime/kuberuntime_manager.go
// doBackOff, v1.37).
func parseBackOff(message string) (time.Duration, bool) {
	rest, ok := strings.CutPrefix(message, "back-off ")
	if !ok {
		return 0, false
	}
	text, _, ok := strings.Cut(rest, " restarting failed container=")
	if !ok {
		return 0, false
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait <= 0 || wait > maxBackOff {
		return 0, false
	}
	return wait, true
}
