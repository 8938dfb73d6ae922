package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files anew")

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func start() []Panel {
	var points []Point
	for i, n := range []int64{140, 86, 20, 0, 0, 2, 1} {
		points = append(points, Point{began.Add(time.Duration(i) * time.Second), []int64{n, n / 2}})
	}
	points = append(points, Point{began.Add(time.Minute), []int64{3, 0}})
	return []Panel{
		{Title: `Requests of <nodes> & "others"`, Unit: "requests", Series: []string{"WATCH", "LIST"}, Points: points},
		{Title: "Reflectors", Unit: "reflectors", Series: []string{"reflectors"}},
	}
}

// elements reads a document as a browser would and counts its elements.
func elements(t rapid.TB, document []byte) map[string]int {
	counts := map[string]int{}
	d := xml.NewDecoder(bytes.NewReader(document))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return counts
		}
		if err != nil {
			t.Fatalf("no XML: %v\n%s", err, document)
		}
		if e, ok := token.(xml.StartElement); ok {
			counts[e.Name.Local]++
		}
	}
}

func TestThePictureIsAsDrawnBefore(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, start()); err != nil {
		t.Fatal(err)
	}
	const path = "testdata/start.svg"
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s differs (go test ./pkg/immutable/audit/picture -update)", path)
	}
	counts := elements(t, b.Bytes())
	// Six seconds with WATCHes, four of them with LISTs, and two in the legend.
	if counts["rect"] != 6+4+2 || counts["svg"] != 1 || counts["g"] != 2 {
		t.Errorf("%v", counts)
	}
	for _, part := range []string{"prefers-color-scheme: dark", "currentColor", "peak 210 in one second, 12:00:00", "&lt;nodes&gt; &amp;", "nothing was counted"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("no %q", part)
		}
	}
}

func TestWhateverWasCountedIsDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		series := rapid.SliceOfN(rapid.String(), 1, 8).Draw(t, "series")
		panel := Panel{Title: rapid.String().Draw(t, "title"), Unit: "x", Series: series}
		at := time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "first"), 0).UTC()
		for range rapid.IntRange(0, 50).Draw(t, "points") {
			at = at.Add(time.Duration(rapid.Int64Range(1, 1<<rapid.IntRange(1, 30).Draw(t, "gap")).Draw(t, "seconds")) * time.Second)
			counts := make([]int64, len(series))
			for i := range counts {
				counts[i] = rapid.Int64Range(0, math.MaxUint32).Draw(t, "count")
			}
			panel.Points = append(panel.Points, Point{at, counts})
		}
		var total int64
		for _, p := range panel.Points {
			if n := len(panel.Points); panel.Points[n-1].At.Sub(p.At) <= longest {
				for _, n := range p.Counts {
					total += n
				}
			}
		}
		var drawn int64
		b := panel.bars()
		for _, bar := range b.all {
			drawn += bar.total
		}
		if drawn != total || len(b.all) > maxBars+1 {
			t.Fatalf("%d of %d are drawn, in %d bars", drawn, total, len(b.all))
		}
		var out bytes.Buffer
		if err := Write(&out, []Panel{panel}); err != nil {
			t.Fatal(err)
		}
		elements(t, out.Bytes())
		if strings.Contains(out.String(), "NaN") || strings.Contains(out.String(), "=\"-") {
			t.Fatalf("drawn outside:\n%s", out.String())
		}
	})
}

func TestTheAxisEndsAtARoundNumber(t *testing.T) {
	for n, want := range map[int64]int64{0: 1, 1: 1, 2: 2, 3: 5, 6: 10, 10: 10, 11: 20, 240: 500, 1001: 2000} {
		if got := round(n); got != want {
			t.Errorf("%d: %d, want %d", n, got, want)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestAFullDiskIsTold(t *testing.T) {
	if err := Write(full{}, start()); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}
