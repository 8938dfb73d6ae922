// Package statefile holds the few habits that all small files of the
// product share: they are read with a bound, replaced whole by a rename, and set aside
// rather than repaired or deleted when they make no sense.
//
//	journal   acts.jsonl     state directory   what was done: budgets
//	pause     pause.json     state directory   an admin wants no acts for a while
//	history   history.json   run directory     since when something is wrong
//	status    status.json    run directory     what is published
//	timeline  timeline.jsonl log directory     what changed, for reports; not replaced but appended to
//
// State that cannot be read never leads to an act sooner than it would have
// come otherwise.
package statefile
