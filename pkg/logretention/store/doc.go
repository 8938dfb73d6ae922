// Package store owns the record root on disk: live attempts, records, indexes.
// Package record describes the layout.
//
//	Begin ──► .live/ID/ ──AddLink, Rotated, AdoptGzip, Prune──► Publish
//	                                                               │ rename
//	Tend: evict, cut, compress ◄── NAMESPACE_POD/CONTAINER/ID/ ◄───┘
//
// Everything survives kill -9 at any step: what appears, appears by rename;
// what needs several steps is planned in a file first and finished by the next
// Open (plan.go). Records are durable once Publish has returned; log text is
// never synced, as the container monitor has done that at the exit.
//
// The package never writes to a file with more than one link: that is a live
// log. It starts no goroutines; all methods may be called concurrently, also
// by other processes (see lock.go).
package store
