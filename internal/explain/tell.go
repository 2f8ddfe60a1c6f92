package explain

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

func (r *report) full() bool {
	return len(r.Violations) >= cmp.Or(max(r.opts.MaxViolations, 0), defaultViolations) || r.size < 0
}

// add adds a violation as long as there is room for its sentence. The first one is shortened.
func (r *report) add(v fault.Violation) {
	const around = 4 // "\n- " and a space
	r.Total++
	if len(v.Message)+len(v.Suggestion)+around > r.size {
		v.Suggestion = ""
	}
	if len(v.Message)+around > r.size {
		if len(r.Violations) > 0 {
			r.size = -1
			return
		}
		v.Message, v.Expected = cut(v.Message, r.size-around), cut(v.Expected, r.size)
	}
	r.size -= len(v.Message) + len(v.Suggestion) + around
	r.Violations = append(r.Violations, v)
}

// cut shortens a text to at most limit bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:max(0, limit-3)], "") + "..."
}

// facets are the rules of which all that one schema has stand in what is expected.
var facets = map[string]bool{
	"minLength": true, "maxLength": true, "pattern": true, "format": true, "multipleOf": true,
	"minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true,
}

// key is the same for findings that say the same.
func (f *finding) key() string {
	rule := f.rule
	switch {
	case f.missing():
		return strings.Join(f.at, "\x00") + "\x00required" + f.expected
	case facets[rule]:
		rule = "facet"
	}
	return strings.Join(f.at, "\x00") + "\x00" + rule + f.expected + f.sent + f.n.words()
}

// tell writes one finding, unless the same was told already.
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
	fixed := len(r.fixes)
	v := fault.Violation{Rule: f.rule}
	v.Field, v.Pointer = r.place(f.at)
	r.word(f, &v)
	r.unsure = r.unsure || f.unsure || f.sent == "" && len(r.fixes) == fixed
	r.add(v)
}

// word writes the sentence of a violation.
func (r *report) word(f finding, v *fault.Violation) {
	subject, is := "Argument '"+v.Field+"'", " is "
	if len(f.at) == 0 {
		subject, is = "The arguments", " are "
	}
	when := ""
	if len(f.when) > 0 {
		when = words.Cut(" when "+strings.Join(f.when, " and "), maxAdvice)
	}
	switch {
	case f.sent != "":
		r.misspelled(f, v)
	case f.missing():
		r.missing(f, v, subject+" is required"+when)
	case f.rule == "additionalProperties":
		v.Message, v.Suggestion = subject+" is unknown"+when+".", r.suggestName(f)
	case f.rule == "propertyNames":
		v.Expected = cmp.Or(f.n.words(), "another one")
		v.Message = subject + " has a name that is not allowed: a name must be " + v.Expected + "."
	case f.rule == "duplicate":
		v.Message, v.Suggestion = subject+" was sent more than once.", "Send each name once."
	case f.rule == "utf8":
		v.Message = subject + is + "not valid UTF-8."
	case f.rule == "budget":
		v.Message = subject + " has a number that is too long to be checked."
	case f.rule == "schema":
		v.Message = "The arguments are not valid."
	case f.rule == "not" && f.n.part("not").onlyRequires():
		r.tooMany(f, v, when)
	case f.rule == "false", f.rule == "not" && f.n.part("not").words() == "":
		v.Message = subject + is + "not allowed" + when + "."
	case f.sets:
		r.sets(f, v, when)
	case len(f.both) > 1:
		v.Expected = "a value of exactly one of " + strconv.Itoa(len(f.forms)) + " forms"
		a, b := f.forms[f.both[0]].label(), f.forms[f.both[1]].label()
		fits := "it fits several of them"
		if a != "" && b != "" && a != b {
			fits = "it is both " + a + " and " + b
		}
		v.Message = subject + " expected " + v.Expected + when + ", but " + fits + "."
	default:
		received := r.wrong(f, v)
		verb, but := " expected ", ", but received "
		if len(f.at) == 0 {
			verb, but = " must be ", ", but were "
		}
		v.Message = subject + verb + v.Expected + when + but + received + "."
	}
}

func (r *report) misspelled(f finding, v *fault.Violation) {
	meant := quoted(last(f.at))
	if f.field == "" {
		v.Message = "Argument '" + v.Field + "' is required."
		v.Suggestion = "You sent " + quoted(r.schema.shownName(f.sent)) + ": did you mean " + meant + "?"
		return
	}
	v.Field, v.Pointer = f.field, f.pointer
	v.Message = "Argument '" + v.Field + "' is unknown"
	if f.absent {
		v.Message += ", and " + meant + " is missing"
	}
	v.Message += "."
	v.Suggestion = "Did you mean " + meant + "?"
}

func (r *report) missing(f finding, v *fault.Violation, sentence string) {
	nodes := r.at(f.at)
	v.Expected = f.expected
	for _, n := range nodes {
		v.Expected = cmp.Or(v.Expected, n.words())
	}
	if v.Message = sentence + "."; v.Expected != "" {
		v.Message = sentence + ": expected " + v.Expected + "."
	}
	v.Suggestion = advice(nodes, true)
}

