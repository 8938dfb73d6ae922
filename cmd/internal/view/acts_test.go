package view

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/internal/cli"
)

func TestReadActsTakesTheLastLineOfAnID(t *testing.T) {
	const journal = `{"id":"1","step":"stop-container","result":"started"}
{"id":"2","step":"restart-kubelet","result":"started"}
rubbish
{"id":"3"}
{"id":"1","step":"stop-container","result":"done"}
{"id":"4","step":"stop-container","result":"sta`
	acts, err := ReadActs([]byte(journal))
	if err == nil || !strings.Contains(err.Error(), "line 3") || !strings.Contains(err.Error(), "line 4") {
		t.Errorf("%v", err)
	}
	if len(acts) != 2 || acts[0].ID != "1" || acts[0].Result != "done" || acts[1].ID != "2" {
		t.Errorf("%+v", acts)
	}
}

// Whatever a node sends, it is shown or refused, and moves no cursor.
func FuzzReadActs(f *testing.F) {
	f.Add([]byte(`{"id":"1","step":"stop-container","result":"done","key":{"name":"a\u001b[2J"},"target":{"grace":-1}}` + "\n"))
	f.Add([]byte("\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		acts, _ := ReadActs(data)
		for _, form := range []cli.Form{cli.AsTable, cli.AsWide, cli.AsJSON} {
			var out bytes.Buffer
			if err := ActsOfNodes(&out, form, []NodeActs{{"n", acts}}); err != nil {
				// A year that RFC 3339 has no digits for.
				if form != cli.AsJSON {
					t.Error(err)
				}
				continue
			}
			if form != cli.AsJSON && strings.ContainsAny(out.String(), "\x1b\r\x07") {
				t.Errorf("%q", out.String())
			}
		}
	})
}
