// Package components makes what a box is made of: Kubernetes, CRI-O, etcd and
// crictl built from pinned Go modules, this module's own programs, a root file
// system, and images. All of it goes into a cache outside the repository, one
// folder per thing, named by a hash of all that went in; a folder is there
// only when it is complete.
//
// Nothing here starts or knows a box.
package components
