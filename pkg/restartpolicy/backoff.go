package restartpolicy

import "time"

// The kubelet's crash-loop back-off, pkg/kubelet/kubelet.go
// newCrashLoopBackOff, v1.37.
const (
	defaultBackOffInitial = 10 * time.Second
	defaultBackOffMax     = 300 * time.Second
	reducedBackOffInitial = time.Second
	reducedBackOffMax     = 60 * time.Second

	// resyncLimit is the longest time after the end of the back-off at which a
	// healthy kubelet looks again: half of its re-queue time, which is capped
	// at 60 s. pkg/kubelet/pod_workers.go completeWork, v1.37.
	resyncLimit = 30 * time.Second
)

// BackOff is the kubelet's crash-loop back-off: the wait before restart n is
// Initial doubled n-1 times, at most Max; the first restart does not wait.
type BackOff struct {
	Initial, Max time.Duration
}

// BackOffOf returns the back-off of a kubelet with these gates and this
// crashLoopBackOff.maxContainerRestartPeriod. 0 means not set, for which the
// kubelet's defaulting puts 300 s while the gate is on.
func BackOffOf(gates Gates, maxPeriod time.Duration) BackOff {
	b := BackOff{defaultBackOffInitial, defaultBackOffMax}
	if gates.ReduceDefaultCrashLoopBackOffDecay {
		b = BackOff{reducedBackOffInitial, reducedBackOffMax}
	}
	if gates.KubeletCrashLoopBackOffMax {
		if b.Max = maxPeriod; b.Max <= 0 {
			b.Max = defaultBackOffMax
		}
		b.Initial = min(b.Initial, b.Max)
	}
	return b
}

// Wait is the longest wait before the kubelet restarts a container whose
// attempt number (0 for the first run) has just died. The true wait is shorter
// when the container ran long enough for the kubelet to forget the series, or
// when the kubelet was restarted meanwhile.
func (b BackOff) Wait(attempt uint32) time.Duration {
	if attempt == 0 {
		return 0
	}
	wait := b.Initial
	for range attempt - 1 {
		wait *= 2
		if wait >= b.Max {
			return b.Max
		}
	}
	return min(wait, b.Max)
}
