// Package manifest reads the static pod directory as the kubelet of this node
// reads it: which files count, which pods they are, and which of two files wins.
//
//	list ──► a file a name ──► regularfile ──► decode ──► default ──► forget ──► check ──► settle
//	            (cache)        bounded, never              content    what this   what it    one pod a
//	                           blocks                      digest     kubelet     refuses    name and UID
//	                                                                  ignores
//
// [Reader] fills [node.Intent]. A file from which the kubelet runs no pod becomes
// a [node.ManifestProblem]; a directory that cannot be read is Intent.Err, and
// never an empty list: unknown is not absent. What only we cannot see is hidden
// (hidden.go), not missing.
//
// What is mirrored is pkg/kubelet/config of kubelets 1.30 to 1.37, and of their
// validation what a hand-written manifest is likely to fail. What differs between
// versions, or depends on a feature gate, is in kubelet.go. The rules refuse
// nothing that the kubelet runs, and give early words to what it refuses; what
// they let through may still be refused there, and its journal has the last word.
// The package writes nothing and computes no UID.
package manifest
