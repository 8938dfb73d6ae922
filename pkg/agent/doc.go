// Package agent is the loop: it looks at the node, has what it saw judged, and
// takes the one act that is due, if any.
//
//	look ──► judge ──► review ──► plan ──► publish ──► act ──► look again
//	 ▲        history   journal                        journal      │
//	 └──── an interval later, or sooner when poked ◄────────────────┘
//
// It decides nothing (package restartpolicy does) and touches nothing but its
// own files (package remedy acts). What it owns is the order: an act is
// announced on disk before it is begun, its result follows it, and none is
// begun once the agent has been told to stop.
//
//	agent.go     what it is made of, and the loop
//	turn.go      one turn of the loop
//	act.go       one act, between its two lines in the journal
//	withhold.go  what holds back acts besides the policy
//	evidence.go  evidence that would be gone by the time of an act
//	changes.go   what is logged: changes, once each
//	chronicle.go what is kept of them for reports
//	publish.go   the status
//	notify.go    the service manager
//
// Its files, each in a package of its own: journal, history, pause, status, timeline.
package agent
