package explain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/jsons"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

func (r *report) full() bool { return len(r.Violations) == MaxShown || r.size > maxBytes }

// add adds a violation if there is room for it.
func (r *report) add(v fault.Violation) {
	r.Total++
	if r.full() {
		return
	}
	v.Message, v.Expected = words.Cut(v.Message, maxSentence), words.Cut(v.Expected, maxSentence)
	if r.size += len(v.Message) + len(v.Suggestion) + len("\n-  "); r.size <= maxBytes || r.Violations == nil {
		r.Violations = append(r.Violations, v)
	}
}

// key is the same for findings that would have the same sentence. The words of a node have all that it asks of a value.
func (f *finding) key() string {
	rule, expected := f.rule, f.expected+f.n.words()
	switch {
	case f.missing():
		rule, expected = "required", f.expected
	case f.n != nil && f.forms == nil && !f.unknown:
		rule = ""
	}
	return strings.Join(f.at, "\x00") + "\x00" + rule + "\x00" + expected
}

// tell writes one finding, unless the same one was written already.
func (r *report) tell(f finding) {
	key := f.key()
	switch {
	case r.told[key]:
		return
	case r.Total >= MaxCounted:
		r.More = true
		return
	}
	r.told[key] = true
	if r.full() {
		r.Total++
		r.unsure = true
		return
	}
	fixes := r.fixes
	v := r.worded(f)
	r.unsure = r.unsure || f.unsure || r.fixes == fixes
	r.add(v)
}

// worded writes the violation of a finding.
func (r *report) worded(f finding) fault.Violation {
	v := fault.Violation{Rule: f.rule}
	v.Field, v.Pointer = r.place(f.at)
	r.word(f, &v)
	return v
}

// word writes the sentence of a violation.
func (r *report) word(f finding, v *fault.Violation) {
	subject, is, verb := "Argument '"+v.Field+"'", " is ", " expected "
	if len(f.at) == 0 {
		subject, is, verb = words.AllArguments, " are ", " must be "
	}
	when := ""
	if len(f.when) > 0 {
		when = words.Cut(" when "+strings.Join(f.when, " and "), maxAdvice)
	}
	switch {
	case f.missing():
		r.missing(f, v, subject, when)
	case f.rule == "additionalProperties":
		v.Message, v.Suggestion = subject+" is unknown"+when+".", r.suggestName(f)
	case f.rule == jsons.Twice, f.rule == jsons.NotUTF8, f.rule == jsons.Surrogate:
		v.Message, v.Suggestion = words.Unclear(subject, f.rule)
	case f.rule == "budget":
		v.Message = subject + " has a number that is too long to be checked."
	case f.unknown:
		v.Message, v.Suggestion = subject+breaks(len(f.at) == 0, f.rule)+".", advice([]*node{f.n}, true)
	case f.rule == "false":
		v.Message = subject + is + "not allowed" + when + "."
	case len(f.both) > 1 && f.forms != nil:
		v.Expected = "a value of exactly one of " + strconv.Itoa(len(f.forms)) + " forms"
		a, b := f.forms[f.both[0]].words(), f.forms[f.both[1]].words()
		fits := "it fits several of them"
		if a != "" && b != "" && a != b {
			fits = "it is both " + a + " and " + b
		}
		v.Message = subject + verb + v.Expected + when + ", but " + fits + "."
	default:
		received := r.wrong(f, v)
		v.Message = words.Wrong(subject, v.Expected, when, received)
	}
}

// breaks says that a value, or all of them, is not valid by a keyword of the schema.
func breaks(all bool, rule string) string {
	does, what := " does", " the schema of the tool"
	if all {
		does = " do"
	}
	if rule != "schema" {
		what = " " + quoted(rule) + " in" + what
	}
	return does + " not satisfy" + what
}

func (r *report) missing(f finding, v *fault.Violation, subject, when string) {
	nodes := r.schema.at(f.at)
	v.Expected = f.expected
	for _, n := range nodes {
		v.Expected = cmp.Or(v.Expected, n.words())
	}
	v.Message = words.Missing(subject, v.Expected, when)
	v.Suggestion = advice(nodes, true)
}

// wrong says what is expected of a value, and returns what was received, in words.
func (r *report) wrong(f finding, v *fault.Violation) (received string) {
	value := ValueAt(r.args, f.at)
	received, v.Received = Received(value, r.hide || r.schema.Hides(f.at))
	v.Expected = f.expected
	switch f.rule {
	case "minLength", "maxLength":
		if text, ok := value.(string); ok && text != "" && v.Received != nil {
			received += ", which has " + words.Plural(utf8.RuneCountInString(text), "character")
		}
	case "items":
		if v.Expected = "a list" + counts(f.n.MinItems, &f.count, "item", "items"); f.count == 0 {
			v.Expected = "an empty list"
		}
	case "minProperties":
		v.Suggestion = knownNames(known(r.schema.at(f.at)), nil)
	case "uniqueItems":
		a, _ := r.place(append(slices.Clip(f.at), strconv.Itoa(f.both[0])))
		b, _ := r.place(append(slices.Clip(f.at), strconv.Itoa(f.both[1])))
		received = "one with " + a + " and " + b + " alike"
		v.Suggestion = "Send each item once."
	}
	if v.Expected == "" && f.forms != nil {
		v.Expected = cmp.Or(choice(f.forms), "one of the forms that its description allows")
	}
	v.Expected = cmp.Or(v.Expected, f.n.words(), "another value")
	v.Suggestion = cmp.Or(v.Suggestion, r.hint(f, value, v.Received))
	return received
}

// Received returns a value of the caller in words, and itself, on one line, if it may be shown.
func Received(value any, hidden bool) (text string, shown any) {
	text, shown = scrub.Received(value, hidden)
	if v, ok := shown.(string); ok {
		shown = words.Cut(v, maxName)
	}
	return text, shown
}
