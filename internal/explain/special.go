package explain

import (
	"strings"
	"unicode/utf8"
)

// ruleOther is for what is wrong by no keyword that could be told.
const ruleOther = "schema"

// negated writes what must not be. It reports whether the sentence is complete.
func (r *renderer) negated(f *finding, p path, v *Violation) bool {
	not := f.n.not
	if len(not.required) > 0 && not.onlyRequires() {
		names := r.names(p, not.required)
		v.Sentence = "Argument " + names[0] + " is not allowed" + when(f) + "."
		if len(names) > 1 {
			v.Sentence = "Arguments " + join(names, "and") + " cannot be sent together" + when(f) + "."
			v.Suggestion = "Leave one of them out."
		}
		v.Received, v.Expected = nil, ""
		return true
	}
	what := not.phrase(maxLook)
	if what == "" {
		v.Expected = ""
		v.Sentence = r.subject(p) + " " + r.has(p) + " a value that is not allowed" + when(f) + "."
		return true
	}
	v.Expected = "anything but " + what
	return false
}

func (r *renderer) has(p path) string {
	if r.is(p) == "are" {
		return "have"
	}
	return "has"
}

// names writes names of members of the object that p leads to.
func (r *renderer) names(p path, names []string) []string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = quoted(p.child(name).String())
	}
	return texts
}

// chosen writes that none or too many forms of a choice fit. It reports whether
// the sentence is complete.
func (r *renderer) chosen(f *finding, p path, v *Violation) bool {
	if f.choice.sets != nil && r.doc.values[f.at].kind == kindObject {
		r.chosenNames(f, p, v)
		return true
	}
	if len(f.pairs) == 0 {
		if v.Expected = f.choice.phrase(maxLook); v.Expected == "" {
			v.Expected = f.n.expected()
		}
		if v.Expected = line(v.Expected, maxPhrase); v.Expected == "another value" {
			v.Expected = "one of the forms that its description allows"
		}
		return false
	}
	i, j := f.pairs[0][0], f.pairs[0][1]
	a, b := f.choice.branches[i].label(), f.choice.branches[j].label()
	v.Expected = "a value of exactly one of " + itoa(len(f.choice.branches)) + " forms"
	fits := ", but it fits several of them"
	if a != "" && b != "" && a != b {
		fits = ", but it is both " + a + " and " + b
	}
	v.Received = nil
	v.Sentence = r.subject(p) + " expected " + v.Expected + when(f) + fits + "."
	return true
}

// label names a form of a choice.
func (n *node) label() string {
	if title := n.told().title; title != "" {
		return quoted(schemaName(title))
	}
	return n.phrase(maxLook)
}

// chosenNames is about forms that differ in the names that they require.
func (r *renderer) chosenNames(f *finding, p path, v *Violation) {
	v.Received = nil
	var texts []string
	for i, set := range f.choice.sets {
		if i == maxAllowed {
			break
		}
		texts = append(texts, join(r.names(p, set), "and"))
	}
	both := strings.Contains(strings.Join(texts, ""), " and ")
	word := "or"
	if both && len(texts) > 1 {
		word = "or else"
	}
	what := join(texts, word)
	count := "At least one of "
	v.Expected = "at least one of " + what
	if f.choice.rule == "oneOf" {
		count, v.Expected = "Exactly one of ", "exactly one of "+what
	}
	if len(texts) == 1 {
		count, v.Expected = "", what
		what = "Argument " + what
	}
	v.Sentence = count + what + " is required" + when(f) + "."
	if len(f.pairs) > 0 {
		i, j := f.pairs[0][0], f.pairs[0][1]
		were := texts[min(i, len(texts)-1)] + " and " + texts[min(j, len(texts)-1)] + " were"
		if len(texts) == 2 {
			were = "both were"
		}
		v.Sentence = "Only one of " + what + " may be sent" + when(f) + ", but " + were + "."
		v.Suggestion = "Leave one of them out."
	}
}

// syntax writes that the arguments are no JSON.
func (r *renderer) syntax(e *syntaxError) Violation {
	v := Violation{Rule: e.rule}
	all := r.subject(path{}) + " " + r.is(path{})
	if e.rule == ruleDepth {
		v.Expected = "at most " + itoa(maxDepth) + " levels"
		v.Sentence = all + " nested more than " + itoa(maxDepth) + " levels deep."
		return v
	}
	if e.rule == ruleBudget {
		v.Sentence = all + " too large to be checked."
		v.Suggestion = "Send less at once."
		return v
	}
	v.Expected = "valid JSON"
	v.Sentence = all + " not valid JSON: " + e.what + ", at character " + itoa(utf8.RuneCountInString(r.text[:e.offset])+1)
	if e.at > 0 && int(e.at) < len(r.doc.values) {
		if p := r.broken(e.at); p != "" {
			v.Sentence += ", near " + quoted(p)
		}
	}
	v.Sentence += "."
	return v
}

// broken finds the path to a value of a text that was not read to its end. The
// containers that are still open have no end yet.
func (r *renderer) broken(at int32) string {
	for _, i := range r.doc.open {
		r.doc.values[i].next = int32(len(r.doc.values)) //nolint:gosec // a message is smaller than 2 GiB
	}
	return r.pathTo(at, nil).String()
}
