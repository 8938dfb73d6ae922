package reader

import "time"

// stamp is the time of a log record. It is taken apart by hand because
// time.Parse would be the larger half of reading a log.
type stamp struct {
	unix  int64 // seconds
	nanos int32
	// text is the time as it stands in the log. It is borrowed.
	text []byte
	// zone is where text has its zone; 0 if text has an unusual form.
	zone int
}

// fixedNano is how the kubelet prints times (cri-client pkg/logs/logs.go
// RFC3339NanoFixed, v0.37).
const fixedNano = "2006-01-02T15:04:05.000000000Z07:00"

const secondsLen = len("2006-01-02T15:04:05")

// parseStamp takes what time.Parse(time.RFC3339Nano) takes.
func parseStamp(b []byte) (stamp, bool) {
	if s, ok := parseUsual(b); ok {
		return s, true
	}
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return stamp{}, false
	}
	return stamp{unix: t.Unix(), nanos: int32(t.Nanosecond()), text: b}, true
}

func parseUsual(b []byte) (stamp, bool) {
	if len(b) <= secondsLen || b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' {
		return stamp{}, false
	}
	century, year, month, day := two(b), two(b[2:]), two(b[5:]), two(b[8:])
	hour, minute, second := two(b[11:]), two(b[14:]), two(b[17:])
	year += 100 * century
	if century < 0 || year < 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) ||
		hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return stamp{}, false
	}
	s := stamp{text: b}
	rest := b[secondsLen:]
	if rest[0] == '.' {
		n, scale := 1, int32(1e8)
		for ; n < len(rest) && digit(rest[n]); n++ {
			s.nanos += int32(rest[n]-'0') * scale
			scale /= 10
		}
		if n == 1 {
			return stamp{}, false
		}
		rest = rest[n:]
	}
	s.zone = len(b) - len(rest)
	offset, ok := zone(rest)
	s.unix = int64(days(year, month, day))*86400 + int64(hour*3600+minute*60+second-offset)
	return s, ok
}

// zone gives seconds east of UTC.
func zone(b []byte) (int, bool) {
	if len(b) == 1 && b[0] == 'Z' {
		return 0, true
	}
	if len(b) != len("+00:00") || (b[0] != '+' && b[0] != '-') || b[3] != ':' {
		return 0, false
	}
	hours, minutes := two(b[1:]), two(b[4:])
	if hours < 0 || hours > 23 || minutes < 0 || minutes > 59 {
		return 0, false
	}
	offset := hours*3600 + minutes*60
	if b[0] == '-' {
		offset = -offset
	}
	return offset, true
}

// two is a number of two digits, or far below zero.
func two(b []byte) int {
	if !digit(b[0]) || !digit(b[1]) {
		return -1 << 20
	}
	return int(b[0]-'0')*10 + int(b[1]-'0')
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// days counts from 1970-01-01, in the Gregorian calendar
// (H. Hinnant, chrono-compatible low-level date algorithms, days_from_civil).
func days(year, month, day int) int {
	if month <= 2 {
		year--
		month += 12
	}
	year += 400 // keeps the division from rounding towards zero
	era := year / 400
	inEra := year % 400
	inYear := (153*(month-3)+2)/5 + day - 1
	return (era-1)*146097 + inEra*365 + inEra/4 - inEra/100 + inYear - 719468
}

// before tells whether a record is older than a time.
func (s stamp) before(t time.Time) bool {
	unix := t.Unix()
	return s.unix < unix || (s.unix == unix && int(s.nanos) < t.Nanosecond())
}

func (s stamp) after(t time.Time) bool {
	unix := t.Unix()
	return s.unix > unix || (s.unix == unix && int(s.nanos) > t.Nanosecond())
}

// appendFixed appends the time as the kubelet prints it: nine digits, and Z for
// any offset of zero.
func (s stamp) appendFixed(dst []byte) []byte {
	if s.zone == 0 {
		t, err := time.Parse(time.RFC3339Nano, string(s.text))
		if err != nil {
			return dst
		}
		return t.AppendFormat(dst, fixedNano)
	}
	const fixed = secondsLen + len(".000000000")
	n := len(dst)
	dst = append(dst, s.text[:min(s.zone, fixed)]...)
	if s.zone == secondsLen {
		dst = append(dst, '.')
	}
	for len(dst)-n < fixed {
		dst = append(dst, '0')
	}
	if offset, _ := zone(s.text[s.zone:]); offset == 0 {
		return append(dst, 'Z')
	}
	return append(dst, s.text[s.zone:]...)
}
