// Package apiserver has clients of a real API server (package controlplane) and
// what kustomize builds for it.
//
//	server.go   a control plane with an admin, clients of any name and group
//	objects.go  what kustomize builds, and applying it
//
// It is a module of its own so that the tests that use it choose what else they
// link.
package apiserver
