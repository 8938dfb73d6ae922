package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// age is a duration that may be in days.
type age time.Duration

// Type implements pflag.Value.
func (*age) Type() string { return "duration" }

// String writes whole days as such.
func (a *age) String() string {
	const day = age(24 * time.Hour)
	if *a > 0 && *a%day == 0 {
		return fmt.Sprintf("%dd", *a/day)
	}
	return time.Duration(*a).String()
}

// Set reads 7d, or what time.ParseDuration does.
func (a *age) Set(text string) error {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return fmt.Errorf("%q is no number of days", text)
		}
		*a = age(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no time: say 7d or 36h", text)
	}
	*a = age(d)
	return nil
}

// perSecond is a rate.
type perSecond float64

// Type implements pflag.Value.
func (*perSecond) Type() string { return "rate" }

// String writes it by the second.
func (r *perSecond) String() string {
	return strconv.FormatFloat(float64(*r), 'g', -1, 64) + "/s"
}

// Set reads a number by the second, minute or hour.
func (r *perSecond) Set(text string) error {
	number, unit, _ := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(number, 64)
	per, known := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	if err != nil || !known || !(n > 0) || n > 1000 {
		return fmt.Errorf("%q is no rate: say 1/s or 30/m, up to 1000", text)
	}
	*r = perSecond(n / per)
	return nil
}

func (r perSecond) limit() rate.Limit { return rate.Limit(r) }
