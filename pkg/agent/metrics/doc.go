// Package metrics shows Prometheus how the node and the agent are, on a loopback
// address: /metrics, and /healthz for a probe.
//
//	loop ──Published, Acted──► Metrics ◄──scrape── server
//	                              ▲
//	                 stats.json of the watch guard
//
// A scrape reads what the loop has published last and never waits for it. The
// text is written by hand: the client library would cost 1.5 MiB of memory, as
// much as is left of the agent's bound. The tests hold the text against that
// library's parser and linter.
//
//	families.go  every metric: name, type, labels, meaning
//	page.go      the text format
//	metrics.go   what is remembered between looks
//	node.go      verdicts, acts, inhibitors, budgets
//	records.go   crash records and events
//	guard.go     the watch guard's counters
//	process.go   the agent's own memory and CPU time
//	server.go    the port
package metrics
