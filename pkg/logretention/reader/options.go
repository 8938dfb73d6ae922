package reader

import (
	"errors"
	"fmt"
	"time"
)

// Options say what of the attempts to write, and how. Names and meanings are
// those of kubectl logs, except that lines are lines of the container, not
// records of the runtime: Tail counts them, and Since, SinceTime and Until look
// at when they began.
type Options struct {
	// Tail is the number of lines from the end, of all attempts together; nil
	// for all lines.
	Tail *int64
	// Since and SinceTime exclude each other; lines that began earlier are left
	// out. Until leaves out those that began later.
	Since     time.Duration
	SinceTime time.Time
	Until     time.Time
	// Timestamps puts the time before each line, as the kubelet prints it.
	Timestamps bool
	// LimitBytes ends the output after so many bytes; our own lines, which
	// begin with "---", are not counted.
	LimitBytes *int64
	// Follow goes on with what is written to the last attempt, if that is live,
	// until it has been recorded or the context ends. Files that are no Dir are
	// asked again and again, every Poll (a default if 0), and may be out of reach
	// for some minutes; Notice, if set, is told of that in one line.
	Follow bool
	Poll   time.Duration
	Notice func(text string)
	// Prefix puts "[NAMESPACE/POD/CONTAINER#ATTEMPT] " before each line.
	Prefix bool
	// Stream is stdout or stderr; empty for both.
	Stream string
	// Headers shows a line before each attempt, and one where something is
	// missing. Damage that nobody declared is always shown.
	Headers bool
	// Raw gives the bytes of the segments, uncompressed but not decoded. Only
	// LimitBytes, Follow and Headers go with it.
	Raw bool
	// Now is the clock for Since; time.Now if nil.
	Now func() time.Time
}

func (o Options) check() error {
	switch {
	case o.Since != 0 && !o.SinceTime.IsZero():
		return errors.New("since and since-time exclude each other")
	case o.Since < 0:
		return fmt.Errorf("since %s: must not be negative", o.Since)
	case o.Tail != nil && *o.Tail < 0:
		return fmt.Errorf("tail %d: must not be negative", *o.Tail)
	case o.LimitBytes != nil && *o.LimitBytes < 1:
		return fmt.Errorf("limit-bytes %d: must be at least 1", *o.LimitBytes)
	case o.Stream != "" && o.Stream != "stdout" && o.Stream != "stderr":
		return fmt.Errorf("stream %q: must be stdout or stderr", o.Stream)
	case o.Raw && (o.Tail != nil || o.Since != 0 || !o.SinceTime.IsZero() || !o.Until.IsZero() || o.Timestamps || o.Prefix || o.Stream != ""):
		return errors.New("raw output is whole segments: tail, since, until, timestamps, prefix and stream do not go with it")
	}
	return nil
}

// from is the time before which lines are left out; zero for none.
func (o Options) from() time.Time {
	if o.Since == 0 {
		return o.SinceTime
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	return now().Add(-o.Since)
}

func (o Options) notice(text string) {
	if o.Notice != nil {
		o.Notice(text)
	}
}

// wants tells whether a stream is shown.
func (o Options) wants(s stream) bool {
	return o.Stream == "" || s == damaged || (o.Stream == "stdout") == (s == stdout)
}
