// Package page writes a report as one HTML file, which loads nothing and runs no script. It is read on a phone,
// in the light and in the dark, and printed.
//
//	var page = page.New(`<p class="lead">{{.Calls}} calls</p>`, nil)
//	err := page.Write(w, "What failed", report)
//
// The style page.css knows plain elements (sections, tables, lists, details, pre) and these classes:
//
//	lead                     the sentence that matters most
//	tiles                    numbers in a row: <dl class="tiles"><div><dt>calls</dt><dd>12</dd></div></dl>
//	bad, warn, note, good    the weight of a tile, of details, of a mark or of a bar
//	mark                     a short word in a box: <span class="mark bad">timeout</span>
//	pair                     two columns, one above the other on a phone
//	wide                     around a table that may be wider than the page
//	bar                      how much of all: <span class="bar" style="--part:{{.Percent}}"></span>
//	number                   a cell that is aligned to the right
//	copy                     a pre or code that one click selects whole
//	quiet                    small and grey
package page

import (
	_ "embed"
	"html/template"
	"io"
	"maps"
)

//go:embed page.html
var frame string

//go:embed page.css
var style string

// Begin is how a page begins.
const Begin = "<!doctype html>"

// A Page is the template of a page. It may be used concurrently.
type Page struct{ whole *template.Template }

// New returns the page with a body, and panics if that is not a template. The functions are for the body, and may be
// nil.
func New(body string, functions template.FuncMap) *Page {
	all := template.FuncMap{"style": func() template.CSS { return template.CSS(style) }} //nolint:gosec // a file of this package
	maps.Copy(all, functions)
	whole := template.Must(template.New("page").Funcs(all).Parse(frame))
	template.Must(whole.New("body").Parse(body))
	return &Page{whole}
}

// Write writes the page, whose body gets data.
func (p *Page) Write(w io.Writer, title string, data any) error {
	return p.whole.Execute(w, struct {
		Title string
		Data  any
	}{title, data})
}
