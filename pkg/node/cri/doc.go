// Package cri talks to the container runtime through its CRI socket.
//
//	Client   one connection that mends itself: lists, statuses, and acts;
//	         while lists fail, a probe beside it
//	Reader   Client + package process = node.RuntimeReader
//
// A look in a steady state costs two calls, however many pods there are, and one
// more now and then.
// The Reader changes nothing; the Client's acts are for package remedy alone.
package cri
