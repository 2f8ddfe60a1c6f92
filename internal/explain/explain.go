// Package explain says what is wrong with the arguments of a tool call, all of it at
// once, in sentences that a model can act on.
//
//	schema, err := explain.Compile(tool.InputSchema)
//	report := schema.Explain(req.Params.Arguments, false)
//	report.Violations[0].Message // Argument 'quantity' expected an integer, but received 'five'.
//
// Whether arguments are valid is decided by the validator of the SDK (decide.go), as it has decided before for
// typed tools. Here are the words: what tools use of JSON Schema is walked through to find all that is wrong, of
// the rest (unevaluated..., dependent..., contains, not) a sentence says the place and the keyword.
//
// A schema is read once (compile.go) into nodes (node.go), and what is known of it beside (schema.go). The steps
// of a report, a file each: read the arguments (read.go), walk through them and the schema within a bound
// (walk.go), choose the form that was meant of those that do not fit (finding.go), pair unknown names
// with those that were meant (names.go), write a sentence for each (tell.go, phrase.go) with advice (hint.go), and
// offer the corrected arguments (correct.go, wrapped.go).
//
// The arguments are not trusted. Of these only short scalar values are repeated, scrubbed, and none whose
// name or schema says that it is a secret. The words of a schema are repeated, but what it costs is
// bounded: a server may relay the schemas of others. The work is counted: arguments that would take the
// validator too long are reported as too complex, and so refused, and of very many mistakes only the first
// are looked at.
package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/fault"
)

const (
	// MaxShown is how many violations a report has at most.
	MaxShown = 10
	// MaxCounted is how many violations are counted: there may be more.
	MaxCounted = 1000

	maxSentence = 800  // characters of one
	maxBytes    = 4000 // of all sentences and suggestions
)

// A Report says all that is wrong with the arguments of one call.
type Report struct {
	// Violations are in a stable order, at most MaxShown. All their texts are fit
	// for one line, and hold nothing of what must not be shown. The Message is the whole
	// sentence, the Rule is a keyword of JSON Schema, or "json", "duplicate", "utf8", "surrogate", "depth",
	// "wrapped" or "budget", and what was Received is a string, a bool or a json.Number of at most 64
	// characters, scrubbed, or nil. A Pointer of more than 512 bytes is left out.
	Violations []fault.Violation
	// Total counts the violations, also those that are not shown. It stops
	// counting at MaxCounted.
	Total int
	// More reports that there may be more than Total.
	More bool
	// Corrected are the whole arguments as they were meant, one line of JSON, valid by
	// the schema. They have all that was sent, except for null and what stood around them, and mean the
	// same. It is nil unless every correction is certain and each value may be shown.
	Corrected json.RawMessage
	// Withheld are these arguments, decoded, with words.AsSent in the place of each value that must not be
	// shown. It is nil if there is no such value, if received values are hidden, and if what would be
	// withheld is not what was sent.
	Withheld map[string]any
	// Tools are the names of tools that were sent beside the arguments, in what was around these. They are not
	// part of the corrected arguments, which are not certain for a tool of another name.
	Tools []string
}

// A report is a Report that is being written.
type report struct {
	Report
	schema *Schema
	hide   bool // every received value
	args   any  // with the names that were meant, as soon as these are known
	mended any  // with all corrections
	work   int  // that is left for checks
	left   int  // and for telling
	size   int  // bytes of sentences and suggestions
	told   map[string]bool
	fixes  int
	unsure bool // something has no correction that is certain
}

// Explain checks the arguments of a call, as JSON, and reports what is wrong. It returns
// nil when nothing is. Arguments that are absent are checked as {}; null is a value like
// any other. With hide no received value is told.
func (s *Schema) Explain(args []byte, hide bool) *Report { return s.report(hide).explain(args) }

func (s *Schema) report(hide bool) *report {
	return &report{schema: s, hide: hide, told: map[string]bool{}, work: maxWork, left: maxTold}
}

