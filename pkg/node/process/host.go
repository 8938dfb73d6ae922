package process

// Host names the two file systems that the facts come from. The zero value is
// not usable; tests point it at fixtures.
type Host struct {
	// Proc is a proc file system of the host's PID namespace.
	Proc string
	// Cgroup is where the cgroup file systems are mounted: cgroup v2 itself,
	// or a directory of v1 hierarchies.
	Cgroup string
}

// ThisHost reads /proc and /sys/fs/cgroup.
func ThisHost() Host { return Host{Proc: "/proc", Cgroup: "/sys/fs/cgroup"} }
