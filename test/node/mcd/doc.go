// Package mcd applies MachineConfigs to a node as OpenShift's
// machine-config-daemon does, for tests of what is delivered that way.
//
// The rules are those of openshift/machine-config-operator:
// pkg/daemon/file_writers.go and update.go for writing and for taking away what
// a new configuration no longer has, pkg/daemon/on_disk_validation.go for
// drift, and calculatePostConfigChangeNodeDisruptionActionFromMCDiffs for what
// follows a change. What the daemon refuses on a running node (directories,
// links, appended or fetched contents, special modes, kernel arguments) is
// refused here when it is parsed.
package mcd
