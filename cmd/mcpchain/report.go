package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/probe"
	"github.com/mcpchain/mcpchain/internal/words"
)

// reportFormats write a report, each in one format.
var reportFormats = map[string]func(w io.Writer, r *probe.Report) error{
	"table": func(w io.Writer, r *probe.Report) error { return writeTable(w, r, maxRows, paintOf(w)) },
	"json":  writeJSON,
	"junit": writeJUnit,
	"sarif": func(w io.Writer, r *probe.Report) error { return writeSARIF(w, r, noPlace) },
}

// counts sorts the results of a report.
func counts(r *probe.Report) (found, passed, notChecked []probe.Result) {
	for _, result := range r.Results {
		switch {
		case len(result.Findings) > 0:
			found = append(found, result)
		case result.NotChecked != "":
			notChecked = append(notChecked, result)
		default:
			passed = append(passed, result)
		}
	}
	return found, passed, notChecked
}

func headline(r *probe.Report) string {
	return fmt.Sprintf("%s over %s, %s", cmp.Or(r.Server, "a server without a name"), r.Transport, strings.Join(r.Protocols, " and "))
}

// maxRows is how many findings of a check the table shows, maxCell how much of a message.
const (
	maxRows = 3
	maxCell = 160
)

// A grade is what has one weight in a report: checks with their findings, but for those that others explain.
type grade struct {
	Weight  probe.Weight
	Results []graded
}

type graded struct {
	*probe.Check

	Findings []probe.Finding
	Also     []string // checks that find something for the same reason
}

// weightTitles say what the grades are.
var weightTitles = map[probe.Weight]string{
	probe.User:   "what a user notices",
	probe.Model:  "what a model cannot act on",
	probe.Letter: "the letter of the protocol",
}

func (g grade) Title() string { return weightTitles[g.Weight] }

// unexplained returns the findings that no other check explains, the heaviest first.
func unexplained(result probe.Result) []probe.Finding {
	some := merged(slices.DeleteFunc(slices.Clone(result.Findings), func(f probe.Finding) bool { return f.Because != "" }))
	slices.SortStableFunc(some, func(a, b probe.Finding) int { return rank(a) - rank(b) })
	return some
}

func rank(f probe.Finding) int { return slices.Index(probe.Weights, f.Weight) }

// grades returns the three grades of a report, the heaviest first. A check stands in that of its heaviest finding.
func grades(r *probe.Report) (all []grade) {
	also := map[string][]string{}
	for _, result := range r.Results {
		for _, f := range result.Findings {
			if f.Because != "" && !slices.Contains(also[f.Because], result.Check.Name) {
				also[f.Because] = append(also[f.Because], result.Check.Name)
			}
		}
	}
	for _, weight := range probe.Weights {
		all = append(all, grade{Weight: weight})
	}
	for _, result := range r.Results {
		if findings := unexplained(result); len(findings) > 0 {
			g := &all[max(0, rank(findings[0]))]
			g.Results = append(g.Results, graded{result.Check, findings, also[result.Check.Name]})
		}
	}
	return all
}

// issueOf returns the sentences to put into an issue of the server.
func issueOf(r *probe.Report, check *probe.Check, f probe.Finding) string {
	what := f.What
	if f.Subject != "" {
		what = f.Subject + ": " + what
	}
	return fmt.Sprintf("%s (MCP %s over %s): %s Expected: %s", cmp.Or(r.Server, "the server"), f.Protocol, r.Transport, what, check.Title)
}

