// Package hostinstall puts the agent onto a node from a container, for a trial on
// clusters without a machine config operator, and takes it away again.
//
// It sees the node's directories below one root and speaks to the node's systemd.
// It touches nothing that a MachineConfig or a package has brought, it never
// writes over settings, and it leaves out the proxy: what the kubelet depends on
// is no matter of a trial.
package hostinstall
