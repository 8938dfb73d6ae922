package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/nodekeeper/nodekeeper/test/report/axe"
)

// patience bounds what is asked of the browser for one page.
const patience = 60 * time.Second

// browse starts the browser.
func browse(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-dev-shm-usage", true))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium (go run ./prepare): %v", err)
	}
	return ctx
}

// view is one way to look at a page.
type view struct {
	width, height int64
	scheme        string
}

func (v view) String() string { return fmt.Sprintf("%d-%s", v.width, v.scheme) }

var views = []view{{1280, 900, "light"}, {1280, 900, "dark"}, {390, 844, "light"}, {390, 844, "dark"}}

// tab is a page in the browser.
type tab struct {
	*testing.T
	ctx context.Context

	saidLock sync.Mutex // guards said
	said     []string
}

// open shows a file.
func open(t *testing.T, browser context.Context, path string, v view) *tab {
	t.Helper()
	b := &tab{T: t}
	ctx, end := chromedp.NewContext(browser, chromedp.WithListener(b.hear))
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	t.Cleanup(stop)
	b.ctx = ctx
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, enabled := cdp.Call(ctx, t, log.Enable, cdp.Empty{})
		_, sized := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: v.width, Height: v.height, DeviceScaleFactor: 1, Mobile: v.width < 600})
		_, coloured := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.scheme}}})
		return errors.Join(enabled, sized, coloured)
	}), chromedp.Navigate("file://"+path), chromedp.WaitReady(chromedp.CSS("main")))
	return b
}

// hear takes down what the browser complains about.
func (b *tab) hear(event any) {
	text := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text = e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			text = fmt.Sprint(e.Type, " ", len(e.Args), " arguments")
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			text = fmt.Sprint(e.Entry.Level, " ", e.Entry.Text)
		}
	}
	if text != "" {
		b.saidLock.Lock()
		defer b.saidLock.Unlock()
		b.said = append(b.said, text)
	}
}

func (b *tab) complaints() []string {
	b.saidLock.Lock()
	defer b.saidLock.Unlock()
	return b.said
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// give is what an action gives.
func give[V any](b *tab, action chromedp.Action[V]) V {
	b.Helper()
	v, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// eval gives the value of an expression.
func eval[V any](b *tab, expression string) V {
	b.Helper()
	return give(b, chromedp.Evaluate[V](expression))
}

// issue is what axe-core found.
type issue struct {
	ID     string `json:"id"`
	Impact string `json:"impact"`
	Help   string `json:"help"`
	Nodes  []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// judged is what axe-core says of the page as it is shown.
func (b *tab) judged() []issue {
	b.Helper()
	path, err := axe.Path()
	if err != nil {
		b.Fatal(err)
	}
	script, err := os.ReadFile(path)
	if err != nil {
		b.Fatalf("axe-core (go run ./prepare): %v", err)
	}
	b.do(chromedp.Evaluate[chromedp.Void](string(script)))
	text := give(b, chromedp.Evaluate[string](`axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations))`, chromedp.EvalAwaitPromise))
	var issues []issue
	if err := json.Unmarshal([]byte(text), &issues); err != nil {
		b.Fatal(err)
	}
	return issues
}

// maxPicture is how long a picture may be; of longer pages it shows the top.
const maxPicture = 16_000

// picture saves what the whole page looks like.
func (b *tab) picture(name string) {
	b.Helper()
	take := chromedp.FullScreenshot(100)
	if eval[int](b, "document.documentElement.scrollHeight") > maxPicture {
		take = chromedp.CaptureScreenshot()
	}
	b.save(name+".png", give(b, take))
}

// paper prints the page and returns the PDF.
func (b *tab) paper(name string) string {
	b.Helper()
	pdf := give(b, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize()))
	b.save(name+".pdf", pdf)
	return string(pdf)
}

// output is where pictures go.
const output = "../../_output/report"

func (b *tab) save(name string, data []byte) {
	b.Helper()
	if err := errors.Join(os.MkdirAll(output, 0o755), os.WriteFile(filepath.Join(output, name), data, 0o644)); err != nil {
		b.Fatal(err)
	}
}

func (i issue) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s", i.ID, i.Impact, i.Help)
	for _, n := range i.Nodes[:min(3, len(i.Nodes))] {
		fmt.Fprintf(&b, "\n\t%.200s\n\t%.300s", n.HTML, strings.ReplaceAll(n.Summary, "\n", " "))
	}
	return b.String()
}
