// Package server is the agent's end of the lifecycle service: a unix socket
// that root's hooks report to, opened here or handed over by systemd.
//
// It takes nothing on trust: peers are root, messages and their number are
// bounded, a connection has seconds. It never makes a hook wait for the agent: an
// event that cannot be taken at once is refused, and the hook spools it.
package server