// tooMany is about names that must not be there together.
func (r *report) tooMany(f finding, v *fault.Violation, when string) {
	names := r.names(f.at, "'", f.n.Not.Required...)
	v.Message = "Argument " + names[0] + " is not allowed" + when + "."
	if len(names) > 1 {
		v.Message = "Arguments " + listed(names, plain, "and") + " cannot be sent together" + when + "."
		v.Suggestion = "Leave one of them out."
	}
}

// names writes the places of members of the value at a place, each between quotes.
func (r *report) names(at []string, quote string, names ...string) []string {
	texts := make([]string, len(names))
	for i, name := range names {
		field, _ := r.place(append(slices.Clip(at), name))
		texts[i] = quote + field + quote
	}
	return texts
}

// sets is about forms that differ in the names that they require.
func (r *report) sets(f finding, v *fault.Violation, when string) {
	forms := f.forms[:min(len(f.forms), maxListed)]
	texts := make([]string, 0, len(forms))
	word := "or"
	for _, n := range forms {
		if len(n.Required) > 1 {
			word = "or else"
		}
		texts = append(texts, words.List(r.names(f.at, "'", n.Required...), "and"))
	}
	what := words.List(texts, word)
	v.Expected = "at least one of " + what
	if f.rule == "oneOf" {
		v.Expected = "exactly one of " + what
	}
	subject := words.Capital(v.Expected)
	if len(texts) == 1 {
		v.Expected, subject = what, "Argument "+what
	}
	if len(f.both) < 2 {
		v.Message = subject + " is required" + when + "."
		return
	}
	were := "both were"
	if i, j := f.both[0], f.both[1]; len(texts) > 2 && max(i, j) < len(texts) {
		were = texts[i] + " and " + texts[j] + " were"
	}
	v.Message = "Only one of " + what + " may be sent" + when + ", but " + were + "."
	v.Suggestion = "Leave one of them out."
}

// label names a form of a choice.
func (n *node) label() string {
	if title := n.leaf().Title; title != "" {
		return quoted(title)
	}
	return n.words()
}

// wrong says what is expected of a value, and returns what was received, in words.
func (r *report) wrong(f finding, v *fault.Violation) (received string) {
	value := ValueAt(r.args, f.at)
	received, v.Received = Received(value, r.opts.HideReceived || r.secret(f.at))
	v.Expected = f.expected
	list, _ := value.([]any)
	object, _ := value.(map[string]any)
	switch f.rule {
	case "not":
		v.Expected = "anything but " + f.n.part("not").words()
	case "minLength", "maxLength":
		if text, ok := v.Received.(string); ok && text != "" && f.count > 0 {
			received += ", which has " + words.Plural(f.count, "character")
		}
	case "items":
		if v.Expected = "a list" + counts(f.n.MinItems, &f.count, "item", "items"); f.count == 0 {
			v.Expected = "an empty list"
		}
	case "minProperties":
		v.Suggestion = knownNames(known(r.at(f.at)), nil)
	case "uniqueItems":
		v.Suggestion = "Send each item once."
	}
	switch {
	case f.got != "":
		received = f.got
	case len(list) > 0 && (f.rule == "minItems" || f.rule == "maxItems" || f.rule == "items"):
		received = "a list with " + words.Plural(len(list), "item")
	case len(object) > 0 && (f.rule == "minProperties" || f.rule == "maxProperties"):
		received = "an object with " + words.Plural(len(object), "property", "properties")
	}
	if v.Expected == "" && f.forms != nil {
		v.Expected = cmp.Or(choice(f.forms), "one of the forms that its description allows")
	}
	v.Expected = cmp.Or(v.Expected, f.n.words(), "another value")
	if v.Suggestion == "" {
		v.Suggestion = r.hint(f, value, v.Received)
	}
	if v.Suggestion == "" {
		v.Suggestion = r.fallback(f.at)
	}
	return received
}

// Received returns a value of the caller in words, and itself if it may be shown.
func Received(value any, hidden bool) (text string, shown any) {
	var what string
	var length int
	switch v := value.(type) {
	case nil:
		return "null", nil
	case bool:
		what, text, shown = "a boolean", strconv.FormatBool(v), v
	case json.Number:
		what, length, text, shown = "a number", len(v), string(v), v
		hidden = hidden || length <= maxName && scrub.Credentials(text) != text
	case string:
		what, length = "a string", utf8.RuneCountInString(v)
		trimmed := strings.TrimSpace(v)
		switch {
		case length == 0:
			return "an empty string", ""
		case length > maxName:
		case strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "["): // it may hold values that have names
			return what, nil
		case !hidden:
			clean := words.Cut(scrub.Credentials(v), maxName)
			text, shown = "'"+clean+"'", clean
		}
	case []any:
		if len(v) == 0 {
			return "an empty list", nil
		}
		return "a list", nil
	default:
		if object, ok := v.(map[string]any); ok && len(object) == 0 {
			return "an empty object", nil
		}
		return "an object", nil
	}
	switch {
	case length > maxName:
		return what + " of " + strconv.Itoa(length) + " characters", nil
	case hidden:
		return what + " that is not shown", nil
	default:
		return text, shown
	}
}
