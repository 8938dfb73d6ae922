package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// TimeSpan is the flag of a time span, which may be in days of 24 hours: 7d,
// 1d12h, 36h. It is never negative.
type TimeSpan time.Duration

const day = 24 * time.Hour

// Set, String and Type make it a flag.
func (s *TimeSpan) Set(text string) error {
	wrong := fmt.Errorf("%.40q is no time span: say 7d, 36h or 90s", text)
	var all time.Duration
	rest := text
	if days, below, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return wrong
		}
		all, rest = time.Duration(n)*day, below
	}
	if rest != "" || text == "" {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 {
			return wrong
		}
		all += d
	}
	if all < 0 { // more than 292 years
		return wrong
	}
	*s = TimeSpan(all)
	return nil
}

// String writes whole days as such.
func (s TimeSpan) String() string {
	switch d := time.Duration(s); {
	case d == 0:
		return "0" // which help does not show as a default
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	default:
		return d.String()
	}
}

// Type is what help calls the flag's value.
func (s *TimeSpan) Type() string { return "duration" }
