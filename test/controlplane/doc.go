// Package controlplane starts a real etcd and kube-apiserver for tests, flat on
// loopback: no node, no kubelet, no network of pods.
//
//	controlplane.go  both programs, and their end with the test
//	component.go     where they are: in the cache that the box fills (make prepare)
//	authority.go     the certificates of a cluster
//	wait.go          what tests wait for
package controlplane
