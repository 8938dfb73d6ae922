package logs

import (
	"bytes"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
)

const at = "2026-11-30T12:00:00.000000000+00:00 "

func ptr(n int64) *int64 { return &n }

// TestReadLogsMeantDifferences is the list of all differences. Each is a case
// in which the kubelet's answer is not what a reader of crash logs needs.
func TestReadLogsMeantDifferences(t *testing.T) {
	for _, c := range []struct {
		why          string
		log          string
		o            reader.Options
		ours, theirs string
	}{
		{
			"tail counts lines of the container, not records of the runtime: half a line is no line",
			at + "stdout F one\n" + at + "stdout P tw\n" + at + "stdout F o\n",
			reader.Options{Tail: ptr(1)},
			"two\n", "o\n",
		},
		{
			"a torn last line is a line of the tail: it is the last thing that the container said",
			at + "stdout F one\n" + at + "stdout F tw",
			reader.Options{Tail: ptr(1)},
			"tw", "one\n",
		},
		{
			"since looks at when a line began: half a line is no line",
			"2026-11-30T11:00:00Z stdout P be\n" + at + "stdout F gun\n",
			reader.Options{SinceTime: began},
			"", "gun\n",
		},
		{
			"lines of both streams are not mixed within a line",
			at + "stdout P on\n" + at + "stderr F error\n" + at + "stdout F e\n",
			reader.Options{},
			"one\nerror\n", "onerror\ne\n",
		},
		{
			"so that each line has its own time before it",
			at + "stdout P on\n" + at + "stderr F error\n" + at + "stdout F e\n",
			reader.Options{Timestamps: true},
			"2026-11-30T12:00:00.000000000Z one\n2026-11-30T12:00:00.000000000Z error\n", "2026-11-30T12:00:00.000000000Z onerror\n2026-11-30T12:00:00.000000000Z e\n",
		},
		{
			"a line that never ended does not swallow the other stream's next one",
			at + "stdout P waiting\n" + at + "stderr F panic\n",
			reader.Options{},
			"waiting\npanic\n", "waitingpanic\n",
		},
		{
			"an empty part does not begin the line again",
			at + "stdout P \n" + at + "stdout F one\n",
			reader.Options{Timestamps: true},
			"2026-11-30T12:00:00.000000000Z one\n", "2026-11-30T12:00:00.000000000Z 2026-11-30T12:00:00.000000000Z one\n",
		},
		{
			"a damaged line is shown, not left out",
			at + "stdout F one\ntorn\n",
			reader.Options{},
			"one\n--- nodekeeper: not a log record: torn\n", "one\n",
		},
		{
			"both formats may be in one file",
			at + "stdout F one\n" + `{"log":"two\n","stream":"stdout","time":"2026-11-30T12:00:00Z"}` + "\n",
			reader.Options{},
			"one\ntwo\n", "one\n",
		},
		{
			"a record of docker's without a time is damaged: nobody can say when it was",
			`{"log":"one\n","stream":"stdout"}` + "\n",
			reader.Options{},
			"--- nodekeeper: not a log record: " + `{"log":"one\n","stream":"stdout"}` + "\n", "one\n",
		},
	} {
		t.Run(c.why, func(t *testing.T) {
			d := newDir(t)
			d.put(t, c.log)
			if got := d.ours(t, c.o); got != c.ours {
				t.Errorf("ours   %q, want %q", got, c.ours)
			}
			if got := d.theirs(t, c.o); got != c.theirs {
				t.Errorf("theirs %q, want %q", got, c.theirs)
			}
		})
	}
}

// What they answer with an error, we show.
func TestReadLogsWhereTheirsFails(t *testing.T) {
	d := newDir(t)
	for in, want := range map[string]string{
		"torn\n" + at + "stdout F one\n":          "--- nodekeeper: not a log record: torn\none\n",
		"\x00\x00\x00" + at + "stdout F one\n":    "--- nodekeeper: 3 NUL bytes here ---\none\n",
		"tail of a line that\n" + at + "stdout F": "--- nodekeeper: not a log record: tail of a line that\n--- nodekeeper: not a log record: " + at + "stdout F\n",
	} {
		d.put(t, in)
		if got := d.ours(t, reader.Options{}); got != want {
			t.Errorf("ours %q, want %q", got, want)
		}
		if err := d.read(new(bytes.Buffer), reader.Options{}); err == nil {
			t.Errorf("%q: theirs does not fail", in)
		}
	}
	d.put(t, at+"stdout F one\n")
	if got := d.ours(t, reader.Options{SinceTime: began.Add(time.Hour)}); got != "" {
		t.Errorf("got %q", got)
	}
}
