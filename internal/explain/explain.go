// Package explain says what is wrong with the arguments of a tool call, all of it at
// once, in sentences that a model can act on.
//
//	schema, err := explain.Compile(tool.InputSchema)
//	report := schema.Explain(req.Params.Arguments, false)
//	report.Violations[0].Message // Argument 'quantity' expected an integer, but received 'five'.
//
// The SDK's validator decides whether arguments are valid (decide.go), as it does for typed tools. This package
// words the answer. A walk finds all mistakes by the keywords that most tools use. For the others
// (unevaluated..., dependent..., contains, not) one sentence names the place and the keyword.
//
// A schema is read once (compile.go, schema.go) into nodes (node.go). Each step of a report has a file. It reads the
// arguments (read.go) and walks through them and the schema within a bound (walk.go). It chooses the form that was
// meant among those that do not fit (finding.go), and pairs unknown names with known ones (names.go). It writes a
// sentence for each mistake (tell.go, phrase.go) with advice (hint.go). Last, it offers the corrected arguments
// (correct.go, wrapped.go).
//
// The arguments are not trusted. Only short scalar values are repeated, scrubbed. A value is not repeated if its
// name or schema marks a secret. The words of a schema are repeated. A server may relay the schemas of others, so
// their cost is bounded. The walk counts its work: arguments that would take the validator too long are refused as
// too complex. Of very many mistakes it notes the first.
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
	// Violations are in a stable order, at most MaxShown. Each text fits on one line and shows no hidden value.
	// The Message is the whole sentence. The Rule is a keyword of JSON Schema, or "json", "duplicate", "utf8",
	// "surrogate", "depth", "wrapped" or "budget". Received is a scrubbed string, a bool or a json.Number of at
	// most 64 characters, or nil. A Pointer of more than 512 bytes is left out.
	Violations []fault.Violation
	// Total counts all violations, up to MaxCounted.
	Total int
	// More reports that there may be more than Total.
	More bool
	// Corrected are the whole arguments as they were meant: one line of JSON, valid by the schema. Only null and
	// a wrapper around the arguments are left out. It is nil unless every correction is certain and each
	// value may be shown.
	Corrected json.RawMessage
	// Withheld are these arguments, decoded, with words.AsSent in the place of each hidden value. It is nil if
	// there is no such value, if all received values are hidden, or if a hidden value was corrected.
	Withheld map[string]any
	// Tools are the names of tools that stood beside the arguments in a wrapper. The corrected arguments leave them
	// out. They are not certain for a tool of another name.
	Tools []string
}

// A report is a Report that is being written.
type report struct {
	Report
	schema *Schema
	hide   bool // every received value
	args   any  // decoded; correctNames puts known names into them
	mended any  // with all corrections
	work   int  // left for checks
	left   int  // left for notes and sentences
	size   int  // bytes of sentences and suggestions
	told   map[string]bool
	fixes  int
	unsure bool // something has no correction that is certain
}

// Explain checks the arguments of a call, as JSON, and reports what is wrong. It returns
// nil when nothing is. Arguments that are absent are checked as {}; null is a value like
// any other. With hide no received value is shown.
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

// walk returns the mistakes that it finds in the arguments. The error says that they are too complex.
func (r *report) walk() (found []finding, err error) {
	w := walk{work: r.work, report: r}
	_, err = w.run(r.schema.root, r.args)
	if r.work = max(w.work, 0); err != nil {
		return nil, err
	}
	return w.found, nil
}

// check returns the mistakes in the arguments if the validator refuses them.
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

// valid reports whether arguments are valid. It reports false where the work that is left does not suffice.
func (r *report) valid(v any) bool { return r.fit(r.schema.root, v) && r.schema.decide(v) == nil }

// fit reports whether a value is valid by n, as far as the walk knows.
func (r *report) fit(n *node, v any) bool {
	w := walk{work: r.work}
	ok, err := w.run(n, v)
	r.work = max(w.work, 0)
	return ok && err == nil
}

// Defaults returns args with the defaults of the schema filled in, as the SDK does it for typed tools. It fills in
// properties that are missing and not required, also in objects inside. It does not follow references, and does not
// look into lists or the forms of a choice. Absent arguments become an object. Any other text that is not a JSON
// object stays as it is. Numbers stay as they are written. The arguments need not be valid by the schema.
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
