package fault

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Action is what happens to a call that matches.
type Action string

// The three ways to misbehave.
const (
	Delay Action = "delay"
	Hang  Action = "hang"
	Fail  Action = "fail"
)

// Rule is one line of a fault file.
type Rule struct {
	Action Action
	// Delay before the call goes on; for the action Delay only.
	Delay time.Duration
	// Code is the gRPC code's name of a failure, "" for the usual one.
	Code string
	// Count is how many calls it is good for; 0 is no limit.
	Count int
	// Match must be part of the call's subject; "" matches all.
	Match string
}

// String writes the rule as a line that ParseRule reads.
func (r Rule) String() string {
	words := []string{string(r.Action)}
	if r.Action == Delay {
		words = append(words, r.Delay.String())
	}
	if r.Code != "" {
		words = append(words, r.Code)
	}
	if r.Count > 0 {
		words = append(words, "count", strconv.Itoa(r.Count))
	}
	if r.Match != "" {
		words = append(words, "match", r.Match)
	}
	return strings.Join(words, " ")
}

// Parse reads the lines of a fault file; empty ones are skipped.
func Parse(text string) ([]Rule, error) {
	var rules []Rule
	for number, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		rule, err := ParseRule(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// ParseRule reads one line.
func ParseRule(line string) (Rule, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return Rule{}, fmt.Errorf("empty rule")
	}
	rule := Rule{Action: Action(words[0])}
	words = words[1:]
	switch rule.Action {
	case Delay:
		if len(words) == 0 {
			return Rule{}, fmt.Errorf("delay without a duration in %q", line)
		}
		delay, err := time.ParseDuration(words[0])
		if err != nil {
			return Rule{}, fmt.Errorf("%q: %w", line, err)
		}
		rule.Delay, words = delay, words[1:]
	case Fail:
		if len(words) > 0 && words[0] != "count" && words[0] != "match" {
			rule.Code, words = words[0], words[1:]
		}
	case Hang:
	default:
		return Rule{}, fmt.Errorf("%q is none of delay, hang, fail", rule.Action)
	}
	for len(words) > 0 {
		switch {
		case words[0] == "count" && len(words) > 1:
			count, err := strconv.Atoi(words[1])
			if err != nil || count < 1 {
				return Rule{}, fmt.Errorf("bad count %q in %q", words[1], line)
			}
			rule.Count, words = count, words[2:]
		case words[0] == "match" && len(words) > 1:
			rule.Match, words = strings.Join(words[1:], " "), nil
		default:
			return Rule{}, fmt.Errorf("unexpected %q in %q", words[0], line)
		}
	}
	return rule, nil
}

// use picks the first rule that matches the subject and returns the rules that
// are left.
func use(rules []Rule, subject string) (Rule, []Rule, bool) {
	for i, rule := range rules {
		if !strings.Contains(subject, rule.Match) {
			continue
		}
		if rule.Count == 0 {
			return rule, rules, true
		}
		left := append([]Rule{}, rules[:i]...)
		if rule.Count > 1 {
			once := rule
			once.Count--
			left = append(left, once)
		}
		return rule, append(left, rules[i+1:]...), true
	}
	return Rule{}, rules, false
}

// Format writes rules as the text of a fault file.
func Format(rules []Rule) string {
	var text strings.Builder
	for _, rule := range rules {
		text.WriteString(rule.String() + "\n")
	}
	return text.String()
}
