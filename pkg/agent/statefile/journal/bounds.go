package journal

import (
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// The journal is written anew once it exceeds one of these.
const (
	maxActs  = 1000
	maxBytes = 1 << 20
)

// What is left then. The default bounds of the configuration allow some 350
// acts within the longest time that a budget looks back; acts that did nothing
// (refused, dry run) never crowd those out.
const (
	keptReal  = 400
	keptOther = 400
	keptBytes = maxBytes / 2
)

// newest returns what is left of acts in a compacted journal, in order, and
// its lines. The newest note of a lost journal stays whatever its age.
func newest(acts []restartpolicy.Act) ([]restartpolicy.Act, []byte, error) {
	keep := make([]bool, len(acts))
	lines := make([][]byte, len(acts))
	size := 0
	lost := false
	take := func(i int) (bool, error) {
		line, err := encode(acts[i])
		if err != nil || size+len(line) > keptBytes {
			return false, err
		}
		keep[i], lines[i] = true, line
		size += len(line)
		return true, nil
	}
	for _, round := range []struct {
		wanted func(restartpolicy.Act) bool
		limit  int
	}{
		{func(a restartpolicy.Act) bool { is := a.Kind == LostKind && !lost; lost = lost || is; return is }, 1},
		{real, keptReal},
		{func(a restartpolicy.Act) bool { return !real(a) && a.Kind != LostKind }, keptOther},
	} {
		left := round.limit
		for i := len(acts) - 1; i >= 0 && left > 0; i-- {
			if !round.wanted(acts[i]) {
				continue
			}
			ok, err := take(i)
			if err != nil {
				return nil, nil, err
			}
			if !ok {
				break
			}
			left--
		}
	}
	var out []restartpolicy.Act
	var text []byte
	for i, kept := range keep {
		if kept {
			out = append(out, acts[i])
			text = append(text, lines[i]...)
		}
	}
	return out, text, nil
}

// real tells acts that did, or may have done, something to the node.
func real(a restartpolicy.Act) bool {
	return a.Result != restartpolicy.ResultRefused && a.Result != restartpolicy.ResultDryRun
}
