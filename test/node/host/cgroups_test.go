package host

import (
	"reflect"
	"slices"
	"testing"
)

func TestPlanCgroups(t *testing.T) {
	const controllers = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t1\t1\nhugetlb\t0\t1\t1\nmemory\t4\t1\t0\n"
	for name, test := range map[string]struct {
		mounts      string
		unified     bool
		hierarchies []string
		missing     map[string]string
	}{
		"version 2 needs no mount": {
			mounts:      "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n",
			unified:     true,
			hierarchies: []string{"/sys/fs/cgroup"},
			missing:     map[string]string{},
		},
		"hybrid with a controller missing": {
			mounts: "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n" +
				"cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
			hierarchies: []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"},
			missing:     map[string]string{"/sys/fs/cgroup/hugetlb": "hugetlb"},
		},
		"version 1 without systemd's own hierarchy": {
			mounts:      "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/all cgroup rw,cpu,hugetlb 0 0\n",
			hierarchies: []string{"/sys/fs/cgroup/all"},
			missing:     map[string]string{"/sys/fs/cgroup/systemd": "none,name=systemd"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planCgroups(test.mounts, controllers)
			if plan.Unified != test.unified || !slices.Equal(plan.Hierarchies, test.hierarchies) || !reflect.DeepEqual(plan.Missing, test.missing) {
				t.Errorf("plan = %+v", plan)
			}
		})
	}
}
