// Package kubelet asks the kubelet two things: whether it is there (healthz),
// and how it sees its pods.
//
//	healthz ──────────────────────────────► Healthy, HealthErr
//
//	Pods API socket ── answers ───────────► View, source "pods-api"
//	      │ absent, not ready, or fails
//	      ▼
//	/pods over HTTPS ── answers ──────────► View, source "pods"
//	      │ not configured, refused, or fails
//	      ▼
//	no view ──────────────────────────────► source "none", Err says why
//
// SettingsReader reads the kubelet's configuration files; it asks nobody.
//
// Health and view are asked side by side and end with the caller's context. The
// package reads only, and no answer of the kubelet is kept for the next look:
// one that is not from now says nothing about a kubelet that may have stopped
// meanwhile.
package kubelet
