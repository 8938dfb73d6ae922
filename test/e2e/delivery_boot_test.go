package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// Whatever is wrong with nodekeeper when the node boots, the kubelet starts, and
// does not wait for it longer than the installer's unit allows.
func TestBootIsNotHeldUp(t *testing.T) {
	labelled(t, delivery, disruptive)
	for name, c := range map[string]struct {
		harm   func(m *member)
		within time.Duration
		runs   bool // the agent, when the node is up
		empty  bool // the node has no program before
	}{
		"all is well": {harm: func(*member) {}, within: replaceBound, runs: true},
		// It does not even say its version, so that it is fetched anew.
		"the agent hangs": {harm: func(m *member) {
			m.must(m.box.WriteFile(node.AgentProgram, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755), "replace the agent")
		}, within: installBound, runs: true},
		"the agent hangs and the registry does too": {harm: func(m *member) {
			m.must(m.box.WriteFile(node.AgentProgram, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755), "replace the agent")
			m.shell("podman rmi --force $(cat /etc/nodekeeper/image)")
			m.images.hang(true)
		}, within: installBound},
		"the image is missing": {harm: func(m *member) {
			m.upgradeLater("sha256:" + strings.Repeat("0", 64))
		}, within: replaceBound, runs: true},
		"the registry hangs and there is an agent": {harm: func(m *member) {
			m.upgradeLater("sha256:" + strings.Repeat("0", 64))
			m.images.hang(true)
		}, within: replaceBound, runs: true},
		"the registry hangs at the first boot": {empty: true, harm: func(m *member) { m.images.hang(true) }, within: installBound},
		"/var/log is full": {harm: func(m *member) {
			m.must(m.box.WriteFile("/etc/systemd/system/var-log.mount", []byte(fullLog), 0o644), "write a mount")
			m.must(m.box.WriteFile("/etc/systemd/system/fill-log.service", []byte(fillLog), 0o644), "write a service")
			m.shell("systemctl enable var-log.mount fill-log.service")
		}, within: replaceBound, runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := joined(t, node.Options{})
			m.install(m.images.pushIndex(t, builtImage(t)))
			m.settle(configuration(nil))
			if c.empty {
				c.harm(m)
				m.rollOut()
			} else {
				m.rollOut()
				c.harm(m)
				m.boot()
			}
			m.serves()
			delay := m.kubeletDelay()
			m.say("the kubelet began %.1f s after the node was up so far that it could; the installer ran for %.1f s", delay.Seconds(), m.waited().Seconds())
			if delay > c.within {
				t.Errorf("the kubelet waited %v, longer than %v", delay, c.within)
			}
			m.run(app("1"))
			if c.runs {
				m.eventually(time.Minute, "the agent runs", func() bool {
					out, _, _ := m.box.Exec(m.ctx, node.AgentProgram, "status", "-o", "json")
					return strings.Contains(out, `"verdicts"`) && strings.Contains(out, "app-node1")
				})
			}
		})
	}
}

// The whole of /var/log, full from early on.
const (
	fullLog = `[Unit]
Before=local-fs.target systemd-journald.service
[Mount]
What=tmpfs
Where=/var/log
Type=tmpfs
Options=size=1m,mode=0755
[Install]
WantedBy=local-fs.target
`
	fillLog = `[Unit]
DefaultDependencies=no
After=var-log.mount
Before=sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=-/bin/sh -c 'cat /dev/zero >/var/log/fill'
[Install]
WantedBy=sysinit.target
`
)

// upgradeLater names another image for the next boot, as a pool does whose
// cluster has no NodeDisruptionPolicy.
func (m *member) upgradeLater(digest string) {
	m.Helper()
	m.must(m.box.WriteFile("/etc/nodekeeper/image", fmt.Appendf(nil, "%s@%s\n", repository, digest), 0o644), "name another image")
}

// kubeletDelay is the time from when the node had got so far that the kubelet
// could have begun to when it did begin.
func (m *member) kubeletDelay() time.Duration {
	m.Helper()
	at := func(unit, property string) int64 {
		text, err := m.box.UnitProperty(m.ctx, unit, property)
		m.must(err, "ask for times of "+unit)
		var n int64
		if _, err := fmt.Sscan(text, &n); err != nil || n == 0 {
			m.Fatalf("%s of %s: %q", property, unit, text)
		}
		return n
	}
	return time.Duration(at(node.CRIO, "InactiveExitTimestampMonotonic")-at("basic.target", "ActiveEnterTimestampMonotonic")) * time.Microsecond
}
