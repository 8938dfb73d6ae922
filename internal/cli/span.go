package cli

import (
	"encoding/json"
	"fmt"
	"time"
)

// Span is a duration in two units at most: 45s, 3m20s, 5h12m, 12d.
func Span(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", seconds)
	case d < 10*time.Minute && seconds%60 != 0:
		return d.String()
	case d < time.Hour:
		return fmt.Sprintf("%dm", seconds/60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", seconds/3600, seconds/60%60)
	}
	return fmt.Sprintf("%dd", seconds/86400)
}

// Age is a duration in one unit, for columns that must be narrow: 45s, 3m, 5h,
// 12d. A time to come, which a clock that was set back makes, is 0s.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, d)/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// Bytes is a size in at most three digits: 999, 9.8Ki, 64Mi.
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	const units = "KMGT"
	size, unit, digits := float64(n)/1024, 0, 0
	for size >= 999.5 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	if size < 9.95 {
		digits = 1
	}
	return fmt.Sprintf("%.*f%ci", digits, size, units[unit])
}

// Duration is a time.Duration that is JSON as people write it: "5s". A number
// of nanoseconds, which the journal of acts has, is read too.
type Duration time.Duration

// MarshalJSON writes "5s".
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}

// UnmarshalJSON reads "5s" or nanoseconds.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return json.Unmarshal(data, (*time.Duration)(d))
	}
	parsed, err := time.ParseDuration(text)
	*d = Duration(parsed)
	return err
}
