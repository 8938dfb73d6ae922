// Package expect works out what the pods of a node make its kubelet ask about
// Secrets and ConfigMaps, and what each remedy would change about it. It is
// pure: no I/O, no clock.
//
// A node references D distinct objects:
//
//	D = I + U + E + X
//	I  immutable: a WATCH is opened for each, and closed at the first read
//	U  can change, and is read as long as a pod is there: a WATCH stays open
//	E  read at the start of containers only: the WATCH idles out in 5-6 minutes
//	X  missing: a WATCH waits for it
package expect
