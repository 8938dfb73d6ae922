package reader

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func checkStamp(t interface {
	Helper()
	Errorf(string, ...any)
}, text string,
) {
	t.Helper()
	want, err := time.Parse(time.RFC3339Nano, text)
	got, ok := parseStamp([]byte(text))
	if ok != (err == nil) {
		t.Errorf("%q: taken %t, time.Parse says %v", text, ok, err)
		return
	}
	if !ok {
		return
	}
	if got.unix != want.Unix() || int(got.nanos) != want.Nanosecond() {
		t.Errorf("%q: %d.%d, want %d.%d", text, got.unix, got.nanos, want.Unix(), want.Nanosecond())
	}
	if printed := string(got.appendFixed(nil)); printed != want.Format(fixedNano) {
		t.Errorf("%q: printed %q, want %q", text, printed, want.Format(fixedNano))
	}
	if got.before(want) || got.after(want) || !got.before(want.Add(1)) || !got.after(want.Add(-1)) {
		t.Errorf("%q: compares wrongly", text)
	}
}

func TestStampsAreThoseOfTimeParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		year := rapid.IntRange(0, 9999).Draw(t, "year")
		zone := time.FixedZone("", 60*rapid.IntRange(-23*60, 23*60).Draw(t, "zone"))
		seconds := rapid.IntRange(0, 366*86400).Draw(t, "seconds")
		at := time.Date(year, 1, 1, 0, 0, seconds, rapid.IntRange(0, 999999999).Draw(t, "nanos"), zone)
		if at.Year() > 9999 {
			return
		}
		layout := rapid.SampledFrom([]string{time.RFC3339Nano, fixedNano, time.RFC3339, "2006-01-02T15:04:05.000000000-07:00", "2006-01-02T15:04:05.000000000000-07:00"}).Draw(t, "layout")
		text := at.Format(layout)
		checkStamp(t, text)
		b := []byte(text)
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("0123456789-+:.,TZ x")).Draw(t, "byte")
		checkStamp(t, string(b))
	})
}

func FuzzStamp(f *testing.F) {
	for _, text := range []string{"2026-11-30T12:00:00.5Z", "2024-02-29T23:59:59,1+00:00", "2026-11-30T1:00:00-24:00", "", "2026-11-30T12:00:00.", "2026-11-30T12:00:00.1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkStamp(t, text) })
}
