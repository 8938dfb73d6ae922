package node

// Targets and units that the machine-config-operator has beside the kubelet:
// templates/common/_base/units.
const (
	dependenciesTarget = `[Unit]
Description=Dependencies necessary to run kubelet
Requires=basic.target network-online.target
Wants=crio-wipe.service
`
	// CRI-O in the box wipes what it must by itself when it starts.
	wipeUnit = `[Unit]
Description=CRI-O Auto Update Script
Before=crio.service

[Service]
Type=oneshot
ExecStart=/bin/true
`
	afterDependencies = `[Unit]
After=kubelet-dependencies.target
Requires=kubelet-dependencies.target
`
)

// addOpenShift adds them, and the mark of a node that is updated as a whole.
func addOpenShift(t *tree) {
	t.add("/etc/systemd/system/kubelet-dependencies.target", dependenciesTarget)
	t.add("/etc/systemd/system/crio-wipe.service", wipeUnit)
	for _, unit := range []string{CRIO, Kubelet} {
		t.add("/etc/systemd/system/"+unit+".d/10-dependencies.conf", afterDependencies)
	}
	t.add("/etc/tmpfiles.d/ostree-booted.conf", "f /run/ostree-booted\n")
}
