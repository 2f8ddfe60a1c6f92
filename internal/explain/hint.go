package explain

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/words"
)

// A fix is what a value is to be replaced with.
type fix struct {
	at []string
	to any
}

// dumb are the rules whose sentence says all that can be said.
var dumb = map[string]bool{
	"minItems": true, "maxItems": true, "minProperties": true, "maxProperties": true, "items": true, "not": true, "uniqueItems": true,
	"contains": true, "minContains": true, "maxContains": true,
	"minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true, "multipleOf": true,
}

// hint says what to do about a value, and notes the correction if it is certain.
func (r *report) hint(f finding, value, shown any) string {
	forms := f.forms
	if forms == nil {
		forms = []*node{f.n}
		for _, p := range f.n.parts {
			if f.n.Types == nil && (p.keyword == "anyOf" || p.keyword == "oneOf") {
				forms = append(forms, p.node)
			}
		}
	}
	var types []string
	var allowed []any
	for _, form := range forms {
		types = append(types, form.leaf().types()...)
		values := form.leaf().literals()
		allowed = append(allowed, values[:min(len(values), maxKnown)]...)
	}
	send := func(to any, hint string) string {
		r.fixes = append(r.fixes, fix{f.at, to})
		return hint
	}
	listed, hint := f.rule == "enum" || f.rule == "const", ""
	if listed || f.rule == "anyOf" || f.rule == "oneOf" {
		hint = nearest(value, shown, allowed, send)
	}
	switch right := isAny(value, types); {
	case hint != "" || dumb[f.rule]:
		return hint
	case value == nil && !right:
		return r.leaveOut(f.at, send)
	case !right:
		hint = converted(value, shown, types, forms, send)
	}
	if hint != "" || listed {
		return hint
	}
	return advice(append(r.at(f.at), f.n), f.rule == "pattern" || f.rule == "format" || f.n.Pattern != nil || f.forms != nil)
}

func isAny(value any, types []string) bool {
	return slices.ContainsFunc(types, func(t string) bool { return isType(value, t) })
}

// nearest looks for the allowed value that was meant: the only one, or a text that is close.
func nearest(value, shown any, allowed []any, send func(any, string) string) string {
	if len(allowed) == 1 {
		return send(allowed[0], "")
	}
	text, isText := value.(string)
	if !isText || shown != value {
		return ""
	}
	var names []string
	for _, a := range allowed {
		if name, ok := a.(string); ok {
			names = append(names, name)
		}
	}
	switch matches := near.Matches(text, names); len(matches) {
	case 0:
		return ""
	case 1:
		return send(matches[0], "Did you mean "+quoted(matches[0])+"?")
	default:
		return "Did you mean " + quoted(matches[0]) + "?"
	}
}

// converted says how to send a value of another type, if it is the right one then: without
// quotes, in quotes, in a list.
func converted(value, shown any, types []string, forms []*node, send func(any, string) string) string {
	fits := func(to any) bool {
		return slices.ContainsFunc(forms, func(n *node) bool { return n.Validate(to) == nil })
	}
	switch v := value.(type) {
	case string:
		meant := strings.TrimSpace(v)
		if !strings.HasPrefix(meant, "{") && !strings.HasPrefix(meant, "[") {
			if meant = strings.ToLower(meant); len(meant) > maxName {
				return ""
			}
		}
		d, err := read([]byte(meant), maxSent)
		_, isText := d.value.(string)
		_, isList := d.value.([]any)
		switch {
		case err != nil || d.number != nil || d.notes != nil || isText || !isAny(d.value, types) && !fits(d.value):
		case isList:
			return send(d.value, "Send the list itself, not a string.")
		case isContainer(d.value):
			return send(d.value, "Send the object itself, not a string.")
		case shown != value:
			return "Send it without quotes."
		default:
			return send(d.value, "Send "+meant+" without quotes.")
		}
	case json.Number:
		if shown != nil && !slices.Contains(types, "integer") && !slices.Contains(types, "number") && fits(v.String()) {
			return send(v.String(), `Send it in quotes: "`+v.String()+`".`)
		}
	case map[string]any, []any:
		return ""
	}
	other := func(t string) bool { return t != "array" && t != "null" }
	items := func(n *node) bool { return n.leaf().part("items") != nil }
	if !slices.ContainsFunc(types, other) && slices.ContainsFunc(forms, items) && fits([]any{value}) {
		return send([]any{value}, "Send a list, even for one item.")
	}
	return ""
}

