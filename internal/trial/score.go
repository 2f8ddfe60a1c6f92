package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// armsOf returns the arms of runs, those of another library first.
func armsOf(runs []run) []string {
	var names []string
	for _, a := range arms {
		var labelled []string
		for i := range runs {
			if r := &runs[i]; r.Arm == a.name && !slices.Contains(labelled, r.arm()) {
				labelled = append(labelled, r.arm())
			}
		}
		slices.Sort(labelled)
		slices.Reverse(labelled)
		names = append(names, labelled...)
	}
	return names
}

// sums are what a table says of some runs.
type sums struct {
	runs, success, gaveUp, calls, failed, waits, doubled, wrong, false, leaked int
	seconds, cost                                                              float64
}

func sum(runs []run, arm, task string) sums {
	var s sums
	for i := range runs {
		r := &runs[i]
		if r.arm() != arm || task != "" && r.Task != task {
			continue
		}
		s.runs++
		s.calls += r.Calls
		s.failed += r.Failed
		s.waits += r.Waits
		s.doubled += r.Verdict.Doubled
		s.wrong += r.Verdict.Wrong
		s.seconds += r.Seconds
		s.cost += r.Cost
		for _, c := range []struct {
			is bool
			n  *int
		}{{r.Verdict.Success, &s.success}, {r.Verdict.GaveUp, &s.gaveUp}, {r.Verdict.False, &s.false}, {r.Verdict.Leaked, &s.leaked}} {
			if c.is {
				*c.n++
			}
		}
	}
	return s
}

// tables writes what became of the runs, as Markdown: by arm, and by task and arm.
func tables(w io.Writer, runs []run) {
	names := armsOf(runs)
	_, _ = fmt.Fprint(w, "| arm | runs | success | gave up what would have worked | calls | failed calls | waits | virtual seconds | doubled, wrong, false, leaked | cost |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, a := range names {
		s := sum(runs, a, "")
		_, _ = fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %d | %.0f | %d, %d, %d, %d | %.0f |\n",
			a, s.runs, s.success, s.gaveUp, s.calls, s.failed, s.waits, s.seconds, s.doubled, s.wrong, s.false, s.leaked, s.cost)
	}
	_, _ = fmt.Fprintf(w, "\n| task | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, t := range tasks {
		_, _ = fmt.Fprintf(w, "| %s |", t.kind)
		for _, a := range names {
			if s := sum(runs, a, t.name); s.runs > 0 {
				n := float64(s.runs)
				_, _ = fmt.Fprintf(w, " %d of %d; %.1f calls, %.1f failed, %.0f s; %.0f |", s.success, s.runs, float64(s.calls)/n, float64(s.failed)/n, s.seconds/n, s.cost/n)
			} else {
				_, _ = fmt.Fprint(w, " |")
			}
		}
		_, _ = fmt.Fprintln(w)
	}
	_, _ = fmt.Fprintln(w, "\nA cell of the second table: success; calls, failed calls and virtual seconds of a run; its cost.")
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
