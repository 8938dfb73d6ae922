// Package nri hears of containers from the runtime itself, over NRI, the node
// resource interface of CRI-O and containerd.
//
//	runtime -> connection -> observer -> queue -> Options.Handle
//
// Every event that it gives is a hint, made from what the runtime said about a
// static pod's container. It observes only: it asks for no adjustment, answers no
// request with an error and holds none up.
package nri