// leaveOut says what to do instead of sending null for a member that is not required.
func (r *report) leaveOut(at []string, send func(any, string) string) string {
	if len(at) == 0 || len(r.at(at)) == 0 {
		return ""
	}
	parent, name := at[:len(at)-1], last(at)
	_, inObject := ValueAt(r.args, parent).(map[string]any)
	if nodes := r.at(parent); !inObject || !slices.Contains(known(nodes), name) || slices.Contains(required(nodes), name) {
		return ""
	}
	return send(left, "Leave it out instead of sending null.")
}

// fallback tells of the default of a property that may be left out.
func (r *report) fallback(at []string) string {
	if len(at) == 0 || slices.Contains(required(r.at(at[:len(at)-1])), last(at)) {
		return ""
	}
	for _, n := range r.at(at) {
		if n.Default == nil || *n.Default == nil || n.as.keyword != "properties" {
			continue
		}
		if text := n.example(*n.Default); text != "" {
			return "If left out, it is " + text + "."
		}
	}
	return ""
}

// example writes the first of some values that is short and valid.
func (n *node) example(values ...any) string {
	for _, v := range values {
		if text := literal(v); len(text) <= maxName && n.Validate(v) == nil {
			return text
		}
	}
	return ""
}

// advice repeats an example and the description of what is asked for.
func advice(nodes []*node, describe bool) string {
	example, description := "", ""
	for _, n := range around(nodes...) {
		if text := n.example(n.Examples...); example == "" && text != "" {
			example = "For example: " + text + "."
		}
		if text := strings.TrimSpace(words.Cut(n.Description, maxAdvice)); description == "" && describe && text != "" {
			description = "Its description: " + words.Ended(text)
		}
	}
	return strings.TrimSpace(example + " " + description)
}

// suggestName says what an unknown name may have been meant for.
func (r *report) suggestName(f finding) string {
	names := known(append(r.at(f.parent()), f.n))
	if f.unsure || slices.Contains(names, last(f.at)) { // of the form that is told only
		names = known([]*node{f.n})
	}
	if m := near.Matches(last(f.at), names); len(m) > 0 {
		if object, _ := ValueAt(r.args, f.parent()).(map[string]any); object != nil {
			if _, sent := object[m[0]]; sent {
				return "Leave it out: " + quoted(m[0]) + " is there already."
			}
		}
		return "Did you mean " + words.List(allQuoted(m[:min(2, len(m))]), "or") + "?"
	}
	key := "names\x00" + strings.Join(f.parent(), "\x00")
	if r.told[key] {
		return ""
	}
	r.told[key] = true
	var patterns []string
	for _, p := range f.n.parts {
		if p.pattern != nil && len(patterns) < maxBranches {
			patterns = append(patterns, "names that match "+words.Cut(p.pattern.String(), maxName))
		}
	}
	if len(names)+len(patterns) == 0 {
		return "Leave it out: no names are accepted here."
	}
	return knownNames(names, patterns)
}

// knownNames lists the names that an object may have.
func knownNames(names, patterns []string) string {
	switch all := append(allQuoted(names), patterns...); {
	case len(all) == 0:
		return ""
	case len(all) > 1:
		return "Known here are " + listed(all, "and") + "."
	case len(names) == 0:
		return "Only " + all[0] + " are known here."
	default:
		return "Only " + all[0] + " is known here."
	}
}
