// Package front is the proxy's face: the loopback port that the kubelet talks
// to, and the way on to the API server.
//
//	kubelet ── TLS, its own certificate ── Front ─┬─ Guard        (one shape of request)
//	                                              └─ PassThrough  (all else) ── Upstream ── API server
//	kubelet ── bytes ───────────────────── Front ── bytes ───────────────────────────────── API server  (bypass)
//
// A bypass needs nothing of the kubelet: it is cut off, connects again to the
// same port, and speaks to the API server itself.
package front
