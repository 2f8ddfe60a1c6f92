package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A run is one task as one player played it, in one arm. It is kept as a line of JSON.
type run struct {
	seat

	Set      string         `json:"set,omitempty"` // which library, if not that of this tree
	Calls    int            `json:"calls"`
	Failed   int            `json:"failed"`
	Waits    int            `json:"waits"`
	Seconds  float64        `json:"seconds"` // virtual
	Cost     float64        `json:"cost"`
	Truth    map[string]int `json:"truth,omitempty"`
	Verdict  verdict        `json:"verdict"`
	LastWord string         `json:"last_words"`
	Ops      []op           `json:"ops"` // with short texts
}

// arm is the name of the run's arm in tables. The bare SDK is the same in each set.
func (r *run) arm() string {
	if r.Set == "" || r.Arm == arms[0].name {
		return r.Arm
	}
	return r.Arm + " (" + r.Set + ")"
}

// lossCost is the cost of a request that was not fulfilled, in calls. A failed call costs a second time, because it
// has to be read, and ten seconds of waiting cost as much as a call.
const lossCost = 25

// finish judges the run.
func (r *run) finish() error {
	t, ok := taskNamed(r.Task)
	if !ok {
		return errors.New("there is no task " + r.Task)
	}
	r.Verdict = t.judge(r.Truth, r.LastWord)
	r.Cost = float64(r.Calls+r.Failed) + r.Seconds/10
	if !r.Verdict.Success {
		r.Cost += lossCost
	}
	return nil
}

// shorten keeps the begin and the end of a text. What was asked for is of less interest than why it was not given.
func shorten(o *op) {
	most := 120
	if o.Failed {
		most = 400
	}
	if n := len(o.Text); n > most {
		o.Text = strings.ToValidUTF8(o.Text[:most*3/4], "") + " ... " + strings.ToValidUTF8(o.Text[n-most/4:], "")
	}
}

// readLog reads the log of one run. A run that was begun anew counts from there. It returns nil for a run that has
// not ended.
func readLog(raw []byte, set string) (*run, error) {
	r, ended := &run{Set: set}, false
	for line := range bytes.Lines(raw) {
		var o op
		if err := json.Unmarshal(line, &o); err != nil {
			return nil, err
		}
		switch o.Op {
		case "begin":
			*r, ended = run{seat: *o.Begin, Set: set}, false
			continue
		case "call":
			r.Calls++
			if o.Failed {
				r.Failed++
			}
		case "wait":
			r.Waits++
		case "done":
			r.LastWord, r.Truth, r.Seconds, ended = o.Text, o.Truth, o.At, true
			o.Text, o.Truth = "", nil
		}
		shorten(&o)
		r.Ops = append(r.Ops, o)
	}
	if !ended {
		return nil, nil //nolint:nilnil // a run that goes on is not an error
	}
	return r, r.finish()
}

// load returns the runs of directories that build.sh made, and of files of kept runs. It leaves out the player 0,
// and says which runs have not ended.
func load(paths []string) ([]run, error) {
	var runs []run
	for _, path := range paths {
		if strings.HasSuffix(path, ".jsonl") {
			kept, err := readKept(path)
			if err != nil {
				return nil, err
			}
			runs = append(runs, kept...)
			continue
		}
		set, err := os.ReadFile(filepath.Join(path, ".priv", "label"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		logs, err := filepath.Glob(filepath.Join(path, ".priv", "log", "*.jsonl"))
		if err != nil {
			return nil, err
		}
		for _, log := range logs {
			raw, err := os.ReadFile(log)
			if err != nil {
				return nil, err
			}
			r, err := readLog(raw, strings.TrimSpace(string(set)))
			switch {
			case err != nil:
				return nil, err
			case r == nil:
				_, _ = fmt.Fprintln(os.Stderr, "not ended:", filepath.Base(log))
			case r.Player != "0":
				runs = append(runs, *r)
			}
		}
	}
	return runs, nil
}

// readKept reads kept runs and judges them again.
func readKept(file string) ([]run, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var runs []run
	for line := range bytes.Lines(raw) {
		var r run
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if err := r.finish(); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// keep writes runs, one a line.
func keep(runs []run, file string) error {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	for i := range runs {
		if err := lines.Encode(&runs[i]); err != nil {
			return err
		}
	}
	return os.WriteFile(file, b.Bytes(), 0o600)
}

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
func sums(runs []run, arm, task string) []float64 {
	l := make([]float64, len(columns))
	for i := range runs {
		if r := &runs[i]; r.arm() == arm && (task == "" || r.Task == task) {
			for c := range columns {
				l[c] += columns[c].of(r)
			}
		}
	}
	return l
}

// tables writes what became of the runs, as Markdown: the sums of each arm, and the means of a task in each arm.
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
	_, _ = fmt.Fprintf(w, " cost of a run |\n|---|%s\n", strings.Repeat("---|", len(columns)+1))
	for _, a := range names {
		l := sums(runs, a, "")
		_, _ = fmt.Fprintf(w, "| %s |", a)
		for _, sum := range l {
			_, _ = fmt.Fprintf(w, " %.0f |", sum)
		}
		_, _ = fmt.Fprintf(w, " %.1f |\n", l[5]/l[0])
	}
	_, _ = fmt.Fprintf(w, "\n| request | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", max(1, len(names))))
	for _, t := range tasks {
		if !slices.ContainsFunc(runs, func(r run) bool { return r.Task == t.name }) {
			continue
		}
		_, _ = fmt.Fprintf(w, "| %s |", t.kind)
		for _, a := range names {
			l := sums(runs, a, t.name)
			n := max(1, l[0])
			_, _ = fmt.Fprintf(w, " %g of %g; %.1f calls, %.1f failed, %.0f s, %.0f |", l[1], l[0], l[2]/n, l[3]/n, l[4]/n, l[5]/n)
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
