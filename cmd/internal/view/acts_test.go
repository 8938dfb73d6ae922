package view

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/journal"
)

// Whatever a node sends, it is shown or refused, and moves no cursor.
func FuzzActs(f *testing.F) {
	f.Add([]byte(`{"id":"1","step":"stop-container","result":"done","key":{"name":"a\u001b[2J"},"target":{"grace":-1}}` + "\n"))
	f.Add([]byte("\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		acts, _ := journal.Decode(data)
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
