// Package report makes one page of what a node's files tell of a span of time:
// which pods ran, what crashed, what was done about it.
//
//	status, acts, record index, timeline ─► Of ─► Report ─► Write ─► HTML
//
// The page is one file that needs nothing else: no script, no font, no
// network. It can be read on paper, on a phone and by a screen reader.
//
// Everything in the sources is other people's text: it is bounded and cleaned
// on its way into the Report (text.go), and escaped by html/template on its way
// out. The size of a page is bounded whatever the sources hold (bounds.go).
//
//	sources.go  what a report is made of
//	report.go   the whole, and its summary
//	watched.go  when somebody looked, and the boots
//	look.go     verdicts as a reader sees them
//	lane.go     one pod over time
//	marks.go    crashes, acts and rollouts on a lane
//	crashes.go  ends of containers, with the ends of their logs
//	acts.go     what the agent did
//	now.go      what is wrong at the moment
//	guard.go    the watch guard's counts over time
//	text.go     other people's text
//	bounds.go   how much of everything a page shows
//	axis.go     places and words for times
//	page.go     the page
package report
