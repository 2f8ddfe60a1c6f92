package explain

import (
	"strconv"
	"strings"
)

// MaxUnits is the most that Counted returns, apart from the last step.
const MaxUnits = maxWork + maxTold

// Counted explains arguments and returns how much work that was.
func (s *Schema) Counted(args []byte) (*Report, int) {
	r := s.report(false)
	report := r.explain(args)
	return report, maxWork - r.work + maxTold - r.left
}

// Valid reports whether arguments are valid, and have the formats that the schema names.
func (s *Schema) Valid(args []byte) bool {
	d, err := read(args, maxSent)
	return err == nil && s.report(false).valid(d.value)
}

// Text returns the sentences and suggestions of the report as a caller reads them: one line
// for one violation, otherwise a count and a line each.
func (r *Report) Text() string {
	if r == nil || len(r.Violations) == 0 {
		return ""
	}
	lines := make([]string, 0, len(r.Violations)+2)
	for _, v := range r.Violations {
		lines = append(lines, "- "+strings.TrimSpace(v.Message+" "+v.Suggestion))
	}
	if r.Total == 1 {
		return lines[0][len("- "):]
	}
	if more := r.Total - len(r.Violations); more > 0 {
		lines = append(lines, "- and "+strconv.Itoa(more)+" more.")
	}
	count := strconv.Itoa(r.Total)
	if r.More {
		count = "At least " + count
	}
	return count + " things are wrong.\n" + strings.Join(lines, "\n")
}
