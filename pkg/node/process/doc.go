// Package process says what /proc and the cgroup file system know of a
// container: whether its init process lives and is the same as at first sight,
// whether its cgroup still holds anything alive, and whether it is frozen.
// One pass over /proc also finds container monitors and OCI runtime calls, and
// tells the runtime's own from those of others.
//
// It reads only, never signals, and talks to nobody: it works with the
// runtime, the kubelet and the API all gone. What could not be read is
// unknown, and unknown is never evidence of death.
package process
