// Package refs compares pkg/immutable/audit with the code of the kubelet: which
// objects a pod refers to, and what a volume holds.
//
//	refs_test.go    references against VisitPodSecretNames and VisitPodConfigmapNames
//	mounts_test.go  mounts written by the kubelet's atomic writer
//
// It is a package of its own so that it can be built without the kubelet's rules.
package refs
