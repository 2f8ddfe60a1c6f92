package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/page"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/probe"
	"github.com/mcpchain/mcpchain/internal/words"
)

//go:embed report.html
var reportBody string

var reportPage = page.New(reportBody, template.FuncMap{
	"capital": words.Capital,
	"join":    func(all []string) string { return strings.Join(all, ", ") },
})

// A reportView is what the page of a report shows.
type reportView struct {
	Lead, Command string
	Tiles, About  []labelled
	Grades        []gradeView
	Passed        []string
	NotChecked    []unchecked
	Unchecked     int
	NotCalled     []string
}

type labelled struct{ Label, Value, Class string }

type gradeView struct {
	grade

	Class  string
	Checks []checkView
}

type checkView struct {
	*probe.Check

	What    string
	Columns []columnView
	Also    []string
	Issue   string
}

type columnView struct {
	Title, None string
	Findings    []probe.Finding
}

var weightClasses = map[probe.Weight]string{probe.User: "bad", probe.Model: "warn", probe.Letter: "note"}

// writeHTML writes the page of a report. behind is the report of the same server behind mcpchain run, nil for none.
func writeHTML(w io.Writer, bare, behind *probe.Report, command string, now time.Time) error {
	_, passed, notChecked := counts(bare)
	view := reportView{
		Command: command, Passed: namesOf(passed), NotChecked: byReason(notChecked), Unchecked: len(notChecked), NotCalled: bare.NotCalled,
		About: []labelled{
			{Label: "server", Value: headline(bare)},
			{Label: "checked with", Value: fmt.Sprintf("mcpchain %s, %s/%s", version(), runtime.GOOS, runtime.GOARCH)},
			{Label: "checked on", Value: now.UTC().Format("2 January 2006 15:04 UTC")},
		},
	}
	ours, theirs := grades(bare), []grade{{}, {}, {}}
	title := "How " + cmp.Or(bare.Server, "a server") + " fails"
	if behind != nil {
		theirs = grades(behind)
		title += ", bare and behind mcpchain run"
	}
	found, left := 0, 0
	for i, g := range ours {
		v := gradeView{grade: g, Class: weightClasses[g.Weight]}
		for _, result := range g.Results {
			check := checkView{
				Check: result.Check, What: whatOf(result.Findings[0]), Also: result.Also,
				Columns: []columnView{{Findings: result.Findings}}, Issue: issueText(bare, result, command),
			}
			if behind != nil {
				check.Columns[0].Title = "bare"
				check.Columns = append(check.Columns, columnOf(behind, result.Name))
			}
			v.Checks = append(v.Checks, check)
		}
		for _, result := range theirs[i].Results { // what mcpchain run is to blame for
			if !slices.ContainsFunc(ours, func(g grade) bool { return g.has(result.Name) }) {
				v.Checks = append(v.Checks, checkView{
					Check: result.Check, What: whatOf(result.Findings[0]), Also: result.Also,
					Columns: []columnView{{Title: "bare", None: "nothing is found"}, columnOf(behind, result.Name)},
				})
			}
		}
		view.Grades = append(view.Grades, v)
		value := strconv.Itoa(len(g.Results))
		if behind != nil {
			value += " → " + strconv.Itoa(len(theirs[i].Results))
		}
		class := v.Class
		if len(v.Checks) == 0 {
			class = "good"
		}
		view.Tiles = append(view.Tiles, labelled{g.Title(), value, class})
		found += len(g.Results)
		left += len(theirs[i].Results)
	}
	nothing := strconv.Itoa(len(passed))
	view.Lead = fmt.Sprintf("Of %s, %d find something.", words.Plural(len(bare.Results), "check"), found)
	if behind != nil {
		_, quiet, _ := counts(behind)
		nothing += " → " + strconv.Itoa(len(quiet))
		view.Lead = fmt.Sprintf("Of %s, %d find something in the bare server, and %d behind mcpchain run.", words.Plural(len(bare.Results), "check"), found, left)
	}
	view.Tiles = append(view.Tiles, labelled{"nothing found", nothing, "good"})
	return reportPage.Write(w, title, view)
}

func (g grade) has(check string) bool {
	return slices.ContainsFunc(g.Results, func(r graded) bool { return r.Name == check })
}

// columnOf returns what a check finds behind mcpchain run.
func columnOf(behind *probe.Report, check string) columnView {
	column := columnView{Title: "behind mcpchain run", None: "nothing is found"}
	for _, result := range behind.Results {
		if result.Check.Name == check {
			column.Findings = merged(result.Findings)
			if result.NotChecked != "" {
				column.None = "not checked: " + result.NotChecked
			}
		}
	}
	return column
}

func whatOf(f probe.Finding) string {
	if f.Subject == "" {
		return f.What
	}
	return f.Subject + ": " + f.What
}

// issueText returns what can be put into an issue of the server as it is.
func issueText(r *probe.Report, result graded, command string) string {
	f := result.Findings[0]
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", issueOf(r, result.Check, f), result.Why)
	for _, part := range [][2]string{{"Sent", f.Sent}, {"Got", f.Got}} {
		if part[1] != "" {
			fmt.Fprintf(&b, "\n%s:\n\n    %s\n", part[0], part[1])
		}
	}
	fmt.Fprintf(&b, "\nTo repeat it:\n\n    %s\n", strings.Replace(command, "mcpchain compare", "mcpchain check", 1))
	return strings.Replace(b.String(), "mcpchain check ", "mcpchain check -only "+result.Name+" ", 1)
}

// commandLine returns what repeats a check in a shell, without secrets.
func commandLine(name string, o probe.Options, hide func(string) string) string {
	line := []string{"mcpchain", name}
	if len(o.Tools) > 0 {
		line = append(line, "-tools", strings.Join(o.Tools, ","))
	}
	if o.Writes {
		line = append(line, "-writes")
	}
	if o.URL != "" {
		line = append(line, "-to", o.URL)
		for header := range o.Header {
			line = append(line, "-header", header+": ...")
		}
	} else {
		line = append(append(line, "--"), o.Command...)
	}
	for i, arg := range line {
		line[i] = quotedArg(hide(arg))
	}
	return strings.Join(line, " ")
}

// bareArg matches what a shell takes as it is.
var bareArg = regexp.MustCompile(`^[\w./:=@%+,-]+$`)

func quotedArg(arg string) string {
	if bareArg.MatchString(arg) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// writable reports early whether a file can be written: the checks take their time.
func writable(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // the user names the file
	if err != nil {
		return err
	}
	return file.Close()
}

// writeHTMLFile writes the page of a report into the file of -html, if there is one.
func (f *checkFlag) writeHTMLFile(bare, behind *probe.Report, command string) error {
	if f.html == "" {
		return nil
	}
	var b strings.Builder
	if err := writeHTML(&b, bare, behind, command, time.Now()); err != nil {
		return err
	}
	return os.WriteFile(f.html, []byte(b.String()), 0o644) //nolint:gosec // it is made to be sent to others
}
