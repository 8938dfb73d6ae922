package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 59 * time.Second: "59s", time.Minute: "1m", 200 * time.Second: "3m20s", 3599 * time.Second: "59m",
		5*time.Hour + 12*time.Minute: "5h12m", 50 * time.Hour: "2d",
	} {
		if got := Span(int64(d / time.Second)); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestAgesAndSizesAreNarrow(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Hour: "0s", 59 * time.Second: "59s", 90 * time.Second: "1m", 47 * time.Hour: "47h", 48 * time.Hour: "2d"} {
		if got := Age(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1.0Ki", 10 << 10: "10Ki", 1023 << 10: "1.0Mi", 64 << 20: "64Mi", 3 << 40: "3.0Ti"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestDurationsAreReadAsTextAndAsNanoseconds(t *testing.T) {
	for text, want := range map[string]time.Duration{`"1m30s"`: 90 * time.Second, "5000000000": 5 * time.Second, `"0s"`: 0} {
		var d Duration
		if err := json.Unmarshal([]byte(text), &d); err != nil || time.Duration(d) != want {
			t.Errorf("%s: %v, %v", text, time.Duration(d), err)
		}
	}
	for _, text := range []string{`"soon"`, "true", "{}", `"5"`} {
		if json.Unmarshal([]byte(text), new(Duration)) == nil {
			t.Errorf("%s is no duration", text)
		}
	}
	if text, err := json.Marshal(Duration(5 * time.Second)); err != nil || string(text) != `"5s"` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestExitCodes(t *testing.T) {
	failing := func(err error) error {
		return Does(func(*cobra.Command, []string) error { return err })(nil, nil)
	}
	for _, c := range []struct {
		err  error
		code int
		says string
	}{
		{failing(nil), ExitOK, ""},
		{failing(errors.New("no disk")), ExitFailure, "p: no disk\n"},
		{errors.New("unknown flag"), ExitUsage, "p: unknown flag\n"},
		{failing(Usage(errors.New("one\ntwo"))), ExitUsage, "p: one\np: two\n"},
		{failing(fmt.Errorf("of a node: %w", Exit{Code: 7})), 7, "p: of a node:\n"},
		{failing(Exit{Code: 7}), 7, ""},
		{Worst(nil, nil), ExitOK, ""},
		{Worst(errors.New("a"), nil, Exit{Code: 3}, Exit{4, errors.New("b")}), 4, "p: a\np: b\n"},
		{Worst(Exit{Code: 3}), 3, ""},
	} {
		var said bytes.Buffer
		if code := Code(c.err, &said, "p"); code != c.code || said.String() != c.says {
			t.Errorf("%v: code %d, %q", c.err, code, said.String())
		}
	}
}

func TestATableTakesFromTheWidestElasticColumn(t *testing.T) {
	long := strings.Repeat("a", 30) + strings.Repeat("z", 30)
	var out bytes.Buffer
	err := WriteTable(&out, 40, []Column{Rigid("ID"), Elastic("NAME", 10), Elastic("OTHER", 5)}, [][]string{{"1", long, "other\x1b[2J"}})
	want := "ID  NAME                       OTHER\n1   aaaaaaaaaaaa..zzzzzzzzzzz  other?[2J\n"
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s, want\n%s", err, out.String(), want)
	}
}

func TestForms(t *testing.T) {
	var f Form
	if err := f.Set("picture"); err == nil || f != "" {
		t.Errorf("%v, form %q", err, f)
	}
	for form, want := range map[Form]string{AsJSON: "{\n  \"a\": 1\n}\n", AsYAML: "a: 1\n", AsTable: "", AsWide: ""} {
		var out bytes.Buffer
		written, err := form.Data(&out, map[string]int{"a": 1})
		if err != nil || out.String() != want || written != (want != "") {
			t.Errorf("%s: %v, %v, %q", form, written, err, out.String())
		}
	}
}
