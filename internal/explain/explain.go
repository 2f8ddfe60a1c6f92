// Package explain says what is wrong with the arguments of a tool call, all of it at
// once, in sentences that a model can act on.
//
//	schema, err := explain.Compile(tool.InputSchema)
//	report := schema.Explain(req.Params.Arguments, false)
//	report.Violations[0].Message // Argument 'quantity' expected an integer, but received 'five'.
//
// A schema is read once (draft.go, resource.go, compile.go) into nodes (node.go), and what is known of it
// beside (schema.go). The steps of a report, a file each: read the arguments (read.go), walk through them
// and the schema within a bound (walk.go, members.go, pattern.go, format.go), choose the form that was
// meant of those that do not fit (finding.go), pair unknown names with those that were meant (names.go),
// write a sentence for each (tell.go, phrase.go) with advice (hint.go), and offer the corrected arguments
// (correct.go, wrapped.go).
//
// The arguments are not trusted. Of these only short scalar values are repeated, scrubbed, and none whose
// name or schema says that it is a secret. The words of a schema are repeated, but what it costs is
// bounded: a server may relay the schemas of others. The work is counted: arguments that would take longer
// than about 50 ms are reported as too complex, and so refused, and of very many mistakes only the first
// are looked at.
package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
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

	maxSentence = 800  // bytes of one
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
// any other. With hide no received value is told. It takes at most about 50 ms for 1 MiB of
// arguments.
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
		if found, err = r.check(); err != nil {
			r.More = true
		}
	}
	r.mended = r.args
	for i := range d.notes {
		r.tell(d.notes[i])
	}
	for _, f := range sorted(found, byPlace) {
		r.tell(*f)
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

// check returns what is wrong with the arguments, in order. The error says that they are too complex.
func (r *report) check() ([]finding, error) {
	w := walk{work: r.work}
	valid, err := w.run(r.schema.root, r.args)
	if err == nil && !valid {
		w = walk{work: w.work, report: r}
		_, err = w.run(r.schema.root, r.args)
		r.More = r.left < 0
	}
	r.work = max(w.work, 0)
	if err != nil || valid {
		return nil, err
	}
	if found := r.looked(w.found); len(found) > 0 {
		return found, nil
	}
	return []finding{{rule: "schema"}}, nil
}

// valid reports whether a value is valid by n for every validator, which it is not if that cannot be found
// out within what is left of the work.
func (r *report) valid(n *node, v any) bool {
	w := walk{work: r.work, careful: true}
	ok, err := w.run(n, v)
	r.work = max(w.work, 0)
	return ok && err == nil
}

// Defaults returns args with the defaults of the schema filled in, as the SDK does it for
// typed tools (ApplyDefaults of github.com/google/jsonschema-go): for properties that are
// missing and not required, also in objects that are there or come to be by that; not
// behind references, in lists or in the forms of a choice. Absent arguments become an
// object, and what is no object, or no JSON, stays as it is. Numbers stay as they are
// written. The arguments need not be valid by the schema.
func (s *Schema) Defaults(args []byte) []byte {
	args = orObject(args)
	if s.tree == nil {
		return args
	}
	d, err := read(args, 4*maxSent)
	if object, ok := d.value.(map[string]any); err == nil && ok {
		full, _ := filled(object, s.tree)
		if raw, err := encode(full); err == nil {
			return raw
		}
	}
	return args
}

// filled returns an object with the defaults of a schema, which are shared with it. It
// reports whether the schema has any.
func filled(object map[string]any, schema any) (full map[string]any, found bool) {
	s, _ := schema.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	required := map[string]bool{}
	for _, name := range textsOf(s["required"]) {
		required[name] = true
	}
	full = map[string]any{}
	maps.Copy(full, object)
	for name, sub := range properties {
		p, _ := sub.(map[string]any)
		value, sent := object[name]
		standard, has := p["default"]
		if !sent {
			value = standard
		}
		inner, isObject := value.(map[string]any)
		inner, inside := filled(inner, p)
		found = found || has || inside
		switch {
		case required[name]:
		case isObject || !sent && !has && inside:
			full[name] = inner
		case has:
			full[name] = value
		}
	}
	return full, found
}

// encode writes JSON without the escapes that are for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
