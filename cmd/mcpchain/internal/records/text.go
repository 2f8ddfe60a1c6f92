package records

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mcpchain/mcpchain/internal/words"
	"github.com/mcpchain/mcpchain/mask"
)

const (
	stamp = "2006-01-02 15:04:05"
	cell  = 100  // characters of a text in a table
	whole = 1000 // bytes of a text below one
)

// Headline says in sentences how much failed.
func (s *Summary) Headline() string {
	headline := fmt.Sprintf("%s to %s: %s", s.From.Format(stamp), s.To.Format(stamp+" -07:00"), words.Plural(s.Failures, "call"))
	if s.Parts > 0 {
		headline += " and " + words.Plural(s.Parts, "part of a call", "parts of calls")
	}
	headline += " failed"
	if s.Unknown > 0 {
		headline += fmt.Sprintf(" (%d with an unknown effect)", s.Unknown)
	}
	if s.Calls == s.Failures {
		return headline + ". No success is recorded: mcpchain run records them with -v."
	}
	return headline + fmt.Sprintf(", %d succeeded.", s.Calls-s.Failures)
}

// WriteText writes the summary for a terminal.
func (s *Summary) WriteText(w io.Writer) {
	fmt.Fprintln(w, s.Headline())
	if s.Others > 0 {
		fmt.Fprintf(w, "%s not a record, and left out.\n", words.Plural(s.Others, "line is", "lines are"))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	rows(table, "WHAT FAILED", s.Failed.Sorted(), func(g *Group) {
		fmt.Fprintf(table, "  %d\t%s\t%s\tlast %s\t%s\n", g.Count, short(g.Name), short(g.Kind), g.Last().Time.Format(stamp), short(g.Last().Text))
	})
	rows(table, "WHAT ELSE WENT WRONG", s.Said.Sorted(), func(g *Group) {
		fmt.Fprintf(table, "  %d\t%s\t%s\tlast %s\t%s\n", g.Count, g.Level, short(g.Name), g.Last().Time.Format(stamp), short(g.Last().Text))
	})
	rows(table, "THE SLOWEST CALLS", s.Slowest, func(r *Record) {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\n", r.Took, short(r.Name), short(r.Kind), r.Time.Format(stamp), short(r.Reference))
	})
	rows(table, "THE NEWEST FAILURES", s.Newest, func(r *Record) {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n", r.Time.Format(stamp), short(r.Name), short(r.Kind), r.Took, short(r.Reference), short(r.Text))
	})
	_ = table.Flush()
	rows(w, "WHAT WOULD HAVE BEEN SENT WITHOUT OBSERVE: "+words.Plural(s.Changed, "answer"), s.Observed.Sorted(), func(g *Group) {
		last := g.Last()
		fmt.Fprintf(w, "  %s, %s: %s, the last %s\n", short(g.Name), short(g.Kind), words.Plural(g.Count, "time"), short(last.Reference))
		fmt.Fprintf(w, "    sent        %s\n    would send  %s\n", indented(last.Get("sent")), indented(last.Get("would_send")))
	})
}

// rows writes a section, if it has anything.
func rows[T any](w io.Writer, title string, all []T, row func(T)) {
	if len(all) > 0 {
		fmt.Fprintf(w, "\n%s\n", title)
	}
	for i, one := range all {
		if i == 2*most {
			fmt.Fprintf(w, "  and %d more, which the page of -html has\n", len(all)-i)
			break
		}
		row(one)
	}
}

// WriteWhole writes all that a record has.
func (r *Record) WriteWhole(w io.Writer) {
	fmt.Fprintf(w, "%s %s %s\n", r.Time.Format(stamp+".000 -07:00"), r.Level, words.Line(r.Message))
	for _, a := range r.Attrs {
		text := words.Clean(strings.NewReplacer("\t", "    ").Replace(a.Value))
		fmt.Fprintf(w, "  %-16s %s\n", words.Line(a.Key), strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 19)))
	}
}

// About reports whether the record is about the call with this reference, or about a part of it.
func (r *Record) About(reference string) bool {
	of := r.Reference
	return of == reference || strings.HasPrefix(of, reference+".")
}

// short and long write what stands in a summary, which is sent to others: without credentials.
func short(text string) string {
	if text = words.Line(words.Clip(text, 64*cell)); text == "" {
		return "-"
	}
	return words.Cut(mask.ScrubCredentials(text), cell)
}

func long(text string, limit int) string {
	return words.Clip(mask.ScrubCredentials(words.Clean(text)), limit)
}

func indented(text string) string {
	return strings.ReplaceAll(long(text, whole), "\n", "\n"+strings.Repeat(" ", 16))
}
