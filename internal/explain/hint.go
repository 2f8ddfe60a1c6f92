package explain

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/words"
)

// fix makes a correction that is certain, and returns what is said of it.
func (r *report) fix(f finding, to any, hint string) string {
	r.fixes++
	r.mended = change(r.mended, f.at, to)
	return hint
}

// hint says what to do about a value, and notes the correction if it is certain.
func (r *report) hint(f finding, value, shown any) string {
	if f.forms == nil {
		f.forms = []*node{f.n}
	}
	var types []string
	var allowed []any
	for _, form := range f.forms {
		types = append(types, form.leaf().kinds()...)
		values := form.leaf().values
		allowed = append(allowed, values[:min(len(values), maxKnown)]...)
	}
	hint := r.meant(f, value, shown, allowed)
	switch {
	case hint != "":
		return hint
	case value == nil:
		if hint = r.leaveOut(f); hint != "" {
			return hint
		}
	default:
		hint = r.converted(f, value, shown, types)
	}
	only := value == nil || len(allowed) == 1 && len(f.forms) == 1
	if hint != "" || !only && (f.rule == "enum" || f.rule == "const") {
		return hint
	}
	return advice(append(r.schema.at(f.at), f.n), only || f.rule == "pattern" || f.n.pattern != nil || len(f.forms) > 1)
}

// meant looks for an allowed text that is close to the value. The only allowed value is not for that reason the one
// that was meant.
func (r *report) meant(f finding, value, shown any, allowed []any) string {
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
	if only := near.Spelled(text, names); only != "" && only != text {
		return r.fix(f, only, "Did you mean "+quoted(only)+"?")
	}
	matches := near.Matches(text, names)
	if len(matches) == 0 {
		return ""
	}
	switch misspelled := near.Misspelled(text, matches[0]); {
	case misspelled && len(matches) == 1:
		r.fix(f, matches[0], "")
	case !misspelled && len(strings.Fields(text)) > len(strings.Fields(matches[0])):
		return "" // a sentence that ends with a value, such as "all but mine", may say anything of it
	}
	return "Did you mean " + quoted(matches[0]) + "?"
}

// fits reports whether a value is right for one of the forms.
func (r *report) fits(forms []*node, v any) bool {
	return slices.ContainsFunc(forms, func(n *node) bool { return r.fit(n, v) })
}

// converted says how to send a value of another type, if it is the right one then: without
// quotes, in quotes, in a list.
func (r *report) converted(f finding, value, shown any, types []string) string {
	list := []any{value}
	listed := slices.Contains(types, "array") && !isContainer(value) && r.fits(f.forms, list)
	switch v := value.(type) {
	case string:
		if slices.Contains(types, "string") {
			return ""
		}
		meant := strings.TrimSpace(v)
		if !strings.HasPrefix(meant, "{") && !strings.HasPrefix(meant, "[") {
			if meant = strings.ToLower(meant); len(meant) > maxName {
				return ""
			}
		}
		d, err := read([]byte(meant), maxSent)
		_, isText := d.value.(string)
		_, isList := d.value.([]any)
		_, isObject := d.value.(map[string]any)
		right := isList && slices.Contains(types, "array") || isObject && slices.Contains(types, "object") // but for what is in it
		switch {
		case strings.HasSuffix(meant, ".000"): // which are thousands in many countries
		case err != nil || d.number != nil || d.notes != nil || isText || !right && (listed || !r.fits(f.forms, d.value)):
		case isList:
			return r.fix(f, d.value, "Send the list itself, not a string.")
		case isObject:
			return r.fix(f, d.value, "Send the object itself, not a string.")
		case shown != value:
			return r.fix(f, d.value, "Send it without quotes.")
		default:
			return r.fix(f, d.value, "Send "+meant+" without quotes.")
		}
	case json.Number:
		text := v.String()
		switch {
		case slices.Contains(types, "integer") || slices.Contains(types, "number") || listed || slices.ContainsFunc(f.forms, formatted) || !r.fits(f.forms, text):
		case r.asksForTime(f):
			return "If it is a date and time, send it as a string such as " + exampleTime + "."
		case shown == nil:
			return r.fix(f, text, "Send it in quotes.")
		default:
			return r.fix(f, text, `Send it in quotes: "`+text+`".`)
		}
	case map[string]any, []any:
		return ""
	}
	other := func(t string) bool { return t != "array" && t != "null" }
	items := func(n *node) bool { return n.leaf().items != nil }
	named := func(n *node) bool { return items(n) && n.leaf().items.leaf().values != nil }
	switch text, isText := value.(string); {
	case !listed || slices.ContainsFunc(types, other) || !slices.ContainsFunc(f.forms, items):
		return ""
	case isText && !isOne(text) && !slices.ContainsFunc(f.forms, named):
		return "Send a list, not a string."
	default:
		return r.fix(f, list, "Send a list, even for one item.")
	}
}

