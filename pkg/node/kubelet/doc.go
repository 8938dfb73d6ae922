// Package kubelet knows the kubelet of this node: who it is, how it works,
// whether it is there, and how it sees its pods.
//
//	/proc ──── find ──────► the process: outside of containers, root's own,
//	                        in the configured service or the only one
//	  its command line ───► the flags, which win over
//	  its files ──────────► what they held when it began: a file that is younger
//	                        is not in force; where that is lost, the kubelet's
//	                        defaults count, and its manifests are not known
//	  flags, certificate,
//	  host name then ─────► the node's name, or why it cannot be proved
//	  program --version ──► the version, once a process
//
//	healthz ──────────────► Healthy, HealthErr; neither where it has no port
//
//	Pods API socket ── answers ───────────► View, source "pods-api"
//	      │ absent, not ready, or fails
//	      ▼
//	/pods over HTTPS ── answers ──────────► View, source "pods"
//	      │ not configured, refused, or fails
//	      ▼
//	no view ──────────────────────────────► source "none", Err says why
//
// [Identity] does the first half: it asks nobody, and keeps what it finds out
// about a process for as long as that is the kubelet. [Client] does the second.
// Health and view are asked side by side and end with the caller's context; no
// answer of the kubelet is kept for the next look: one that is not from now says
// nothing about a kubelet that may have stopped meanwhile.
package kubelet
