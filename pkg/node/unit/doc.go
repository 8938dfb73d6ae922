// Package unit reads the state of systemd services, and restarts, starts and
// signals them, over D-Bus: the system bus, or as root systemd's own socket
// when the bus is down.
//
//	Units   node.UnitReader and the acts; holds one connection and mends it
//	jobs    what systemd last did to a unit, from the journal: D-Bus forgets it
//	dial    makes a connection; tests put a fake systemd there
//
// Without systemd every answer is an error that says so; nothing is guessed.
package unit
