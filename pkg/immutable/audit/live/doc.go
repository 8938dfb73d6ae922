// Package live asks the API server for a node's own pods and the objects that
// they refer to, in the name of the node: its kubelet's certificate may read
// these, and no others. It keeps nothing and writes nothing.
package live
