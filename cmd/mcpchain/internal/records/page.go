package records

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/page"
)

//go:embed page.html
var body string

var logPage = page.New(body, template.FuncMap{
	"short": short,
	"text":  func(text string) string { return long(text, 8<<10) },
	"part":  func(n int, of *Summary) float64 { return 100 * float64(n) / float64(max(of.Failures+of.Parts, 1)) },
	"weight": func(g *Group) string {
		switch {
		case g.Level >= 8:
			return "bad"
		case g.Level >= 4:
			return "warn"
		default:
			return "note"
		}
	},
})

// WritePage writes the summary as a page for a browser.
func (s *Summary) WritePage(w io.Writer, name string) error {
	return logPage.Write(w, "What failed: "+name, s)
}
