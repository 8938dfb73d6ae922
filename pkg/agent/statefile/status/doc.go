// Package status is what the agent publishes of itself and of the node after
// each look: status.json in the run directory.
//
// The file is an API, read by the command line, by tests, and by whoever wants
// to alert on it. Its apiVersion and kind are those below; fields are added and
// never change their meaning within a version. All spans of time are whole
// seconds and end in "Seconds"; they were right when the look was taken.
package status
