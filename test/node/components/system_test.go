package components

import (
	"slices"
	"testing"
)

func TestSystemFamily(t *testing.T) {
	for name, test := range map[string]struct {
		system, id, like, want string
	}{
		"Debian":        {"linux", "debian", "", "debian"},
		"a derivative":  {"linux", "raspbian", "debian", "debian"},
		"Fedora":        {"linux", "fedora", "", "fedora"},
		"RHEL's family": {"linux", "rocky", "rhel centos fedora", "fedora"},
		"unknown":       {"linux", "arch", "", ""},
		"not Linux":     {"darwin", "debian", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := systemFamily(test.system, map[string]string{"ID": test.id, "ID_LIKE": test.like})
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestEveryNeedHasBothNames(t *testing.T) {
	for _, need := range slices.Concat(systemNeeds, machineNeeds, critestNeeds) {
		if need.debian == "" || need.fedora == "" || (need.program == "") == (need.library == "") {
			t.Errorf("incomplete: %+v", need)
		}
	}
	if names := packageNames(systemNeeds, "fedora"); !slices.Contains(names, "libseccomp-devel") {
		t.Errorf("Fedora's names: %v", names)
	}
}
