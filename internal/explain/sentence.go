package explain

// A renderer writes findings as violations.
type renderer struct {
	text   string // what the document was read from
	doc    *doc
	opts   *Options
	hidden map[int32]bool
	known  map[string]name // of the schema
	listed map[int32]bool  // the objects whose known names have been listed
}

// violation writes one finding.
func (r *renderer) violation(f *finding) Violation {
	p := r.pathTo(f.at, f.renamed)
	v := Violation{Rule: f.rule}
	switch f.rule {
	case "required", "dependentRequired", "dependencies":
		p = r.missing(f, p, &v)
	case "additionalProperties", "unevaluatedProperties":
		r.unknown(f, p, &v)
	case "propertyNames":
		v.Expected = f.n.expected()
		v.Sentence = r.subject(p) + " has a name that is not allowed: a name must be " + v.Expected + "."
		v.Suggestion = r.advice(f.n, true)
	case "false":
		v.Sentence = r.subject(p) + " " + r.is(p) + " not allowed" + when(f) + "."
	case ruleDuplicate:
		v.Sentence = r.subject(p) + " was sent more than once."
		v.Suggestion = "Send each name once."
	case ruleUTF8:
		v.Sentence = r.subject(p) + " " + r.is(p) + " not valid UTF-8."
	case ruleBudget:
		v.Sentence = r.subject(path{}) + " " + r.is(path{}) + " too large and complex to be checked."
		v.Suggestion = "Send less at once."
	case ruleOther:
		v.Sentence = r.subject(path{}) + " " + r.is(path{}) + " not valid."
	default:
		r.value(f, p, &v)
	}
	v.Field, v.Pointer = p.String(), p.pointer()
	return v
}

// subject names what a sentence is about, at its beginning.
func (r *renderer) subject(p path) string {
	if len(p.segments) == 0 {
		return "The arguments"
	}
	return "Argument " + quoted(p.String())
}

func (r *renderer) is(p path) string {
	if len(p.segments) == 0 {
		return "are"
	}
	return "is"
}

func when(f *finding) string {
	if f.when == "" {
		return ""
	}
	return " when " + f.when
}

// missing writes that a name is required, and returns the path to it.
func (r *renderer) missing(f *finding, p path, v *Violation) path {
	name := f.name
	if f.rule == "required" && f.other != "" {
		p, name = p.parent(), f.other // sent by a misspelled name, which is allowed
	}
	p = p.child(name)
	v.Expected = f.expected
	condition := when(f)
	if f.rule != "required" {
		condition = " when " + quoted(schemaName(f.other)) + " is sent" + condition
	}
	v.Sentence = r.subject(p) + " is required" + condition
	if v.Expected != "" {
		v.Sentence += ": expected " + v.Expected
	}
	v.Sentence += "."
	if f.rule == "required" && f.other != "" {
		v.Suggestion = "You sent " + quoted(strangerName(f.name)) + ": did you mean " + quoted(schemaName(name)) + "?"
	} else if n := f.property(name); n != nil {
		v.Suggestion = r.advice(n, true)
	}
	return p
}

// property returns the schema of a name in the object that f is about.
func (f *finding) property(name string) (found *node) {
	for _, from := range []*node{f.n, f.top} {
		from.follow(maxLook, func(n *node) bool {
			if p := n.props[name]; found == nil && p != nil {
				found = p.node
			}
			return found != nil
		})
	}
	return found
}

// unknown writes that a name is not known.
func (r *renderer) unknown(f *finding, p path, v *Violation) {
	v.Sentence = r.subject(p) + " is unknown" + when(f)
	if f.other != "" {
		meant := quoted(schemaName(f.other))
		v.Sentence += ", and " + meant + " is missing."
		v.Suggestion = "Did you mean " + meant + "?"
		return
	}
	v.Sentence += "."
	v.Suggestion = r.suggestName(f)
}

// value writes that a value is not what is expected.
func (r *renderer) value(f *finding, p path, v *Violation) {
	got := r.received(f.at, p)
	v.Received = got.value
	v.Expected = f.expected
	if v.Expected == "" {
		v.Expected = f.n.expected()
	}
	switch f.rule {
	case "minLength", "maxLength":
		if !p.secret && got.value != nil && f.count > 0 {
			got.words += ", which has " + many(f.count, "character")
		}
	case "minItems", "maxItems":
		got.words = counted(f.count, "list", "item")
	case "minProperties", "maxProperties":
		got.words = counted(f.count, "object", "property")
	case "items", "additionalItems", "unevaluatedItems":
		r.surplus(f, v, &got)
	case "uniqueItems":
		v.Expected = "a list without repeated items"
		got.words = r.repeated(f, p)
	case "contains", "minContains", "maxContains":
		contained(f, v, &got)
	case "not":
		if r.negated(f, p, v) {
			return
		}
	case "anyOf", "oneOf":
		if r.chosen(f, p, v) {
			return
		}
	}
	if v.Suggestion = r.hint(f, p, got); v.Suggestion == "" {
		v.Suggestion = f.fallback(r.doc.values[f.at].name)
	}
	expected := v.Expected + when(f)
	if len(p.segments) == 0 {
		v.Sentence = r.subject(p) + " must be " + expected + ", but were " + got.words + "."
		return
	}
	v.Sentence = r.subject(p) + " expected " + expected + ", but received " + got.words + "."
}

func counted(n int, thing, part string) string {
	article := "a "
	if thing == "object" {
		article = "an "
	}
	if n == 0 {
		return "an empty " + thing
	}
	return article + thing + " with " + many(n, part)
}

// surplus is about items that nothing allows.
func (r *renderer) surplus(f *finding, v *Violation, got *received) {
	most := len(f.n.prefix)
	if f.rule == "unevaluatedItems" {
		most = f.count
	}
	v.Expected = "a list" + counts(f.n.minItems, most, "item")
	if most == 0 {
		v.Expected = "an empty list"
	}
	got.words = counted(int(r.doc.values[f.at].count), "list", "item")
}

// repeated says which items are the same.
func (r *renderer) repeated(f *finding, p path) string {
	var texts []string
	for _, pair := range f.pairs[:min(len(f.pairs), maxPairs)] {
		i, j := p.item(pair[0]).String(), p.item(pair[1]).String()
		texts = append(texts, i+" and "+j+" alike")
	}
	if len(f.pairs) > maxPairs {
		texts = append(texts, "more")
	}
	return "one with " + join(texts, "and")
}

// contained is about how many items fit.
func contained(f *finding, v *Violation, got *received) {
	what := f.n.contains.phrase(maxLook)
	if what == "" {
		what = "what is asked for"
	}
	limit := "at least " + many(f.n.minContains, "item")
	if f.rule == "maxContains" {
		limit = "at most " + many(f.n.maxContains, "item")
	}
	v.Expected = "a list with " + limit + " that " + areIs(limit) + " " + what
	switch f.count {
	case 0:
		got.words = "one without any"
	default:
		got.words = "one with " + itoa(f.count) + " of them"
	}
}

func areIs(limit string) string {
	if limit[len(limit)-1] == 's' {
		return "are"
	}
	return "is"
}
