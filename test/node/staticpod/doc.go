// Package staticpod lays static pods as OpenShift does: pods of the shapes of
// its own, and the writers that change their manifests.
//
//	pod, err := staticpod.Pod("etcd", staticpod.Change{Grace: 5})
//	etcd := staticpod.NewInstaller(box, box.Name, "etcd")
//	err = etcd.InstallRevision(1, pod)
//
// What the machine-config-operator lays itself (coredns, keepalived, haproxy)
// it writes beside the manifest and renames: that is Box.PutManifest.
package staticpod
