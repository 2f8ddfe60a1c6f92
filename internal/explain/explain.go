// Package explain says what is wrong with the arguments of a tool call, all of it at
// once, in sentences that a model can act on.
//
//	schema, err := explain.Compile(tool.InputSchema)
//	report := schema.Explain(req.Params.Arguments, explain.Options{})
//	report.Text() // Argument 'quantity' expected an integer, but received 'five'.
//
// github.com/santhosh-tekuri/jsonschema finds what is wrong; this package words its tree
// of errors. What that tree does not say is found here: names that were sent more than
// once, text that is not UTF-8, which form of a choice was meant, which name.
//
// The schema is trusted and the arguments are not. Of the arguments only short scalar
// values are repeated, scrubbed, and none whose name or schema says that it is a secret.
// The work is estimated before it is done: arguments that would take too long are
// reported as too complex, and so refused.
package explain

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Explain checks the arguments of a call, as JSON, and reports what is wrong. It returns
// nil when nothing is. Arguments that are absent are checked as {}; null is a value like
// any other.
func (s *Schema) Explain(args []byte, opts Options) *Report {
	if blank(args) {
		args = []byte("{}")
	}
	r := &report{schema: s, opts: opts, told: map[string]bool{}}
	d, err := read(args)
	switch {
	case d.deep:
		return r.refuse("depth", "at most "+itoa(maxDepth)+" levels", "are nested more than "+itoa(maxDepth)+" levels deep.")
	case errors.Is(err, errSize):
		return r.refuse("budget", "", "are too large to be checked. Send less at once.")
	case err != nil:
		return r.refuse("json", "valid JSON", "are not valid JSON: they "+whereBroken(err, args)+".")
	case d.number != nil:
		r.args = d.value
		return r.refuseNumber(d.number)
	case !s.affordable(d):
		return r.refuse("budget", "", "are too large and complex to be checked. Send less at once.")
	}
	found := s.check(d.value, opts)
	if len(found) == 0 && len(d.notes) == 0 {
		return nil
	}
	r.args, r.sent = d.value, d.value
	if names := s.pair(found, d.value); len(names) > 0 {
		args := d.value
		for _, m := range names {
			args = m.rename(args)
		}
		// What is wrong with a value is told of the name that was meant.
		renamed := *d
		if renamed.value = args; s.affordable(&renamed) {
			r.args, found = args, append(names, s.check(args, opts)...)
		}
	}
	s.sort(found)
	for _, n := range d.notes {
		r.tell(finding{rule: n.rule, at: n.at})
	}
	for i := range found {
		r.tell(found[i])
	}
	return r.done(found, len(d.notes) == 0 && len(args) <= 4*maxExample)
}

func blank(args []byte) bool { return len(bytes.TrimSpace(args)) == 0 }

func whereBroken(err error, args []byte) string {
	syntax := (*json.SyntaxError)(nil)
	if !errors.As(err, &syntax) || syntax.Offset >= int64(len(args)) && strings.Contains(syntax.Error(), "unexpected end") {
		return "end too early"
	}
	runes := len([]rune(string(args[:max(0, syntax.Offset-1)])))
	return "stop being JSON at character " + itoa(runes+1)
}

// check returns all that the library finds wrong.
func (s *Schema) check(args any, opts Options) []finding {
	root := s.root
	if opts.AssertFormats {
		root = s.strict
	}
	err := root.Validate(args)
	if err == nil {
		return nil
	}
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return []finding{{rule: "schema"}}
	}
	c := &collector{schema: s, args: args}
	found := c.merged(c.collect(failed, nil))
	if len(found) == 0 {
		found = []finding{{rule: "schema"}}
	}
	return found
}

// sort orders findings as the schema declares what they are about.
func (s *Schema) sort(found []finding) {
	ranks := map[string]map[string]int{}
	steps := 0
	for i := range found {
		steps += len(found[i].at)
	}
	rank := func(parent []string, name string) int {
		if steps > maxRanked {
			return 0
		}
		key := strings.Join(parent, "\x00")
		names, ok := ranks[key]
		if !ok {
			names = map[string]int{}
			for i, name := range known(s.at(parent)) {
				names[name] = i - maxKnown
			}
			ranks[key] = names
		}
		return names[name]
	}
	for i := range found {
		f := &found[i]
		f.ranks = make([]int, len(f.at))
		for j := range f.at {
			f.ranks[j] = rank(f.at[:j], f.at[j])
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		for i := range min(len(a.at), len(b.at)) {
			if a.at[i] == b.at[i] {
				continue
			}
			// Of one object the names that are missing come first.
			if first := cmp.Compare(boolInt(b.missing() && i == len(b.at)-1), boolInt(a.missing() && i == len(a.at)-1)); first != 0 {
				return first
			}
			if a.missing() && b.missing() && a.n == b.n {
				return cmp.Or(cmp.Compare(boolInt(a.rule != "required"), boolInt(b.rule != "required")), slices.Compare(a.when, b.when), cmp.Compare(a.count, b.count))
			}
			x, errX := strconv.Atoi(a.at[i])
			y, errY := strconv.Atoi(b.at[i])
			if errX == nil && errY == nil {
				return cmp.Compare(x, y)
			}
			return cmp.Or(cmp.Compare(a.ranks[i], b.ranks[i]), strings.Compare(a.at[i], b.at[i]))
		}
		return cmp.Or(cmp.Compare(len(a.at), len(b.at)), cmp.Compare(a.place(), b.place()), strings.Compare(a.rule, b.rule), strings.Compare(a.location(), b.location()))
	})
}

// maxRanked bounds the findings that are brought into the order of the schema, by the
// steps that lead to them.
const maxRanked = 2000

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Defaults returns args with the defaults of the schema filled in, as the SDK does it for
// typed tools (ApplyDefaults of github.com/google/jsonschema-go): for properties that are
// missing and not required, also in objects that are there or come to be by that; not
// behind references, in lists or in the forms of a choice. Absent arguments become an
// object, and what is no object stays as it is. Numbers stay as they are written. The
// arguments need not be valid by the schema; it is an error when they are not JSON.
func (s *Schema) Defaults(args []byte) ([]byte, error) {
	if blank(args) {
		args = []byte("{}")
	}
	if !s.defaults {
		return args, nil
	}
	d, err := read(args)
	if err != nil {
		return nil, fmt.Errorf("explain: the arguments cannot be read: %w", err)
	}
	if object, ok := d.value.(map[string]any); ok {
		fill(object, s.tree)
		return encode(object)
	}
	return args, nil
}

// fill gives an object the defaults of a schema.
func fill(object map[string]any, schema any) {
	s, _ := schema.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for name, sub := range properties {
		if slices.Contains(required, any(name)) {
			continue
		}
		p, _ := sub.(map[string]any)
		if _, has := object[name]; !has {
			if value, ok := p["default"]; ok {
				object[name] = clone(value)
			} else if hasDefaults(p) {
				object[name] = map[string]any{}
			}
		}
		if inner, ok := object[name].(map[string]any); ok {
			fill(inner, p)
		}
	}
}

func hasDefaults(schema any) bool {
	s, _ := schema.(map[string]any)
	if _, has := s["default"]; has {
		return true
	}
	properties, _ := s["properties"].(map[string]any)
	for _, sub := range properties {
		if hasDefaults(sub) {
			return true
		}
	}
	return false
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, member := range v {
			object[name] = clone(member)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = clone(item)
		}
		return list
	default:
		return v
	}
}

// encode writes JSON without the escapes that are for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
