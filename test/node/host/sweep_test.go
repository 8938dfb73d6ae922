package host

import "testing"

func TestStale(t *testing.T) {
	owner, supervisor := Process{PID: 10, Start: 1}, Process{PID: 11, Start: 2}
	for name, test := range map[string]struct {
		alive []Process
		want  bool
	}{
		"both run":                              {[]Process{owner, supervisor}, false},
		"owner died, supervisor is cleaning up": {[]Process{supervisor}, false},
		"supervisor died, owner will clean up":  {[]Process{owner}, false},
		"both died":                             {nil, true},
		"owner's process ID was used again":     {[]Process{{PID: 10, Start: 99}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			running := map[Process]bool{}
			for _, process := range test.alive {
				running[process] = true
			}
			got := stale(Record{Owner: owner, Supervisor: supervisor}, func(p Process) bool { return running[p] })
			if got != test.want {
				t.Errorf("stale = %v, want %v", got, test.want)
			}
		})
	}
}

func TestParseStartTime(t *testing.T) {
	stat := "42 (a b) c) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 100 200"
	if got, err := parseStartTime(stat); err != nil || got != 9876 {
		t.Errorf("start time = %d, %v; want 9876", got, err)
	}
	if _, err := parseStartTime("42 (a) Z 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 100 200"); err == nil {
		t.Error("a zombie counts as running")
	}
	if _, err := parseStartTime("nonsense"); err == nil {
		t.Error("nonsense was read")
	}
}
