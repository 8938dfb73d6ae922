package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/internal/cli"
)

func TestRates(t *testing.T) {
	for text, want := range map[string]perSecond{"1/s": 1, "30/m": 0.5, "0.5/s": 0.5} {
		var r perSecond
		if err := r.Set(text); err != nil || r != want {
			t.Errorf("%s: %v, %v", text, r, err)
		}
	}
	for _, text := range []string{"", "1", "0/s", "-1/s", "NaN/s", "Inf/s", "1/d", "/s"} {
		if new(perSecond).Set(text) == nil {
			t.Errorf("%q is no rate", text)
		}
	}
}

func TestBadUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--min-age=soon"}, {"--rate=fast"}, {"--namespace-selector==="}, {"--interval=0"}, {"more"}, {"--kubeconfig=/nowhere/at/all"},
	} {
		var said bytes.Buffer
		if code := execute(t.Context(), args, &said, &said); code != cli.ExitUsage || !strings.HasPrefix(said.String(), name+": ") {
			t.Errorf("%v: code %d, %s", args, code, said.String())
		}
	}
}

func TestItIsADryRunUnlessToldOtherwise(t *testing.T) {
	c := command(&bytes.Buffer{})
	for flag, want := range map[string]string{"dry-run": "true", "min-age": "7d", "rate": "1/s", "once": "false"} {
		if got := c.Flags().Lookup(flag).DefValue; got != want {
			t.Errorf("--%s is %s, want %s", flag, got, want)
		}
	}
}
