// Package safelink hard-links the log file of a container that somebody else
// may be replacing at the same moment, and never anything that was planted in
// its place: containers can be given write access to the directories below the
// pod log root (log collectors that mount /var/log, CRI-O's LinkLogs), and the
// hook and the agent run as root.
//
// A file is opened without following symbolic links, looked at, and linked by
// its descriptor: what was looked at is what is linked. Nothing here waits for
// a FIFO, touches a device, or changes the file.
//
// The package imports the standard library and x/sys only: the hook uses it.
// Linux only; /proc must be mounted.
package safelink
