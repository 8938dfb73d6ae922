package status

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Name is the file in the run directory.
const Name = "status.json"

// Decode reads a status, wherever that comes from. The error goes on after the
// name of its file.
func Decode(data []byte) (Status, error) {
	var s Status
	if err := json.Unmarshal(data, &s); err != nil {
		return Status{}, fmt.Errorf("cannot be read: %w", err)
	}
	if s.APIVersion != APIVersion || s.Kind != Kind {
		return Status{}, fmt.Errorf("is %s %s, not %s %s: the agent is of another version", s.APIVersion, s.Kind, APIVersion, Kind)
	}
	return s, nil
}

// staleSlack is added to three intervals before a status counts as stale.
const staleSlack = 10 * time.Second

// Stale tells whether the agent should have looked again by now. An act in
// hand is given its time.
func (s Status) Stale(bootID string, now node.Instant) bool {
	if s.Agent.BootID != bootID {
		return true
	}
	limit := time.Duration(3*s.Agent.IntervalSeconds*float64(time.Second)) + staleSlack
	if s.Agent.Acting != nil {
		limit += time.Duration(s.Agent.Acting.AtMostSeconds) * time.Second
	}
	return now.Boot-s.Agent.Taken.Boot > limit
}

// Overdue counts what is wrong beyond its deadline.
func (s Status) Overdue() int {
	n := 0
	for _, v := range s.Verdicts {
		if v.Overdue {
			n++
		}
	}
	return n
}
