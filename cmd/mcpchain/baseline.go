package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/probe"
)

// fingerprint says which finding it is: what was sent and what came back may differ from run to run.
func fingerprint(check string, f probe.Finding) string {
	return strings.Join([]string{check, f.Protocol, f.Subject}, "|")
}

// baselineHead begins the file of a baseline. Each line after it is the fingerprint of a finding. Any line
// may be deleted: then its finding is new.
const baselineHead = "# What mcpchain check leaves out: CHECK|VERSION OF THE PROTOCOL|SUBJECT. A deleted line is found again.\n"

// readBaseline returns the fingerprints in a file. An error names the first line that is not one.
func readBaseline(path string) (known []string, err error) {
	raw, err := os.ReadFile(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, fmt.Errorf("%w; -write-baseline makes it", err)
	}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(raw), "\ufeff")) {
		number++
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.Count(line, "|") < 2:
			return nil, fmt.Errorf("%s is not a baseline: its line %d is %.40q, not CHECK|VERSION|SUBJECT; -write-baseline makes it anew", path, number, line)
		default:
			known = append(known, line)
		}
	}
	return known, nil
}

func writeBaseline(path string, r *probe.Report) error {
	var known []string
	for _, result := range r.Results {
		for _, f := range result.Findings {
			known = append(known, fingerprint(result.Check.Name, f)+"\n")
		}
	}
	slices.Sort(known)
	text := baselineHead + strings.Join(slices.Compact(known), "")
	return os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // it is committed beside the source
}

// leaveOut removes the known findings from a report, and returns how many there were.
func leaveOut(r *probe.Report, known []string) (removed int) {
	defer r.Explain() // what explains others may be left out
	for i, result := range r.Results {
		r.Results[i].Findings = slices.DeleteFunc(slices.Clone(result.Findings), func(f probe.Finding) bool {
			old := slices.Contains(known, strings.TrimSpace(fingerprint(result.Check.Name, f)))
			if old {
				removed++
			}
			return old
		})
	}
	return removed
}
