package report

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/restartpolicy"
)

// markup ends whatever it may stand in, and begins what must not be on a page.
const markup = `"'><script>alert(1)</script></title></style></svg><img src=x onerror=alert(1)>{{.}}` + "\x00\x1b[31m\u202e"

// fill puts a text into every string of a value, and one element into every list.
func fill(v reflect.Value, text string, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, depth+1)
	case reflect.Slice:
		if depth < 12 && v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), text, depth+1)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(at(60)))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), text, depth+1)
			}
		}
	}
}

func filled[T any]() T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), markup, 0)
	return v
}

func TestNoTextOfOthersBecomesMarkup(t *testing.T) {
	s, index := filled[status.Status](), filled[record.Index]()
	src := Sources{
		Node: markup, Version: markup, Status: &s, Records: &index, Notes: []string{markup},
		Acts: []restartpolicy.Act{filled[restartpolicy.Act]()},
		Tail: func(*record.Entry) (string, error) { return markup + "\n" + markup, errors.New(markup) },
	}
	for i, kind := range []timeline.Kind{timeline.Started, timeline.Verdict, timeline.Verdict, timeline.Proxy} {
		l := filled[timeline.Line]()
		l.Kind, l.Time = kind, at(10*(i+1))
		if i == 2 {
			l.Pod = "" // a service
		}
		src.Timeline.Lines = append(src.Timeline.Lines, l)
	}
	src.Acts[0].Began.Wall = at(60)
	class := record.Class("error")
	e := index.Records[0]
	e.Class = class
	index.Records = append(index.Records, e)
	var page bytes.Buffer
	if err := Write(&page, src, from, noon); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), "&lt;script&gt;"); n < 20 {
		t.Errorf("the text is there %d times only", n)
	}
	for z := html.NewTokenizer(&page); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			if !errors.Is(z.Err(), io.EOF) {
				t.Error(z.Err())
			}
			return
		}
		token := z.Token()
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			if strings.ContainsAny(token.Data, "\x00\x1b\u202e") {
				t.Errorf("control characters in %q", token.Data)
			}
			continue
		}
		if token.Data == "script" || token.Data == "img" {
			t.Errorf("<%s>", token.Data)
		}
		for _, a := range token.Attr {
			if strings.HasPrefix(a.Key, "on") || strings.ContainsAny(a.Val, "\x00\x1b\u202e") {
				t.Errorf("<%s %s=%q>", token.Data, a.Key, a.Val)
			}
		}
	}
}
