package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// Name is the journal's file in the state directory.
const Name = "acts.jsonl"

// LostKind is the step of the note that stands for a journal that was set
// aside. Its result is "refused": it did nothing.
const LostKind restartpolicy.StepKind = "journal-lost"

// Decode reads a copy of a journal, wherever that comes from. A last line that
// was cut off is dropped; any other that cannot be read is left out and told in
// the error.
func Decode(data []byte) ([]restartpolicy.Act, error) {
	acts, _, err := decode(data)
	return acts, err
}

// decode reads the lines of a journal. It returns one act an ID, in the order
// in which they began, and the number of bytes up to the end of the last whole
// line. An error means that some line in between cannot be read; the acts of
// the others are returned all the same.
func decode(data []byte) (acts []restartpolicy.Act, whole int, err error) {
	at := map[string]int{}
	for n := 1; ; n++ {
		line, _, ended := bytes.Cut(data[whole:], []byte("\n"))
		if !ended {
			return acts, whole, err
		}
		act, lineErr := decodeLine(line)
		whole += len(line) + 1
		if lineErr != nil {
			if err == nil {
				err = fmt.Errorf("line %d: %w", n, lineErr)
			}
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

// maxID is what no journal reaches.
const maxID = 1 << 53

func decodeLine(line []byte) (restartpolicy.Act, error) {
	var act restartpolicy.Act
	if err := json.Unmarshal(line, &act); err != nil {
		return act, err
	}
	n, err := strconv.ParseUint(act.ID, 10, 64)
	switch {
	case err != nil || n == 0 || n > maxID || act.ID != strconv.FormatUint(n, 10):
		return act, fmt.Errorf("%.20q is no ID", act.ID)
	case act.Kind == "":
		return act, errors.New("an act without a step")
	case act.Result == "":
		return act, errors.New("an act without a result")
	case act.Began.Boot < 0:
		return act, errors.New("an act from before its boot")
	}
	return act, nil
}

// textLimit bounds the texts of an act, and with them the length of a line.
const textLimit = 300

func encode(act restartpolicy.Act) ([]byte, error) {
	act.Reason, act.Detail = short(act.Reason), short(act.Detail)
	line, err := json.Marshal(act)
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

func short(text string) string {
	if len(text) <= textLimit {
		return text
	}
	return text[:textLimit] + "..."
}
