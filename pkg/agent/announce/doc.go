// Package announce tells the API server how the node's static pods are, while it
// answers: by one condition of the Node, for what lasts, and by Events, for what
// happens.
//
//	loop ──Published, Acted, Crashed──► what is to be told ──► API server
//
// It writes as the kubelet, with the kubelet's own kubeconfig: a node may change
// its own status and tell of its own pods, and no more. It touches no condition
// but its own. Nothing waits for it, and what cannot be told within an hour is
// forgotten: records and journal have it all the same.
//
//	announcer.go  when to write
//	condition.go  what the condition says
//	series.go     equal events count as one
//	event.go      what the events say
//	client.go     the API server
package announce