func (r *report) explain(args []byte) *Report {
	args = orObject(args)
	d, err := read(args, maxSent)
	var found []finding
	if r.args = d.value; err == nil && d.number == nil {
		found, err = r.check()
	}
	switch refused := (*refusal)(nil); {
	case errors.As(err, &refused):
		r.add(fault.Violation{Rule: refused.rule, Expected: refused.expected, Message: "The arguments " + refused.sentence})
		return &r.Report
	case err != nil:
		r.add(fault.Violation{Rule: "json", Expected: "valid JSON", Message: "The arguments are not valid JSON: they " + whereBroken(err, args) + "."})
		return &r.Report
	case d.number != nil:
		r.tell(finding{rule: "budget", at: d.number})
		return &r.Report
	case len(found) == 0 && len(d.notes) == 0:
		return nil
	}
	wrapped := r.unwrapped(d) // before names are corrected
	if r.correctNames(found) {
		if found, err = r.walk(); err != nil {
			r.More = true
		}
	}
	r.mended = r.args
	for _, f := range d.notes {
		r.tell(f)
	}
	slices.SortStableFunc(found, byPlace)
	for _, f := range found {
		r.tell(f)
	}
	var meant *correction
	if len(d.notes) == 0 && len(args) <= 4*maxCorrected {
		meant = r.ordinary()
	}
	if wrapped != nil {
		meant = r.choose(wrapped, meant)
	}
	r.offer(meant)
	return &r.Report
}

// A refusal says why arguments are not checked.
type refusal struct{ rule, expected, sentence string }

func (e *refusal) Error() string { return "they " + e.sentence }

var (
	errDeep = &refusal{"depth", "at most " + strconv.Itoa(maxDepth) + " levels", "are nested more than " + strconv.Itoa(maxDepth) + " levels deep."}
	errSize = &refusal{"budget", "", "are too large to be checked. Send less at once."}
	errWork = &refusal{"budget", "", "are too large and complex to be checked. Send less at once."}
)

// orObject returns an empty object for arguments that are absent.
func orObject(args []byte) []byte {
	if len(bytes.TrimSpace(args)) == 0 {
		return []byte("{}")
	}
	return args
}

func whereBroken(err error, args []byte) string {
	syntax := (*json.SyntaxError)(nil)
	if !errors.As(err, &syntax) || strings.Contains(syntax.Error(), "unexpected end") {
		return "end too early"
	}
	return "stop being JSON at character " + strconv.Itoa(utf8.RuneCount(args[:max(1, syntax.Offset)-1])+1)
}

// walk returns what is known to be wrong with the arguments. The error says that they are too complex.
func (r *report) walk() (found []finding, err error) {
	w := walk{work: r.work, report: r}
	_, err = w.run(r.schema.root, r.args)
	if r.work = max(w.work, 0); err != nil {
		return nil, err
	}
	return w.found, nil
}

// check returns what is wrong with the arguments if the validator says that something is.
func (r *report) check() ([]finding, error) {
	found, err := r.walk()
	if err != nil {
		return nil, err
	}
	invalid := r.schema.decide(r.args)
	switch {
	case invalid == nil:
		return nil, nil
	case len(found) == 0:
		return []finding{r.schema.unknown(invalid)}, nil
	default:
		return found, nil
	}
}

// valid reports whether arguments are valid. They are not if that cannot be found out within what is left of the work.
func (r *report) valid(v any) bool { return r.fit(r.schema.root, v) && r.schema.decide(v) == nil }

// fit reports whether a value is valid by n as far as that is known.
func (r *report) fit(n *node, v any) bool {
	w := walk{work: r.work}
	ok, err := w.run(n, v)
	r.work = max(w.work, 0)
	return ok && err == nil
}

// Defaults returns args with the defaults of the schema filled in, as the SDK does it for
// typed tools: for properties that are
// missing and not required, also in objects that are there or come to be by that; not
// behind references, in lists or in the forms of a choice. Absent arguments become an
// object, and what is no object, or no JSON, stays as it is. Numbers stay as they are
// written. The arguments need not be valid by the schema.
func (s *Schema) Defaults(args []byte) (full []byte) {
	full = orObject(args)
	if !s.defaults {
		return full
	}
	defer func() { _ = recover() }() // a default that the validator did not expect: nothing is filled in
	d, err := read(full, 4*maxSent)
	if object, ok := d.value.(map[string]any); err == nil && ok && s.valid.ApplyDefaults(&object) == nil {
		if raw, err := encode(object); err == nil {
			return raw
		}
	}
	return full
}

// encode writes JSON without the escapes that are for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
