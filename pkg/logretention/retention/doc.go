// Package retention decides which crash records stay. It is pure: no I/O, no
// clock. Package store asks it and acts.
//
// A container keeps the first records of its current series of crashes, its
// newest ones, and the newest of each of its last revisions and boots: the
// rest is evicted whether there is room or not. When there is no room, what a
// reader misses least goes first:
//
//	expired, beyond the container's share     evicted, always
//	the middle of the longest series          evicted
//	logs of what is left                      cut to 256 KiB, then to 4 KiB
//	the oldest of the biggest container       evicted, for MaxUse and MaxRecords
//	the only record of a container            evicted last
//
// A record on hold stays as it is.
package retention
