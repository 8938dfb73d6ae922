// Package cli is what the project's programs have in common on the command
// line: exit codes, the flag -o, tables that fit a terminal. It knows nothing
// of what they show.
package cli
