package node

import "testing"

func TestFreezer(t *testing.T) {
	const hybrid = "7:blkio:/a\n6:freezer:/kubepods/pod1/crio-1\n0::/system.slice/crio.service\n"
	const unified = "0::/kubepods/pod1/crio-1\n"
	for name, test := range map[string]struct {
		groups      string
		frozen      bool
		path, value string
	}{
		"version 1 freezes": {hybrid, true, "/sys/fs/cgroup/freezer/kubepods/pod1/crio-1/freezer.state", "FROZEN"},
		"version 1 thaws":   {hybrid, false, "/sys/fs/cgroup/freezer/kubepods/pod1/crio-1/freezer.state", "THAWED"},
		"version 2 freezes": {unified, true, "/sys/fs/cgroup/kubepods/pod1/crio-1/cgroup.freeze", "1"},
		"version 2 thaws":   {unified, false, "/sys/fs/cgroup/kubepods/pod1/crio-1/cgroup.freeze", "0"},
		"in no group":       {"0::/\n", true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if path, value := freezer(test.groups, test.frozen); path != test.path || value != test.value {
				t.Errorf("%q to %q", value, path)
			}
		})
	}
}