// writeTable writes a report for a person, with so many findings of each check; negative means all, of all grades.
// Else it shows those of the heaviest grade, and names the others.
func writeTable(w io.Writer, r *probe.Report, rows int, p paint) error {
	var b bytes.Buffer
	found, passed, notChecked := counts(r)
	fmt.Fprintf(&b, "%s: %s in %s\n", headline(r), words.Plural(len(r.Results), "check"), r.Took.Round(time.Second/10))
	shown := false
	for _, g := range grades(r) {
		if len(g.Results) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s", p.weight(g.Weight, strings.ToUpper(g.Title())))
		if shown && rows >= 0 {
			names := make([]string, len(g.Results))
			for i, result := range g.Results {
				names[i] = result.Name
			}
			fmt.Fprintf(&b, " (-v shows it)%s\n", indented(names))
			continue
		}
		shown = true
		fmt.Fprintln(&b)
		for _, result := range g.Results {
			writeGraded(&b, r, result, rows, p)
		}
	}
	fmt.Fprintf(&b, "\n%d found something, %d found nothing, %d could not be checked", len(found), len(passed), len(notChecked))
	if rows >= 0 {
		fmt.Fprint(&b, "; -v names them")
	} else {
		fmt.Fprintf(&b, "\nfound nothing%s", indented(namesOf(passed)))
		for _, some := range byReason(notChecked) {
			fmt.Fprintf(&b, "\nnot checked, because %s%s", some.Reason, indented(some.Names))
		}
	}
	fmt.Fprintln(&b)
	if len(r.NotCalled) > 0 {
		fmt.Fprintf(&b, "tools not called, because nothing marks them as reading (-tools or -writes calls them)%s\n", indented(r.NotCalled))
	}
	_, err := b.WriteTo(w)
	return err
}

func writeGraded(b *bytes.Buffer, r *probe.Report, result graded, rows int, p paint) {
	fmt.Fprintf(b, "\n%s  %s\n", p.bold(strings.ToUpper(result.Name)), result.Title)
	for i, f := range result.Findings {
		if rows >= 0 && i == rows {
			fmt.Fprintf(b, "  - and %d more, which -v shows\n", len(result.Findings)-rows)
			break
		}
		what := f.What
		if f.Subject != "" {
			what = f.Subject + ": " + what
		}
		if len(r.Protocols) > 1 {
			what += " (" + f.Protocol + ")"
		}
		fmt.Fprintf(b, "  - %s\n", what)
		if f.Sent != "" {
			fmt.Fprintf(b, "    sent  %s\n", p.quiet(cell(f.Sent, rows)))
		}
		if f.Got != "" {
			fmt.Fprintf(b, "    got   %s\n", p.quiet(cell(f.Got, rows)))
		}
	}
	fmt.Fprintf(b, "  why it matters: %s\n", result.Why)
	if len(result.Also) > 0 {
		fmt.Fprintf(b, "  explains: %s\n", strings.Join(result.Also, ", "))
	}
	fmt.Fprintf(b, "  for an issue: %s\n", issueOf(r, result.Check, result.Findings[0]))
}

// unchecked are checks that were not made for one reason.
type unchecked struct {
	Reason string
	Names  []string
}

func byReason(notChecked []probe.Result) (all []unchecked) {
	for _, result := range notChecked {
		i := slices.IndexFunc(all, func(u unchecked) bool { return u.Reason == result.NotChecked })
		if i < 0 {
			i, all = len(all), append(all, unchecked{Reason: result.NotChecked})
		}
		all[i].Names = append(all[i].Names, result.Check.Name)
	}
	return all
}

func cell(text string, rows int) string {
	if rows < 0 || len(text) <= maxCell {
		return text
	}
	return strings.ToValidUTF8(text[:maxCell], "") + " ..."
}

// merged joins findings that differ only in the version of the protocol.
func merged(all []probe.Finding) []probe.Finding {
	var joined []probe.Finding
	for _, f := range all {
		i := slices.IndexFunc(joined, func(g probe.Finding) bool { return g.Subject == f.Subject && g.What == f.What })
		if i < 0 {
			joined = append(joined, f)
		} else if !strings.Contains(joined[i].Protocol, f.Protocol) {
			joined[i].Protocol += ", " + f.Protocol
		}
	}
	return joined
}

