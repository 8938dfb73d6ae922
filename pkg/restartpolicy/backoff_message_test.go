package restartpolicy

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestParseBackOff(t *testing.T) {
	const rest = " restarting failed container=main pod=app-node1_ns(0b1c)"
	for message, want := range map[string]time.Duration{
		"back-off 10s" + rest:            10 * time.Second,
		"back-off 40s" + rest:            40 * time.Second,
		"back-off 1m20s" + rest:          80 * time.Second,
		"back-off 2m40s" + rest:          160 * time.Second,
		"back-off 5m0s" + rest:           300 * time.Second,
		"back-off 1.5s" + rest:           1500 * time.Millisecond,
		"back-off 500ms" + rest:          500 * time.Millisecond,
		"":                               0,
		"back-off":                       0,
		"back-off 40s":                   0,
		"back-off " + rest:               0,
		"back-off -40s" + rest:           0,
		"back-off 0s" + rest:             0,
		"back-off 40" + rest:             0,
		"back-off 2540400h10m" + rest:    0,
		"back-off 61m" + rest:            0,
		"Back-off 40s" + rest:            0,
		"so: back-off 40s" + rest:        0,
		`Back-off pulling image "x:1"`:   0,
		"back-off 40s restarting failed": 0,
		`back-off 10s pulling image "x"`: 0,
	} {
		got, ok := parseBackOff(message)
		if got != want || ok != (want != 0) {
			t.Errorf("parseBackOff(%q) = %s, %v, want %s", message, got, ok, want)
		}
	}
}

func FuzzParseBackOff(f *testing.F) {
	f.Add("back-off 40s restarting failed container=main pod=a_b(c)")
	f.Add("back-off 2m40s restarting failed container=back-off 1s restarting failed container=")
	f.Add("back-off  restarting failed container=")
	f.Fuzz(func(t *testing.T, message string) {
		wait, ok := parseBackOff(message)
		if !ok {
			if wait != 0 {
				t.Errorf("%q: not a back-off, and %s", message, wait)
			}
			return
		}
		if wait <= 0 || wait > maxBackOff {
			t.Errorf("%q: %s is out of bounds", message, wait)
		}
		again, ok := parseBackOff(fmt.Sprintf("back-off %s restarting failed container=x pod=y", wait))
		if !ok || again != wait || !strings.HasPrefix(message, "back-off ") {
			t.Errorf("%q: %s reads back as %s", message, wait, again)
		}
	})
}
