// Package sentinel keeps account of families: ConfigMaps of one name that hold
// the same in every namespace, such as kube-root-ca.crt, of which a node watches
// one for all. It is pure bookkeeping; the guard watches and asks.
package sentinel
