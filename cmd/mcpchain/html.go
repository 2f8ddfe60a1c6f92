package main

import (
	"bytes"
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
// repeat returns the command that makes some checks again.
func writeHTML(w io.Writer, bare, behind *probe.Report, repeat func(command string, only []string) string, now time.Time) error {
	_, passed, notChecked := counts(bare)
	view := reportView{
		Passed: namesOf(passed), NotChecked: byReason(notChecked), Unchecked: len(notChecked), NotCalled: bare.NotCalled,
		About: []labelled{
			{Label: "server", Value: headline(bare)},
			{Label: "checked with", Value: fmt.Sprintf("mcpchain %s, %s/%s", version(), runtime.GOOS, runtime.GOARCH)},
			{Label: "checked on", Value: now.UTC().Format("2 January 2006 15:04 UTC")},
		},
	}
	var only []string
	if len(bare.Results) < len(probe.Checks()) {
		for _, result := range bare.Results {
			only = append(only, result.Check.Name)
		}
	}
	title, checks, nothing := "How "+cmp.Or(bare.Server, "a server")+" fails", words.Plural(len(bare.Results), "check"), strconv.Itoa(len(passed))
	ours, theirs := grades(bare), []grade{{}, {}, {}}
	if view.Command = repeat("check", only); behind != nil {
		_, quiet, _ := counts(behind)
		title, nothing = title+", bare and behind mcpchain run", nothing+" → "+strconv.Itoa(len(quiet))
		theirs, view.Command = grades(behind), repeat("compare", only)
	}
	found, left, issues := 0, 0, map[string]string{}
	for i, g := range ours {
		found, left = found+len(g.Results), left+len(theirs[i].Results)
		for _, result := range g.Results {
			issues[result.Name] = issueText(bare, result, repeat("check", []string{result.Name}))
		}
	}
	shown := map[string]bool{}
	for i, g := range ours {
		v := gradeView{grade: g, Class: weightClasses[g.Weight]}
		for _, result := range slices.Concat(g.Results, theirs[i].Results) {
			if shown[result.Name] {
				continue
			}
			shown[result.Name] = true
			columns := []columnView{columnOf(bare, "", result.Name)}
			if behind != nil {
				columns = []columnView{columnOf(bare, "bare", result.Name), columnOf(behind, "behind mcpchain run", result.Name)}
			}
			v.Checks = append(v.Checks, checkView{result.Check, whatOf(result.Findings[0]), columns, result.Also, issues[result.Name]})
		}
		view.Grades = append(view.Grades, v)
		tile := labelled{g.Title(), strconv.Itoa(len(g.Results)), v.Class}
		if behind != nil {
			tile.Value += " → " + strconv.Itoa(len(theirs[i].Results))
		}
		if len(v.Checks) == 0 {
			tile.Class = "good"
		}
		view.Tiles = append(view.Tiles, tile)
	}
	view.Tiles = append(view.Tiles, labelled{"nothing found", nothing, "good"})
	if view.Lead = fmt.Sprintf("Of %s, %d find something.", checks, found); behind != nil {
		view.Lead = fmt.Sprintf("Of %s, %d find something in the bare server, and %d behind mcpchain run.", checks, found, left)
	}
	return reportPage.Write(w, title, view)
}

// columnOf returns what a check finds.
func columnOf(r *probe.Report, title, check string) columnView {
	column := columnView{Title: title, None: "nothing is found"}
	for _, result := range r.Results {
		if result.Check.Name != check {
			continue
		}
		if column.Findings = unexplained(result); result.NotChecked != "" {
			column.None = "not checked: " + result.NotChecked
		} else if len(result.Findings) > 0 {
			column.None = "for the same reason as " + result.Findings[0].Because
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
	text := issueOf(r, result.Check, f) + "\n\n" + result.Why + "\n"
	for _, part := range [][2]string{{"Sent", f.Sent}, {"Got", f.Got}, {"To repeat it", command}} {
		if part[1] != "" {
			text += "\n" + part[0] + ":\n\n    " + part[1] + "\n"
		}
	}
	return text
}

// commandLine returns what makes some checks again in a shell, without secrets.
func commandLine(name string, only []string, o probe.Options, hide func(string) string) string {
	line := []string{"mcpchain", name}
	if len(only) > 0 {
		line = append(line, "-only", strings.Join(only, ","))
	}
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
func (f *checkFlag) writeHTMLFile(bare, behind *probe.Report, o probe.Options) error {
	if f.html == "" {
		return nil
	}
	hide := hider(o)
	repeat := func(command string, only []string) string { return commandLine(command, only, o, hide) }
	var b bytes.Buffer
	if err := writeHTML(&b, bare, behind, repeat, time.Now()); err != nil {
		return err
	}
	return os.WriteFile(f.html, b.Bytes(), 0o644) //nolint:gosec // it is made to be sent to others
}
