// Package apiserver starts a real etcd and kube-apiserver for tests, flat on
// loopback: no node, no kubelet, no network of pods.
//
//	server.go     both programs, from the cache that the box fills (make prepare)
//	authority.go  certificates, hence clients of any name and group
//	objects.go    what kustomize builds, and applying it
//
// It is a module of its own so that the tests that use it choose what else they
// link.
package apiserver
