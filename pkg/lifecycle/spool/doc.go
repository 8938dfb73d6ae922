// Package spool keeps events on a tmpfs for an agent that is not there: one
// file an event, written whole by a rename, in the order of their names. Any
// number of hooks put at the same time; one agent drains.
//
//	/run/nodekeeper/spool/
//	  0000000123456789012-4711-0.event   boot clock in ns, process, counter
//	  .4711-0.new                        being written
//	  .torn/                             events that made no sense, a few of them
//	  .dropped                           a byte for each event that had no room
//
// Nothing is synced to disk: what a power cut takes, it takes with the boot
// that the events were of.
package spool
