// Package dirwatch tells of names that appear in directories, through inotify.
//
// It asks for names alone. A watch that also asks for writes, as the common
// libraries do, is woken for every line that a container logs, and it is what
// fills the kernel's queue just when a burst makes rotations come fast.
//
// Watches are a hint, never the truth: the kernel drops events when its queue
// is full (Overflow), and directories that could not be watched (ErrTooMany)
// say nothing. The caller then looks for itself.
package dirwatch