func namesOf(results []probe.Result) []string {
	names := make([]string, len(results))
	for i, result := range results {
		names[i] = result.Check.Name
	}
	return names
}

// indented writes a list behind a colon, in lines of about a hundred characters.
func indented(items []string) string {
	if len(items) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(":")
	width := 100
	for i, item := range items {
		if width += len(item) + 2; width > 100 {
			b.WriteString("\n    ")
			width = len(item)
		} else {
			b.WriteString(" ")
		}
		b.WriteString(item)
		if i < len(items)-1 {
			b.WriteString(",")
		}
	}
	return b.String()
}

// The JSON of a report. Its members stay; new ones may come.
type reportJSON struct {
	Version   int         `json:"version"`
	Server    string      `json:"server"`
	Transport string      `json:"transport"`
	Protocols []string    `json:"protocols"`
	Seconds   float64     `json:"seconds"`
	Checks    []checkJSON `json:"checks"`
	NotCalled []string    `json:"tools_not_called,omitempty"`
}

type checkJSON struct {
	Name       string          `json:"name"`
	Title      string          `json:"title"`
	Why        string          `json:"why"`
	Outcome    string          `json:"outcome"` // found, passed or not_checked
	NotChecked string          `json:"not_checked,omitempty"`
	Findings   []probe.Finding `json:"findings,omitempty"`
}

func asJSON(r *probe.Report) reportJSON {
	out := reportJSON{
		Version: 1, Server: r.Server, Transport: r.Transport, Protocols: r.Protocols,
		Seconds: r.Took.Round(time.Millisecond).Seconds(), NotCalled: r.NotCalled,
	}
	for _, result := range r.Results {
		outcome := "passed"
		switch {
		case len(result.Findings) > 0:
			outcome = "found"
		case result.NotChecked != "":
			outcome = "not_checked"
		}
		out.Checks = append(out.Checks, checkJSON{
			Name: result.Check.Name, Title: result.Check.Title, Why: result.Check.Why,
			Outcome: outcome, NotChecked: result.NotChecked, Findings: result.Findings,
		})
	}
	return out
}

func writeJSON(w io.Writer, r *probe.Report) error { return indentedJSON(w, asJSON(r)) }

func indentedJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// writeJUnit writes a test case for each check.
func writeJUnit(w io.Writer, r *probe.Report) error {
	type message struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type testCase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *message `xml:"failure"`
		Skipped *message `xml:"skipped"`
	}
	type suite struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Time     string     `xml:"time,attr"`
		Cases    []testCase `xml:"testcase"`
	}
	found, _, notChecked := counts(r)
	s := suite{Name: "mcpchain check: " + r.Server, Tests: len(r.Results), Failures: len(found), Skipped: len(notChecked), Time: fmt.Sprintf("%.3f", r.Took.Seconds())}
	for _, result := range r.Results {
		c := testCase{Class: "mcpchain." + r.Transport, Name: result.Check.Name}
		switch {
		case len(result.Findings) > 0:
			var text strings.Builder
			for _, f := range result.Findings {
				fmt.Fprintf(&text, "%s\n", sentenceOf(f))
				if f.Sent != "" {
					fmt.Fprintf(&text, "  sent  %s\n", f.Sent)
				}
				if f.Got != "" {
					fmt.Fprintf(&text, "  got   %s\n", f.Got)
				}
			}
			text.WriteString(result.Check.Why)
			c.Failure = &message{Message: result.Check.Title, Text: text.String()}
		case result.NotChecked != "":
			c.Skipped = &message{Message: result.NotChecked}
		}
		s.Cases = append(s.Cases, c)
	}
	out, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, out)
	return err
}

// sentenceOf writes a finding in one line.
func sentenceOf(f probe.Finding) string {
	if f.Subject == "" {
		return fmt.Sprintf("%s (%s)", f.What, f.Protocol)
	}
	return fmt.Sprintf("%s: %s (%s)", f.Subject, f.What, f.Protocol)
}
