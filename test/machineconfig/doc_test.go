// Package machineconfig reads what nodekeeper renders as those do who get it:
// Butane, Ignition, the machine-config-daemon, the types of OpenShift, systemd.
package machineconfig
