package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// ReadActs reads a copy of the journal of acts: the last line of an ID holds,
// and one without an end is dropped. A line that makes no sense is an error, and
// the acts of the others are returned all the same.
func ReadActs(data []byte) (acts []restartpolicy.Act, err error) {
	at := map[string]int{}
	for n := 1; ; n++ {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		if !ended {
			return acts, err
		}
		data = rest
		var act restartpolicy.Act
		lineErr := json.Unmarshal(line, &act)
		if lineErr == nil && (act.ID == "" || act.Kind == "" || act.Result == "") {
			lineErr = errors.New("no act")
		}
		if lineErr != nil {
			err = errors.Join(err, fmt.Errorf("line %d of the acts: %w", n, lineErr))
			continue
		}
		if i, ok := at[act.ID]; ok {
			acts[i] = act
			continue
		}
		at[act.ID] = len(acts)
		acts = append(acts, act)
	}
}
