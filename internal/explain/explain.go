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
// The work is counted: arguments that would take longer than about 50 ms are reported as
// too complex, and so refused, and of very many mistakes only the first are looked at.
package explain

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Explain checks the arguments of a call, as JSON, and reports what is wrong. It returns
// nil when nothing is. Arguments that are absent are checked as {}; null is a value like
// any other. It takes at most about 50 ms for 1 MiB of arguments.
func (s *Schema) Explain(args []byte, opts Options) *Report {
	report, _ := s.explain(args, opts)
	return report
}

// explain returns how much work the report was, too.
func (s *Schema) explain(args []byte, opts Options) (_ *Report, work int) {
	if blank(args) {
		args = []byte("{}")
	}
	r := &report{schema: s, opts: opts, told: map[string]bool{}, work: maxWork, left: maxTold}
	defer func() { work = maxWork - r.work + maxTold - r.left }()
	d, err := read(args, maxSent)
	switch {
	case errors.Is(err, errDeep):
		return r.refuse("depth", "at most "+itoa(maxDepth)+" levels", "are nested more than "+itoa(maxDepth)+" levels deep."), 0
	case errors.Is(err, errSize):
		return r.refuse("budget", "", "are too large to be checked. Send less at once."), 0
	case err != nil:
		return r.refuse("json", "valid JSON", "are not valid JSON: they "+whereBroken(err, args)+"."), 0
	case d.number != nil:
		r.args = d.value
		return r.refuseNumber(d.number), 0
	}
	r.args = d.value
	found, err := r.check(d, opts.AssertFormats)
	switch {
	case err != nil:
		return r.refuse("budget", "", "are too large and complex to be checked. Send less at once."), 0
	case len(found) == 0 && len(d.notes) == 0:
		return nil, 0
	}
	if names := r.pair(found); len(names) > 0 {
		r.rename(names)
		if again, err := r.check(d, opts.AssertFormats); err == nil {
			found = slices.Concat(names, again)
		}
	}
	r.sort(found)
	for _, n := range d.notes {
		r.tell(finding{rule: n.rule, at: n.at})
	}
	for i := range found {
		r.tell(found[i])
	}
	return r.done(found, len(d.notes) == 0 && len(args) <= 4*maxExample), 0
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

// check returns what the library finds wrong, the first MaxCounted of it at most. The error
// says that the arguments are too complex.
func (r *report) check(d *document, strict bool) ([]finding, error) {
	err := r.schema.validate(d, strict, &r.work)
	var failed *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil, nil
	case errors.Is(err, errWork):
		return nil, err
	case !errors.As(err, &failed):
		return []finding{{rule: "schema"}}, nil
	}
	r.More = false
	found := r.merged(r.collect(failed, nil, nil))
	if len(found) == 0 {
		found = []finding{{rule: "schema"}}
	}
	return found, nil
}

// sort orders findings as the schema declares what they are about.
func (r *report) sort(found []finding) {
	for i := range found {
		f := &found[i]
		if r.left -= len(f.at); r.left < -maxTold {
			break
		}
		f.ranks = make([]int, len(f.at))
		for j := range f.at {
			f.ranks[j] = rank(r.at(f.at[:j]), f.at[j])
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
			if a.ranks != nil && b.ranks != nil && a.ranks[i] != b.ranks[i] {
				return cmp.Compare(a.ranks[i], b.ranks[i])
			}
			return compareSteps(a.at[i], b.at[i])
		}
		return cmp.Or(cmp.Compare(len(a.at), len(b.at)), cmp.Compare(a.place(), b.place()), strings.Compare(a.rule, b.rule), strings.Compare(a.location(), b.location()))
	})
}

// compareSteps orders indexes as numbers.
func compareSteps(a, b string) int {
	if x, y := index(a), index(b); x >= 0 && y >= 0 {
		return cmp.Compare(x, y)
	}
	return strings.Compare(a, b)
}

// rank says where the schema declares a name: those that it does not declare are last.
func rank(nodes []*node, name string) (at int) {
	at = 1 << 20
	k := 0
	around(nodes, func(n *node) bool {
		if i, ok := n.ranks[name]; ok {
			at = k + i
		}
		k += len(n.order)
		return at == 1<<20
	})
	return at
}

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
	d, err := read(args, 4*maxSent)
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
