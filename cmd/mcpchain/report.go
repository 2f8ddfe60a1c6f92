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
)

// reportFormats write a report, each in one format.
var reportFormats = map[string]func(w io.Writer, r *probe.Report) error{
	"table": func(w io.Writer, r *probe.Report) error { return writeTable(w, r, maxRows) },
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

// writeTable writes a report for a person, with so many findings of each check; negative means all.
func writeTable(w io.Writer, r *probe.Report, rows int) error {
	var b bytes.Buffer
	found, passed, notChecked := counts(r)
	fmt.Fprintf(&b, "%s: %d checks in %s\n", headline(r), len(r.Results), r.Took.Round(time.Second/10))
	for _, result := range found {
		fmt.Fprintf(&b, "\n%s  %s\n", strings.ToUpper(result.Check.Name), result.Check.Title)
		all := merged(result.Findings)
		for i, f := range all {
			if rows >= 0 && i == rows {
				fmt.Fprintf(&b, "  - and %d more, which -v shows\n", len(all)-rows)
				break
			}
			what := f.What
			if f.Subject != "" {
				what = f.Subject + ": " + what
			}
			if len(r.Protocols) > 1 {
				what += " (" + f.Protocol + ")"
			}
			fmt.Fprintf(&b, "  - %s\n", what)
			if f.Sent != "" {
				fmt.Fprintf(&b, "    sent  %s\n", cell(f.Sent, rows))
			}
			if f.Got != "" {
				fmt.Fprintf(&b, "    got   %s\n", cell(f.Got, rows))
			}
		}
		fmt.Fprintf(&b, "  why it matters: %s\n", result.Check.Why)
	}
	fmt.Fprintf(&b, "\n%d found something", len(found))
	fmt.Fprintf(&b, "\n%d found nothing%s", len(passed), indented(namesOf(passed)))
	if len(notChecked) > 0 {
		fmt.Fprintf(&b, "\n%d not checked:", len(notChecked))
		reasons := map[string][]probe.Result{}
		var order []string
		for _, result := range notChecked {
			if reasons[result.NotChecked] == nil {
				order = append(order, result.NotChecked)
			}
			reasons[result.NotChecked] = append(reasons[result.NotChecked], result)
		}
		for _, reason := range order {
			fmt.Fprintf(&b, "\n  %s%s", reason, indented(namesOf(reasons[reason])))
		}
	}
	fmt.Fprintln(&b)
	if len(r.NotCalled) > 0 {
		fmt.Fprintf(&b, "tools not called, because nothing marks them as reading (-tools or -writes calls them)%s\n", indented(r.NotCalled))
	}
	_, err := b.WriteTo(w)
	return err
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
