// Package refs lists the Secrets and ConfigMaps that a pod makes its kubelet
// read. It is pure: no I/O, no clock.
package refs
