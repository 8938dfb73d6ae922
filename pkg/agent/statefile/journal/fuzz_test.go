package journal

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Whatever the file holds: each whole line of it is an act that counts, or the
// file is unreadable, and so counts as lost. Nothing is lost in silence.
func FuzzDecode(f *testing.F) {
	line, err := encode(restartpolicy.Act{ID: "1", BootID: boot, Result: restartpolicy.ResultStarted,
		Step: restartpolicy.Step{Kind: restartpolicy.RestartKubelet}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add(line[:len(line)/2])
	f.Add(append(bytes.Clone(line), "{}\n"...))
	f.Add([]byte("\x00\n"))
	f.Add([]byte(`{"id":"18446744073709551615","step":"x","result":"done","began":{"boot":-1}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		acts, whole, err := decode(data)
		if whole != bytes.LastIndexByte(data, '\n')+1 {
			t.Errorf("%d bytes are whole lines, not %d", bytes.LastIndexByte(data, '\n')+1, whole)
		}
		if err != nil {
			return
		}
		ids := map[string]bool{}
		for line := range bytes.Lines(data[:whole]) {
			act, err := decodeLine(line)
			if err != nil {
				t.Errorf("lost in silence: %q", line)
			}
			ids[act.ID] = true
		}
		if len(ids) != len(acts) {
			t.Errorf("%d acts of %d", len(acts), len(ids))
		}
		var text []byte
		for i := range acts {
			line, err := encode(acts[i])
			if err != nil {
				return // a time that JSON cannot hold
			}
			text = append(text, line...)
			acts[i].Reason, acts[i].Detail = short(acts[i].Reason), short(acts[i].Detail)
		}
		if again, _, err := decode(text); err != nil || len(again) != len(acts) {
			t.Errorf("written again: %v %s", err, cmp.Diff(acts, again))
		}
	})
}
