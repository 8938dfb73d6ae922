// Package manifest reads the static pod directory as the kubelet reads it:
// which files count, which pods they are, and which of two files wins.
//
//	list ──► a file a name ──► regularfile ──► decode ──► default ──► check ──► pod
//	            (cache)        bounded, never              name, grace   what the
//	                           blocks                      period        kubelet refuses
//
// [Reader] fills [node.Intent]. A file that the kubelet would skip becomes a
// [node.ManifestProblem]; a directory that cannot be read is Intent.Err, and
// never an empty list: unknown is not absent.
//
// What is mirrored is kubelet v1.37, pkg/kubelet/config: listing, decoding and
// the checks that a hand-written manifest is likely to fail. The kubelet's full
// validation is not: a pod listed here may still be refused there. The package
// writes nothing and computes no UID.
package manifest
