// Package statefile holds the few habits that all small files of the agent
// share: they are read with a bound, replaced whole by a rename, and set aside
// rather than repaired or deleted when they make no sense.
package statefile
