// Package audit counts what kubelets ask about Secrets and ConfigMaps, and what
// they would ask otherwise. It writes nothing anywhere.
//
//	refs     which objects a pod makes its kubelet read, and how
//	expect   what that comes to: WATCHes at a start and open, by remedy
//	apilog   what did arrive, from the API server's audit log
//	journal  what the kubelet says it did, from its journal
//	mounts   what is mounted on a node beside the live object
//	lines    long logs by lines, of bounded length, compressed or not
//	picture  requests over time as an SVG
//	view     all of them as tables and data
//
// The three counts differ by their nature: a kubelet logs a reflector for each
// object whether or not the guard answers it, and the audit log has what
// reached the API server.
package audit
