// Package lifecycle carries word of a container's beginnings and ends from
// those who see them happen (the OCI hook, NRI) to the agent.
//
//	OCI hook --ttrpc--> server ----> func(Event)
//	   \--no answer--> spool --Drain--/
//	NRI observer ---------------------/
//
// An event is a hint: it may come twice, late, out of order or never, and
// whoever gets it looks for himself. The hook uses this package, so it imports
// little; the agent's side is in package server.
package lifecycle
