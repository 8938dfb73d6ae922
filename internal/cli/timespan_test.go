package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestATimeSpanMayBeInDays(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"7d": 168 * time.Hour, "1d12h": 36 * time.Hour, "36h": 36 * time.Hour, "1m30s": 90 * time.Second, "90d": 2160 * time.Hour,
		"0": 0, "0d": 0,
	} {
		var s TimeSpan
		if err := s.Set(text); err != nil || time.Duration(s) != want {
			t.Errorf("%s: %v, %v", text, time.Duration(s), err)
		}
	}
	for _, text := range []string{"", "d", "-1h", "-1d", "1d-1h", "1.5d", "7days", "1h7d", "7", "65536d", "65535d2562047h", "tomorrow"} {
		s := TimeSpan(time.Hour)
		if err := s.Set(text); err == nil || !strings.Contains(err.Error(), "7d") || s != TimeSpan(time.Hour) {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
	for span, want := range map[time.Duration]string{0: "0", 90 * day: "90d", 36 * time.Hour: "36h0m0s", time.Minute: "1m0s"} {
		if got := TimeSpan(span).String(); got != want {
			t.Errorf("%v is %s, want %s", span, got, want)
		}
	}
}

func TestHelpTellsTheDefaultOfATimeSpanUnlessItIsNone(t *testing.T) {
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	none, some := TimeSpan(0), TimeSpan(day)
	flags.Var(&none, "none", "a")
	flags.Var(&some, "some", "b")
	if help := flags.FlagUsages(); strings.Count(help, "default") != 1 || !strings.Contains(help, "(default 1d)") {
		t.Error(help)
	}
}
