package node

import (
	"fmt"
	"strings"

	"github.com/nodekeeper/nodekeeper/test/node/host"
)

// The units of a box.
const (
	CRIO     = "crio.service"
	Kubelet  = "kubelet.service"
	CRIProxy = "box-criproxy.service"
	Etcd     = "box-etcd.service"
	API      = "box-apiserver.service"
	// secondAPI is there after OpenSecondAPI.
	secondAPI = "box-apiserver-second.service"
	Agent     = "nodekeeper.service"
)

func addUnits(t *tree, options Options) {
	add := func(name, text string, enable bool) {
		t.add("/etc/systemd/system/"+name, text)
		if enable {
			t.link("/etc/systemd/system/multi-user.target.wants/"+name, "/etc/systemd/system/"+name)
		}
	}
	add("box-setup.service", setupUnit, true)
	unified := false
	if plan, err := host.PlanCgroups(); err == nil {
		unified = plan.Unified
	}
	// With cgroupfs on version 1, conmon stays in CRI-O's own group unless our
	// wrapper moves it, and the default KillMode would end all containers with
	// every restart of CRI-O.
	killMode := ""
	if !unified && options.Profile != OpenShift {
		killMode = "KillMode=process\n"
	}
	add(CRIO, crioUnit(killMode), true)
	add(options.KubeletUnit, kubeletUnit(options), true)
	if options.CRIProxy {
		add(CRIProxy, proxyUnit, true)
	}
	if options.API {
		add(Etcd, etcdUnit, false)
		add(API, apiServerUnit(etcdURL, apiPort, AuditLog), false)
	}
}

// setupUnit makes version 1 control groups writable, which nspawn mounts
// read-only, and gives the node its address.
const setupUnit = `[Unit]
Description=Make the box a node
DefaultDependencies=no
After=systemd-tmpfiles-setup.service
Before=sysinit.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'for m in /sys/fs/cgroup/*; do ! mountpoint -q $m || mount -o remount,bind,rw $m; done'
ExecStart=/bin/mkdir -p /run/box/runtime-faults /run/box/cri-faults
ExecStart=/bin/ip address replace ` + nodeIP + `/32 dev lo
`

func crioUnit(killMode string) string {
	return `[Unit]
Description=Container Runtime Interface for OCI (CRI-O)
After=box-setup.service

[Service]
Type=notify
ExecStart=/usr/local/bin/crio
` + killMode + `TasksMax=infinity
LimitNOFILE=1048576
OOMScoreAdjust=-999
TimeoutStartSec=60
Restart=on-failure
`
}

func kubeletUnit(options Options) string {
	if options.Profile == OpenShift {
		return openShiftUnit(options)
	}
	after := CRIO
	wants := ""
	if options.CRIProxy {
		after += " " + CRIProxy
		wants = "Wants=" + CRIProxy + "\n"
	}
	return fmt.Sprintf(`[Unit]
Description=Kubernetes Kubelet
Requires=%s
%sAfter=%s

[Service]
Type=notify
ExecStartPre=/bin/mkdir -p %s
ExecStartPre=/bin/rm -f /var/lib/kubelet/cpu_manager_state /var/lib/kubelet/memory_manager_state
ExecStart=%s
Restart=always
RestartSec=10
`, CRIO, wants, after, ManifestDir, kubeletCommand(options))
}

const proxyUnit = `[Unit]
Description=Fault proxy between kubelet and CRI-O
After=crio.service

[Service]
ExecStart=/opt/box/programs/criproxy ` + proxySocket + ` ` + crioSocket + ` /run/box/cri-faults
Restart=always
RestartSec=1
`

const etcdURL = "http://127.0.0.1:2379"

const etcdUnit = `[Unit]
Description=etcd

[Service]
Type=notify
ExecStart=/usr/local/bin/etcd --data-dir=/var/lib/etcd --listen-client-urls=` + etcdURL + ` --advertise-client-urls=` + etcdURL + ` --listen-peer-urls=http://127.0.0.1:2380 --unsafe-no-fsync
`

func apiServerUnit(etcd string, port int, auditLog string) string {
	return `[Unit]
Description=Kubernetes API server
Requires=box-etcd.service
After=box-etcd.service

[Service]
Type=notify
ExecStart=` + strings.Join(apiServerCommand(etcd, port, auditLog), " ") + `
# It would wait a minute for its watchers to leave.
TimeoutStopSec=2
`
}
