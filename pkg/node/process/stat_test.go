package process

import (
	"errors"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const rest = " 3 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 12345 1000 10 18446744073709551615 0\n"
	tests := map[string]struct {
		line string
		want Stat
	}{
		"plain":           {"7 (etcd) S" + rest, Stat{7, "etcd", "S", 3, 123450 * time.Millisecond}},
		"spaces":          {"7 (tmux: server) R" + rest, Stat{7, "tmux: server", "R", 3, 123450 * time.Millisecond}},
		"parentheses":     {"7 (a) Z (b)) Z" + rest, Stat{7, "a) Z (b)", "Z", 3, 123450 * time.Millisecond}},
		"line break":      {"7 (a\n7 (b) T" + rest, Stat{7, "a\n7 (b", "T", 3, 123450 * time.Millisecond}},
		"no name at all":  {"7 () D" + rest, Stat{7, "", "D", 3, 123450 * time.Millisecond}},
		"looks like stat": {"7 (x) S 1 1) S" + rest, Stat{7, "x) S 1 1", "S", 3, 123450 * time.Millisecond}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseStat([]byte(test.line))
			if err != nil || got != test.want {
				t.Errorf("got %+v, %v; want %+v", got, err, test.want)
			}
		})
	}
}

func TestParseStatRefusesWhatIsNoStatLine(t *testing.T) {
	for _, line := range []string{"", "7", "7 (", "7 )(", "(x) S", "7 (x) S 1 2 3", "x (y) S 1 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 5 1"} {
		if got, err := ParseStat([]byte(line)); err == nil {
			t.Errorf("%q gave %+v", line, got)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (a) b) S 1 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 5 1"))
	f.Fuzz(func(t *testing.T, line []byte) { _, _ = ParseStat(line) })
}

func TestStatOfNobodyIsGone(t *testing.T) {
	for _, pid := range []int{0, -1, 1 << 30} {
		if _, err := ThisHost().Stat(pid); !errors.Is(err, ErrGone) {
			t.Errorf("process %d: %v", pid, err)
		}
	}
}
