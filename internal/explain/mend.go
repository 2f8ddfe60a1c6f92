package explain

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/wire"
)

// The kinds of a [wire.Change].
const (
	TextToList      = "text_to_list"      // the JSON text of a list became the list
	TextToObject    = "text_to_object"    // the JSON text of an object became the object
	TextToNumber    = "text_to_number"    // a number as text became the number
	TextToBoolean   = "text_to_boolean"   // a boolean as text became the boolean
	NullLeftOut     = "null_left_out"     // null was left out
	Unwrapped       = "unwrapped"         // a member around all arguments was taken off
	TextToArguments = "text_to_arguments" // the JSON text of all arguments became the arguments
)

const (
	maxMended  = 64 << 10 // bytes of arguments that are mended
	maxChanges = 100      // of one call
	maxExact   = 1 << 53  // the SDK reads numbers as float64: a larger integer may become another one
)

// certainWrappers are taken off. The others are only told.
var certainWrappers = []string{"arguments", "params", "input"}

// Mend returns arguments that the schema takes in the place of those that it refuses, and what was changed. It
// returns nil if nothing is wrong, or if a change is not certain or not the same in meaning. Names, enumerations and
// single items are not changed. readOnly says that the tool is annotated so: only then null means what absence does,
// unless null is the default. Unless it is "", text is what the arguments were refused with: if the SDK would not say
// that of them, Mend returns nil, too.
func (s *Schema) Mend(args []byte, readOnly bool, text string) (mended []byte, changes []wire.Change) {
	if len(args) > maxMended || len(s.root.reach) == maxKnown {
		return nil, nil
	}
	d, err := read(args, maxSent)
	if err != nil || d.number != nil || d.notes != nil {
		return nil, nil
	}
	m := mender{report: s.report(false), readOnly: readOnly}
	m.args = d.value
	whole, ok := m.unwrap()
	inside, all := m.inside()
	if ok == all || s.decide(d.value) == nil { // there is no reading, or there are two, or nothing is wrong
		return nil, nil
	}
	value := whole.to
	if all {
		for _, e := range inside {
			e.make(d.value)
		}
		value = d.value
	} else {
		inside = []edit{whole}
	}
	raw, err := encode(value)
	if err != nil {
		return nil, nil
	}
	if d, err = read(raw, maxSent); err != nil || !m.valid(d.value) { // what is sent is what is valid
		return nil, nil
	}
	if text != "" && !s.said(args, inside, text) {
		return nil, nil
	}
	for _, e := range inside {
		changes = append(changes, wire.Change{Argument: e.field, Kind: e.kind})
	}
	return raw, changes
}

// said reports whether a text is what the SDK says of the arguments. Of several mistakes it names one, which is any of
// them: so each is left alone in turn.
func (s *Schema) said(args []byte, edits []edit, text string) bool {
	if edits[0].at == nil { // all of them
		d, _ := read(args, maxSent)
		if _, object := d.value.(map[string]any); !object {
			return strings.HasPrefix(text, "unmarshaling arguments: ")
		}
		err := s.decide(d.value)
		return err != nil && err.Error() == text
	}
	for alone := range min(len(edits), maxAlone) {
		d, err := read(args, maxSent)
		if err != nil {
			return false
		}
		for i, e := range edits {
			if i != alone {
				e.make(d.value)
			}
		}
		if err := s.decide(d.value); err != nil && err.Error() == text {
			return true
		}
	}
	return false
}

// maxAlone bounds how many of several mistakes are looked at alone.
const maxAlone = 20

// A mender looks for changes that are certain.
type mender struct {
	*report
	readOnly bool
}

// An edit is a change at a place.
type edit struct {
	at    []string
	to    any // or left
	field string
	kind  string
}

// make makes the edit in a value that is nobody else's.
func (e *edit) make(v any) {
	for _, step := range e.at[:len(e.at)-1] {
		v = member(v, step)
	}
	switch c := v.(type) {
	case map[string]any:
		if c[last(e.at)] = e.to; e.to == left {
			delete(c, last(e.at))
		}
	case []any:
		c[index(last(e.at))] = e.to
	}
}

// unwrap returns the arguments without what stands around all of them.
func (m *mender) unwrap() (_ edit, ok bool) {
	e := edit{}
	switch v := m.args.(type) {
	case string:
		e.kind = TextToArguments
		if e.to, ok = container(v); !ok {
			return e, false
		}
	case map[string]any:
		for e.field, e.to = range v { //nolint:revive // the only one
		}
		e.kind = Unwrapped
		if len(v) != 1 || !slices.Contains(certainWrappers, e.field) || m.schema.names[e.field] && m.declares(e.field) || m.schema.allows(e.field) {
			return e, false
		}
	}
	_, ok = e.to.(map[string]any)
	return e, ok && m.valid(e.to)
}

