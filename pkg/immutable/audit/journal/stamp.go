package journal

import (
	"strconv"
	"strings"
	"time"
)

// stamp is the time of a printed line. journalctl's own time comes first where
// it has a year and a zone (-o short-iso); else the time in the kubelet's line is
// taken, I1130 07:41:47.642801, whose zone is the kubelet's: nodes run on UTC,
// and so it is read. Its year is the latest that is not past now by more than
// the difference of two zones.
func stamp(message string, now time.Time) time.Time {
	if first, _, ok := strings.Cut(message, " "); ok {
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05-0700", "2006-01-02T15:04:05.999999-0700"} {
			if at, err := time.Parse(layout, first); err == nil {
				return at.UTC()
			}
		}
	}
	for rest := message; ; {
		// Two runs of digits and what is between them: IMMDD hh:mm:ss.
		i := strings.IndexAny(rest, "IWEF")
		if i < 0 || i+14 > len(rest) {
			return time.Time{}
		}
		if at, err := time.Parse("0102 15:04:05", rest[i+1:i+14]); err == nil {
			at = at.AddDate(now.Year()-at.Year(), 0, 0)
			if at.After(now.Add(26 * time.Hour)) {
				at = at.AddDate(-1, 0, 0)
			}
			return at
		}
		rest = rest[i+1:]
	}
}

// micros is a time of the journal's own, in microseconds.
func micros(text []byte) (time.Time, bool) {
	us, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || us <= 0 || us > 1<<58 {
		return time.Time{}, false
	}
	return time.UnixMicro(us).UTC(), true
}
