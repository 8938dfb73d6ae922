package main

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/time/rate"
)

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
