package nri

import "time"

// NewImpatient is New with a bound of its own on the registration, and on the
// events that may wait.
func NewImpatient(options Options, patience time.Duration, length int) *Source {
	s := New(options)
	s.patience, s.queue = patience, newQueue(length)
	return s
}