// formatted reports whether a text has to have a format, which a number cannot have. The validator ignores formats.
func formatted(n *node) bool { return n.leaf().Format != "" && n.leaf().Format != "password" }

// isOne reports whether a text that was sent for a list is certainly one item of it. It has no separator, no bracket and
// no quotation mark, and is not a word for none or all.
func isOne(text string) bool {
	switch strings.ToLower(text) {
	case "", "none", "null", "nil", "undefined", "empty", "all", "any", "*", "-":
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",;|&+[](){}<>\"'`，、；｜", r)
	})
}

// leaveOut says what to do instead of sending null for a member that is not required.
func (r *report) leaveOut(f finding) string {
	if len(f.at) == 0 {
		return ""
	}
	_, inObject := ValueAt(r.args, f.parent()).(map[string]any) // an item of a list cannot be left out
	if nodes := r.schema.at(f.parent()); !inObject || !slices.Contains(known(nodes), last(f.at)) || slices.Contains(required(nodes), last(f.at)) {
		return ""
	}
	return r.fix(f, left, "Leave it out instead of sending null.")
}

// advice repeats a short example that is valid by all of the schemas for a value, and the
// description of what is asked for.
func advice(nodes []*node, describe bool) string {
	example, description, tries := "", "", maxListed
	refuses := func(v any) bool {
		return slices.ContainsFunc(nodes, func(n *node) bool { return !n.takes(v) })
	}
	for _, n := range around(nodes...) {
		for _, v := range n.Examples[:min(len(n.Examples), tries)] {
			if tries--; room(v, maxName) < 0 {
				continue // it may take long to write it or to check it
			}
			if text := literal(v); len(text) <= maxName && !refuses(v) {
				example, tries = "For example: "+text+".", 0
				break
			}
		}
		if text := strings.TrimSpace(words.Cut(n.Description, maxAdvice)); description == "" && describe && text != "" {
			description = "Its description: " + words.Ended(text)
		}
	}
	return strings.TrimSpace(example + " " + description)
}

// room returns how many of so many bytes are left when a value is written. It is negative if the value is longer.
func room(v any, bytes int) int {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if bytes = room(member, bytes-len(name)); bytes < 0 {
				break
			}
		}
	case []any:
		for _, item := range v {
			if bytes = room(item, bytes); bytes < 0 {
				break
			}
		}
	case string:
		bytes -= len(v)
	}
	return bytes - 1
}

// sizeOf returns about how many bytes a value has.
func sizeOf(v any) int { return math.MaxInt - room(v, math.MaxInt) }

// suggestName says what an unknown name may have been meant for.
func (r *report) suggestName(f finding) string {
	names := known([]*node{f.n})
	names = slices.DeleteFunc(names, func(name string) bool { return f.n.members[name] == nil }) // it looks at those beside it only
	if m := near.Matches(last(f.at), names); len(m) > 0 {
		object, _ := ValueAt(r.args, f.parent()).(map[string]any)
		if _, sent := object[m[0]]; sent && near.Misspelled(last(f.at), m[0]) {
			return quoted(m[0]) + " is there already."
		}
		return "Did you mean " + words.Listed(m[:min(2, len(m))], quoted, "or") + "?"
	}
	key := "names\x00" + strings.Join(f.parent(), "\x00")
	if r.told[key] {
		return ""
	}
	r.told[key] = true
	if text := knownNames(names, f.n.parts); text != "" {
		return text
	}
	return "Leave it out: no names are accepted here."
}

// knownNames lists the names that an object may have.
func knownNames(names []string, parts []part) string {
	var all []string
	for _, name := range names {
		all = append(all, quoted(name))
	}
	for _, p := range parts {
		if p.pattern != nil && len(all) < len(names)+maxBranches {
			all = append(all, "names that match "+words.Cut(p.pattern.String(), maxName))
		}
	}
	switch len(all) {
	case 0:
		return ""
	case 1:
		return "Only " + all[0] + " can be sent here."
	default:
		return "Known here are " + words.Listed(all, plain, "and") + "."
	}
}
