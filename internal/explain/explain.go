// Package explain says what is wrong with the arguments of a tool call, all of
// it at once, in sentences that a model can act on.
//
//	schema, err := explain.Compile(tool.InputSchema)
//	report := schema.Explain(req.Params.Arguments, explain.Options{})
//	report.Text() // Argument 'quantity' expected an integer, but received 'five'.
//
// github.com/santhosh-tekuri/jsonschema compiles a schema, that is, it finds out
// what refers to what. The arguments are read and walked here, because a sentence
// needs more than a validator keeps: the order in which the schema declares its
// names, what was sent twice, which form of several was meant. One walk finds
// everything; text is only written for what is wrong.
//
// The schema is trusted and the arguments are not: of the arguments only short
// scalar values are repeated, scrubbed, and none whose name or schema says that
// it is a secret. Time, memory and text are bounded for both.
package explain

import "slices"

// Explain checks the arguments of a call, as JSON, and reports what is wrong. It
// returns nil when nothing is. Arguments that are absent are checked as {}; null
// is a value like any other.
//
// What cannot be checked within bounds, because the schema multiplies itself, is
// reported as wrong and not let through.
func (s *Schema) Explain(args []byte, opts Options) *Report {
	text := "{}"
	if !blank(args) {
		text = string(args)
	}
	d, broken := parse(text)
	if broken == nil && s.valid(d, &opts) {
		return nil
	}
	r := &renderer{text: text, doc: d, opts: &opts, known: s.known}
	if broken != nil {
		rep := newReport(&opts)
		rep.add(r.syntax(broken))
		rep.Example = s.example(nil, &opts)
		return &rep.Report
	}
	w := s.newWalk(d, &opts)
	if s.hides {
		w.hidden = map[int32]bool{}
	}
	for _, n := range d.notes {
		w.fail(finding{rule: n.rule, at: n.at})
	}
	w.descend(s.root, 0)
	switch {
	case len(w.found) > 0:
	case w.steps > w.budget:
		w.fail(finding{rule: ruleBudget})
	default:
		w.fail(finding{rule: ruleOther})
	}
	r.hidden = w.hidden
	return s.report(r, w.found)
}

// valid reports whether nothing is wrong, without finding out what.
func (s *Schema) valid(d *doc, opts *Options) bool {
	if len(d.notes) > 0 {
		return false
	}
	w := s.newWalk(d, opts)
	w.quiet = true
	return w.descend(s.root, 0) && w.steps <= w.budget
}

func (s *Schema) newWalk(d *doc, opts *Options) *walk {
	return &walk{schema: s, doc: d, opts: opts, budget: baseSteps + stepsPerValue*len(d.values)}
}

// report writes what was found, each thing once.
func (s *Schema) report(r *renderer, found []finding) *Report {
	type key struct {
		rule, name, expected string
		at                   int32
	}
	rep := newReport(r.opts)
	seen := make(map[key]bool, len(found))
	missing, required := 0, s.root.allRequired()
	for i := range found {
		f := &found[i]
		k := key{rule: f.rule, name: f.name, at: f.at}
		switch f.rule {
		case "dependentRequired", "dependencies":
			k.rule = "required"
		case "required", "additionalProperties", "unevaluatedProperties", "propertyNames", "false":
		default:
			if f.n != nil {
				k.expected = f.n.expected()
			}
		}
		if seen[k] {
			continue
		}
		seen[k] = true
		if f.rule == "required" && f.at == 0 && f.other == "" && slices.Contains(required, f.name) {
			missing++
		}
		if rep.full() {
			rep.Total++
			continue
		}
		rep.add(r.violation(f))
	}
	if r.doc.values[0].kind != kindObject || 2*missing > len(required) {
		rep.Example = s.example(r, r.opts)
	}
	return &rep.Report
}

// A bounded report takes violations as long as there is room.
type bounded struct {
	Report
	room int // bytes
	most int
}

func newReport(opts *Options) *bounded {
	b := &bounded{room: defaultBytes, most: defaultViolations}
	if opts.MaxViolations > 0 {
		b.most = opts.MaxViolations
	}
	if opts.MaxBytes > 0 {
		b.room = max(opts.MaxBytes, leastBytes)
	}
	b.room -= headBytes
	return b
}

// headBytes is what the first and the last line of a report take.
const headBytes = 64

func (b *bounded) full() bool { return len(b.Violations) >= b.most || b.room <= 0 }

func (b *bounded) add(v Violation) {
	b.Total++
	const around = 4 // "\n- " and a space
	if len(v.Sentence)+len(v.Suggestion)+around > b.room {
		v.Suggestion = ""
	}
	if len(v.Sentence)+around > b.room {
		if len(b.Violations) > 0 {
			b.room = 0
			return
		}
		v.Sentence = cutText(v.Sentence, b.room-around)
		v.Expected = cutText(v.Expected, b.room)
	}
	b.room -= len(v.Sentence) + len(v.Suggestion) + around
	b.Violations = append(b.Violations, v)
}
