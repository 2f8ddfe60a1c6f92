package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// short is how many bytes of a text are kept.
const short = 400

func shorten(text string) string {
	if len(text) <= short {
		return text
	}
	return strings.ToValidUTF8(text[:short*3/4], "") + " ... " + strings.ToValidUTF8(text[len(text)-short/4:], "")
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
		o.Text = shorten(o.Text)
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
	slices.SortFunc(runs, func(a, b run) int {
		return strings.Compare(fmt.Sprintf("%4s %s %s", a.Player, a.Task, a.arm()), fmt.Sprintf("%4s %s %s", b.Player, b.Task, b.arm()))
	})
	var b bytes.Buffer
	for i := range runs {
		line, err := json.Marshal(&runs[i])
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	return os.WriteFile(file, b.Bytes(), 0o600)
}
