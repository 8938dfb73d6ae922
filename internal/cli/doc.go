// Package cli is what the project's programs have in common on the command
// line: exit codes, unknown commands, time spans, the flag -o, tables that fit
// a terminal. It knows nothing of what they show.
package cli
