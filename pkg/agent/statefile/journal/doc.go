// Package journal keeps the acts of the agent, acts.jsonl in the state
// directory: one JSON object a line, appended and fsynced, so that the budgets
// survive a crash of the agent and a reboot.
//
//	{"id":"7","step":"restart-kubelet","result":"started", ...}   before the act
//	{"id":"7","step":"restart-kubelet","result":"done", ...}      what came of it
//	{"id":"7","step":"restart-kubelet","result":"healed", ...}    what its effect was
//
// The last line of an ID holds. A last line that was cut off is dropped: a
// "started" that was not fsynced announces an act that was not begun. A file
// that makes no sense otherwise is set aside, and the fact becomes the first
// line of the new one; see [Journal.Lost].
package journal
