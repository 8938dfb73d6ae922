package cri

import "testing"

func TestInfoPID(t *testing.T) {
	tests := map[string]struct {
		info map[string]string
		want int
	}{
		"CRI-O":      {map[string]string{"info": `{"sandboxID":"s","pid":4711,"runtimeSpec":{"process":{"pid":1}},"privileged":true}`}, 4711},
		"containerd": {map[string]string{"info": `{"sandboxID":"s","pid":4712,"removing":false,"snapshotKey":"k","config":{"metadata":{"name":"main"}}}`}, 4712},
		"its own":    {map[string]string{"pid": "4713"}, 4713},
		"exited":     {map[string]string{"info": `{"pid":0}`}, 0},
		"none":       {nil, 0},
		"garbage":    {map[string]string{"info": `{"pid":"x"`, "pid": "-3"}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := infoPID(test.info); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}
