package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const ownScore = "/proc/self/oom_score_adj"

var scoreField = regexp.MustCompile(`"oomScoreAdj":\s*-?[0-9]+`)

// permitScore makes a bundle startable on a machine that denies the box
// CAP_SYS_RESOURCE: there nobody may lower an OOM score, and runc starts no
// sandbox that has a process of its own, for which CRI-O wants -998. Elsewhere
// the bundle stays as it is.
func permitScore(bundle string) error {
	file := filepath.Join(bundle, "config.json")
	config, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(ownScore)
	if err != nil {
		return err
	}
	own, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	wanted, ok := wantedScore(config)
	if !ok || wanted >= own {
		return nil
	}
	if os.WriteFile(ownScore, []byte(strconv.Itoa(wanted)), 0) == nil {
		return os.WriteFile(ownScore, text, 0)
	}
	return os.WriteFile(file, withScore(config, own), 0o644)
}

// wantedScore is the score that a config.json asks for.
func wantedScore(config []byte) (int, bool) {
	var spec struct {
		Process struct {
			OOMScoreAdj *int `json:"oomScoreAdj"`
		} `json:"process"`
	}
	if json.Unmarshal(config, &spec) != nil || spec.Process.OOMScoreAdj == nil {
		return 0, false
	}
	return *spec.Process.OOMScoreAdj, true
}

// withScore replaces the score and not a byte more.
func withScore(config []byte, score int) []byte {
	return scoreField.ReplaceAll(config, fmt.Appendf(nil, `"oomScoreAdj":%d`, score))
}
