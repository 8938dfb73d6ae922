package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

// Write writes the page about the time between from and to, which must be
// later, in the time zone of to. Where the sources hold too much for one page
// it shows less of everything, and says so.
func Write(w io.Writer, src Sources, from, to time.Time) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(pageStyle) },
		"count": count,
	}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	var page bytes.Buffer
	for most := generous(); ; most = most.half() {
		page.Reset()
		if err := t.Execute(&page, of(src, axis{from.In(to.Location()), to, most})); err != nil {
			return fmt.Errorf("page: %w", err)
		}
		if page.Len() <= MaxBytes || most == most.half() {
			break
		}
	}
	_, err = w.Write(append(bytes.TrimSpace(page.Bytes()), '\n'))
	return err
}
