package fault

import (
	"context"
	"testing"
	"time"
)

func TestParseRule(t *testing.T) {
	for line, want := range map[string]Rule{
		"delay 150s count 1 match main": {Action: Delay, Delay: 150 * time.Second, Count: 1, Match: "main"},
		"hang":                          {Action: Hang},
		"hang count 2":                  {Action: Hang, Count: 2},
		"fail":                          {Action: Fail},
		"fail DeadlineExceeded count 3": {Action: Fail, Code: "DeadlineExceeded", Count: 3},
		"fail match a b":                {Action: Fail, Match: "a b"},
	} {
		got, err := ParseRule(line)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", line, got, err)
		}
		if again, err := ParseRule(got.String()); err != nil || again != want {
			t.Errorf("%q does not survive writing: %q", line, got)
		}
	}
	for _, line := range []string{"", "delay", "delay soon", "explode", "hang count", "hang count 0", "hang twice"} {
		if rule, err := ParseRule(line); err == nil {
			t.Errorf("%q was read as %+v", line, rule)
		}
	}
}

func TestTakeUsesCountsUp(t *testing.T) {
	dir := t.TempDir()
	if err := Set(dir, "start", Rule{Action: Fail, Count: 2, Match: "main"}, Rule{Action: Hang, Match: "side"}); err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		subject string
		action  Action
	}{{"app main", Fail}, {"app other", ""}, {"app side", Hang}, {"app main", Fail}, {"app main", ""}, {"app side", Hang}} {
		rule, found, err := Take(dir, "start", step.subject)
		if err != nil || found != (step.action != "") || rule.Action != step.action {
			t.Errorf("step %d: %+v, %v, %v", i, rule, found, err)
		}
	}
	if _, found, err := Take(dir, "stop", "app main"); found || err != nil {
		t.Errorf("another call: %v, %v", found, err)
	}
}

func TestHangEndsWhenReleased(t *testing.T) {
	dir := t.TempDir()
	done := make(chan error)
	go func() { done <- Wait(context.Background(), dir, "start", Rule{Action: Hang}) }()
	for deadline := time.Now().Add(5 * time.Second); ; {
		if held, err := Held(dir); err == nil && len(held) == 1 && held[0] == "start" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("never held")
		}
		time.Sleep(time.Millisecond)
	}
	if err := Release(dir); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
