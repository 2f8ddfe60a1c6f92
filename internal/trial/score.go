package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// columns are the numbers of a run that tables sum up.
var columns = []struct {
	name string
	of   func(*run) float64
}{
	{"runs", func(*run) float64 { return 1 }},
	{"success", func(r *run) float64 { return one(r.Verdict.Success) }},
	{"calls", func(r *run) float64 { return float64(r.Calls) }},
	{"failed calls", func(r *run) float64 { return float64(r.Failed) }},
	{"virtual seconds", func(r *run) float64 { return r.Seconds }},
	{"cost", func(r *run) float64 { return r.Cost }},
	{"waits", func(r *run) float64 { return float64(r.Waits) }},
	{"gave up what would have worked", func(r *run) float64 { return one(r.Verdict.GaveUp) }},
	{"done twice", func(r *run) float64 { return float64(r.Verdict.Doubled) }},
	{"wrong effects", func(r *run) float64 { return float64(r.Verdict.Wrong) }},
	{"false claims", func(r *run) float64 { return one(r.Verdict.False) }},
	{"secrets told", func(r *run) float64 { return one(r.Verdict.Leaked) }},
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// sums returns the sum of each column for an arm, and for one task if it is not "".
func sums(runs []run, arm, task string) []any {
	l := make([]any, len(columns))
	for c := range columns {
		sum := 0.0
		for i := range runs {
			if r := &runs[i]; r.arm() == arm && (task == "" || r.Task == task) {
				sum += columns[c].of(r)
			}
		}
		l[c] = sum
	}
	return l
}

// tables writes what became of the runs, as Markdown: by arm, and by task and arm.
func tables(w io.Writer, runs []run) {
	var names []string
	for _, a := range arms {
		for i := range runs {
			if r := &runs[i]; r.Arm == a.name && !slices.Contains(names, r.arm()) {
				names = append(names, r.arm())
			}
		}
	}
	_, _ = fmt.Fprint(w, "| arm |")
	for _, c := range columns {
		_, _ = fmt.Fprintf(w, " %s |", c.name)
	}
	_, _ = fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(columns)))
	for _, a := range names {
		_, _ = fmt.Fprintf(w, "| "+a+" |"+strings.Repeat(" %.0f |", len(columns))+"\n", sums(runs, a, "")...)
	}
	_, _ = fmt.Fprintf(w, "\n| request | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", max(1, len(names))))
	for _, t := range tasks {
		_, _ = fmt.Fprintf(w, "| %s |", t.kind)
		for _, a := range names {
			_, _ = fmt.Fprintf(w, " %[2]g of %[1]g, %[3]g calls, %[4]g failed, %.0[5]f s, %.0[6]f |", sums(runs, a, t.name)...)
		}
		_, _ = fmt.Fprintln(w)
	}
}

// story writes each run with its calls and its last words, to be read before any figure is used.
func story(w io.Writer, runs []run) {
	slices.SortFunc(runs, func(a, b run) int { return strings.Compare(a.Task+a.arm()+a.Player, b.Task+b.arm()+b.Player) })
	for i := range runs {
		r := &runs[i]
		_, _ = fmt.Fprintf(w, "== %s %s, player %s: success %t, %d calls, %d failed, %.0f s, cost %.0f %v\n",
			r.Task, r.arm(), r.Player, r.Verdict.Success, r.Calls, r.Failed, r.Seconds, r.Cost, r.Verdict.Why)
		for _, o := range r.Ops {
			switch o.Op {
			case "call":
				mark := "  "
				if o.Failed {
					mark = "! "
				}
				_, _ = fmt.Fprintf(w, "%6.0f %s%s %s\n         %s\n", o.At, mark, o.Tool, o.Args, strings.ReplaceAll(o.Text, "\n", "\n         "))
			case "wait":
				_, _ = fmt.Fprintf(w, "%6.0f   waited %g s\n", o.At, o.Wait)
			}
		}
		_, _ = fmt.Fprintf(w, "       > %s\n\n", r.LastWord)
	}
}
