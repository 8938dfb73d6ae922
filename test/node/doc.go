// Package node boots a whole real node on this machine: systemd, D-Bus and the
// journal, CRI-O, a kubelet, and on demand etcd and kube-apiserver, in a box
// with its own network, processes and files. Tests put static pods on it,
// break it in many ways and look at it from outside.
//
//	box, err := node.Start(ctx, node.Options{Name: "node1"})
//	defer box.Stop()
//	box.PutManifest("app.yaml", manifest)
//
// Boxes need root on Linux; Start says in one line what is missing. Several
// run side by side, in one process and in many. Nothing of a box outlives its
// process: see package host.
//
// All methods of Box may be called concurrently, unless they say otherwise.
package node
