package report

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	product "github.com/nodekeeper/nodekeeper/pkg/report"
)

var anyPage = flag.String("page", "", "check this page, from a real node for example, instead of the made-up ones")

func TestReportPage(t *testing.T) {
	if *anyPage != "" {
		hold(t, browse(t), *anyPage, "page", views...)
		return
	}
	program := build(t)
	browser := browse(t)
	t.Run("a day of a node", func(t *testing.T) {
		n := day(t)
		path := filepath.Join(t.TempDir(), "report.html")
		n.report(program, "--since", "24h", "-o", path)
		hold(t, browser, path, "day", views...)
		told(t, browser, path)
	})
	t.Run("a node of which nothing is known", func(t *testing.T) {
		n := empty(t)
		path := filepath.Join(t.TempDir(), "report.html")
		n.report(program, "-o", path)
		hold(t, browser, path, "empty", views[0], views[3])
	})
	t.Run("hostile text", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "report.html")
		var page bytes.Buffer
		src, from, to := hostile()
		if err := product.Write(&page, src, from, to); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, page.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d bytes", page.Len())
		hold(t, browser, path, "hostile", views[1], views[2])
		harmless(t, browser, path)
	})
}

// hold checks what holds of each page.
func hold(t *testing.T, browser context.Context, path, name string, views ...view) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Size() > product.MaxBytes {
		t.Fatalf("%v, %d bytes", err, info.Size())
	}
	for _, v := range views {
		t.Run(v.String(), func(t *testing.T) {
			b := open(t, browser, path, v)
			b.picture(name + "-" + v.String())
			b.fits("folded", v.width)
			// What is folded is judged too.
			b.do(unfold)
			b.fits("unfolded", v.width)
			b.picture(name + "-unfolded-" + v.String())
			for _, i := range b.judged() {
				if i.Impact == "serious" || i.Impact == "critical" {
					t.Error(i)
				} else {
					t.Log(i)
				}
			}
			for _, text := range b.complaints() {
				t.Error("console: ", text)
			}
		})
	}
	t.Run("paper", func(t *testing.T) {
		b := open(t, browser, path, view{1280, 900, "dark"})
		pdf := b.paper(name)
		if pages := strings.Count(pdf, "/Type /Page\n") + strings.Count(pdf, "/Type /Page/"); !strings.HasPrefix(pdf, "%PDF-") || pages < 1 || pages > 100 {
			t.Errorf("%d pages, %.8q", pages, pdf)
		}
	})
}
