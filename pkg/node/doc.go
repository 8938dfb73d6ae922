// Package node answers one question: what is on this node right now?
//
// [Observer.Look] returns one [Snapshot] that joins four sources:
//
//	identity which process is the kubelet, how it was started, what it has read
//	intent   the manifest directory, read as that kubelet reads it
//	facts    CRI sandboxes and containers, and the process behind each one
//	reason   the kubelet's own view of its pods, and the state of its unit; where
//	         something is wrong, its journal too, and the runtime's images
//
// The identity comes first: the intent is that of a node whose name is proved,
// and there is none of another.
//
// The types here are plain data. The adapters that fill them live in the
// sub-packages (manifest, cri, process, kubelet, journal, unit) and meet the
// small interfaces in observer.go, so that a fake node is a few structs.
//
// The package decides nothing and changes nothing. A source that does not
// answer is recorded as such (its Err is set); it never fails the look.
package node
