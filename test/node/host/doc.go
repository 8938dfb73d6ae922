// Package host keeps what a box borrows from the machine it runs on: its
// folder on disk, its control groups, and a few kernel settings. Everything
// borrowed is written down first, so that whoever comes next can give it back
// when its owner died without doing so.
//
//	test process ──pipe──▶ supervisor ──▶ systemd-nspawn ──▶ box (PID 1)
//	      │                    │ own mount namespace: overlay root, cgroup mounts
//	      └── record.json ◀────┘ both with process start time
//
// The supervisor's mount namespace is private: mounts need no cleaning up,
// they end with it.
package host
