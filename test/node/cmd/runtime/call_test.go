package main

import (
	"strings"
	"testing"
)

func TestParseCall(t *testing.T) {
	for line, want := range map[string]call{
		"--systemd-cgroup --root=/run/runc create --bundle /b --pid-file /p abc": {verb: "create", bundle: "/b", container: "abc"},
		"--root /run/runc start abc":            {verb: "start", container: "abc"},
		"--root=/run/runc kill -a abc KILL":     {verb: "kill", container: "abc"},
		"exec --pid-file /p -p /x abc":          {verb: "exec", container: "abc"},
		"--version":                             {},
		"--root=/run/runc create --bundle=/b x": {verb: "create", bundle: "/b", container: "x"},
	} {
		if got := parseCall(strings.Fields(line)); got != want {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}
