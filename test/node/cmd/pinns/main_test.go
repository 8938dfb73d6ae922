package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]request{
		"-d /run -f abc --ipc --net --uts=host": {
			dir: "/run", name: "abc", host: map[string]bool{"ipc": false, "net": false, "uts": true}},
		"-d /run -f abc -s a.b=1+c.d=2 --net": {
			dir: "/run", name: "abc", sysctls: []string{"a.b=1", "c.d=2"}, host: map[string]bool{"net": false}},
		"--dir=/run --filename=abc --log-level=info --ipc": {
			dir: "/run", name: "abc", host: map[string]bool{"ipc": false}},
	} {
		if got := parse(strings.Fields(line)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}
