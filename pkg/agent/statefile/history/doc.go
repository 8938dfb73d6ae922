// Package history keeps what the judge remembers between looks, history.json
// in the run directory, so that a restart of the agent does not start every
// deadline anew. It belongs to one boot. A file that cannot be read, or that
// claims what cannot be, is set aside, and the deadlines begin afresh: later
// than they would have, never sooner.
package history