// declares reports whether the schema has a property of a name for all arguments, even one that it forbids.
func (m *mender) declares(name string) bool {
	return slices.ContainsFunc(m.schema.root.reach, func(n *node) bool { return n.members[name] != nil })
}

// inside returns the edits of single values. It reports false if there are none, or if one that is needed is not
// certain.
func (m *mender) inside() (edits []edit, ok bool) {
	found, err := m.walk()
	if err != nil || m.More {
		return nil, false
	}
	slices.SortStableFunc(found, byPlace)
	object, _ := m.args.(map[string]any)
	for _, f := range found {
		switch {
		case f.unsure, f.both != nil, len(f.at) == 0, !slices.Contains([]string{"type", "enum", "const", "anyOf", "oneOf"}, f.rule):
			return nil, false
		case len(object) == 1 && slices.Contains(wrappers, strings.ToLower(f.at[0])) && !m.declares(f.at[0]): // all arguments may be in it
			return nil, false
		case len(edits) > 0 && slices.Equal(last(edits).at, f.at): // by another schema
			continue
		case len(edits) == maxChanges:
			return nil, false
		}
		e := edit{at: f.at}
		if e.to, e.kind = m.meantBy(f); e.kind == "" {
			return nil, false
		}
		e.field, _ = m.place(f.at)
		edits = append(edits, e)
	}
	return edits, edits != nil
}

// meantBy returns what a refused value means, and the kind of the change. It returns no kind if that is not certain.
func (m *mender) meantBy(f finding) (to any, change string) {
	nodes := m.schema.at(f.at)
	reach := around(nodes...)
	if len(nodes) == 0 || len(reach) == maxKnown {
		return nil, ""
	}
	takes := kind(0)
	for _, n := range nodes {
		takes |= n.takenTypes
	}
	switch v := ValueAt(m.args, f.at).(type) {
	case nil:
		if m.leavesOut(f, reach) {
			return left, NullLeftOut
		}
	case string:
		if !slices.ContainsFunc(reach, func(n *node) bool { return n.values != nil }) { // which one is a guess
			return converted(v, takes)
		}
	}
	return nil, ""
}

// leavesOut reports whether null stands for an argument that need not be there, and means the same.
func (m *mender) leavesOut(f finding, reach []*node) bool {
	name, parents := last(f.at), around(m.schema.at(f.parent())...)
	if _, inObject := ValueAt(m.args, f.parent()).(map[string]any); !inObject || len(parents) == maxKnown {
		return false
	}
	isNull := func(n *node) bool { return string(n.Default) == "null" }
	return slices.ContainsFunc(parents, func(n *node) bool { return n.members[name] != nil }) &&
		!slices.ContainsFunc(parents, func(n *node) bool { return slices.Contains(n.Required, name) }) &&
		(m.readOnly || slices.ContainsFunc(reach, isNull))
}

// converted returns the value whose JSON a text is, for a place that takes values of some types. A place that takes
// a text may mean it. One that takes a list may mean one with the text in it.
func converted(text string, takes kind) (to any, change string) {
	switch {
	case takes&aString != 0:
	case takes&aList == 0 && takes&aBoolean != 0 && (text == "true" || text == "false"):
		return text == "true", TextToBoolean
	case takes&aList == 0 && takes&(aNumber|anInteger) != 0 && isNumber(text, takes&aNumber != 0):
		return json.Number(text), TextToNumber
	default:
		to, _ = container(text)
		switch to.(type) {
		case []any:
			return to, TextToList
		case map[string]any:
			return to, TextToObject
		}
	}
	return nil, ""
}

// isNumber reports whether a text is a number as a program writes it in JSON: not 5.000, +5 or 1e3.
func isNumber(text string, fraction bool) bool {
	if len(text) > maxName {
		return false
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.FormatInt(i, 10) == text && exact(json.Number(text))
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !fraction || !exact(json.Number(text)) {
		return false
	}
	shortest, err := json.Marshal(f)
	return err == nil && (string(shortest) == text || string(shortest)+".0" == text)
}

// exact reports whether a number stays the same for every reader.
func exact(n json.Number) bool {
	if f, err := n.Float64(); err != nil || f >= maxExact || f <= -maxExact {
		return false
	}
	_, ok := new(big.Rat).SetString(string(n))
	return ok && sendable(n)
}

// container returns the list or the object that a text is the JSON of.
func container(text string) (any, bool) {
	if trimmed := strings.TrimSpace(text); !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return nil, false
	}
	d, err := read([]byte(text), maxSent)
	if err != nil || d.number != nil || d.notes != nil || !allExact(d.value) {
		return nil, false
	}
	return d.value, true
}

// allExact reports whether all numbers in a value are exact.
func allExact(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, m := range v {
			if !allExact(m) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !allExact(item) })
	case json.Number:
		return exact(v)
	}
	return true
}
