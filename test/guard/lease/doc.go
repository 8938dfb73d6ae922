// Package lease runs the program's proxy between client-go, as a kubelet uses
// it, and a real etcd and kube-apiserver (Node and RBAC authorisation,
// NodeRestriction), and has it bypassed, killed, stopped and its certificate
// rotated meanwhile. What counts is the node's lease.
//
// The package exists for its tests only. The components come from the cache that
// the box fills ("make prepare").
package lease
