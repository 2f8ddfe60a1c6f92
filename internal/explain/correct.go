package explain

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/scrub"
)

// done adds the corrected arguments, or else an example where much is wrong.
func (r *report) done(found []finding, clean bool) *Report {
	if clean && !r.unsure && !r.opts.HideReceived {
		r.Report.Corrected = r.corrected()
	}
	if r.Report.Corrected != nil {
		return &r.Report
	}
	_, isObject := r.args.(map[string]any)
	missing, all := 0, required([]*node{r.schema.nodes[r.schema.root.Location]})
	for i := range found {
		if f := &found[i]; f.rule == "required" && f.missing() && len(f.at) == 1 && slices.Contains(all, f.at[0]) {
			missing++
		}
	}
	if !isObject || 2*missing > len(all) {
		r.Report.Example = r.example()
	}
	return &r.Report
}

// corrected returns the arguments with all corrections, nil unless they are valid then
// and may be repeated.
func (r *report) corrected() json.RawMessage {
	args := r.args
	for _, f := range r.fixes {
		args = change(args, f.at, func(any) any { return f.to })
	}
	if _, ok := args.(map[string]any); !ok || args == left || !r.shows(args, nil) {
		return nil
	}
	raw, err := encode(args)
	if err != nil || len(raw) > maxExample || string(raw) == "" {
		return nil
	}
	if !r.valid(raw, true) {
		return nil
	}
	return raw
}

// shows reports whether a value, and all in it, may be repeated.
func (r *report) shows(v any, at []string) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if r.schema.shownName(name) != name || !r.shows(member, append(slices.Clip(at), name)) {
				return false
			}
		}
		return true
	case []any:
		for i, item := range v {
			if i > maxExample || !r.shows(item, append(slices.Clip(at), itoa(i))) {
				return false
			}
		}
		return true
	case string:
		return len(v) <= maxExample && line(scrub.Credentials(v), maxExample) == v && !r.secret(at)
	default:
		return !r.secret(at)
	}
}

// example returns a minimal valid call, nil when none was found. It keeps what the caller
// sent where that is valid and may be shown.
func (r *report) example() json.RawMessage {
	sent, _ := r.args.(map[string]any)
	root := r.schema.nodes[r.schema.root.Location]
	made, _ := (&sampler{maxSamples}).of(root, 6).(map[string]any)
	if made == nil {
		made = map[string]any{}
	}
	for name := range made {
		value, has := sent[name]
		if !has || r.opts.HideReceived || isContainer(value) || !r.shows(value, []string{name}) {
			continue
		}
		if nodes := r.at([]string{name}); len(nodes) > 0 && nodes[0].Validate(value) == nil {
			made[name] = value
		}
	}
	raw, err := encode(made)
	if err != nil || len(raw) > maxExample {
		return nil
	}
	if !r.valid(raw, true) || !r.valid(raw, r.opts.AssertFormats) {
		return nil
	}
	return raw
}

func (r *report) valid(raw []byte, strict bool) bool {
	d, err := read(raw, maxSent)
	return err == nil && r.schema.validate(d, strict, &r.work) == nil
}

// A sampler makes the simplest value that may be valid, as long as it is small.
type sampler struct{ left int }

// maxSamples bounds the values of an example.
const maxSamples = 100

func (s *sampler) of(n *node, depth int) any {
	if s.left--; n == nil || depth == 0 || s.left < 0 || n.Bool != nil {
		return unknownText
	}
	switch n = n.leaf(); {
	case len(n.Examples) > 0 && depth < 6:
		return n.Examples[0]
	case n.Default != nil && *n.Default != nil && depth < 6:
		return *n.Default
	case len(n.literals()) > 0:
		return n.literals()[0]
	}
	types := n.types()
	if len(types) == 0 {
		for _, sub := range n.same {
			if sub.Schema != n.If && sub.Schema != n.Not {
				return s.of(sub, depth-1)
			}
		}
		return unknownText
	}
	t := types[0]
	if depth == 6 && slices.Contains(types, "object") {
		t = "object"
	}
	switch t {
	case "integer", "number":
		return json.Number(number(n.simplest()))
	case "boolean":
		return true
	case "array":
		list := []any{}
		for n.MinItems != nil && len(list) < min(*n.MinItems, maxSamples) {
			list = append(list, s.of(n.child("items"), depth-1))
		}
		return list
	case "object":
		object := map[string]any{}
		names := required([]*node{n})
		for _, keyword := range []string{"anyOf", "oneOf"} { // the first form of each choice
			if form := n.child(keyword); form != nil {
				names = append(names, form.leaf().Required...)
			}
		}
		if n.MinProperties != nil {
			names = append(names, n.order[:min(len(n.order), *n.MinProperties)]...)
		}
		for _, name := range names {
			var member *node
			around([]*node{n}, func(m *node) bool {
				member = m.property(name)
				return member == nil
			})
			object[name] = s.of(member, depth-1)
		}
		return object
	case "null":
		return nil
	}
	text := unknownText
	if n.Format != nil && formats[n.Format.Name].sample != "" {
		text = formats[n.Format.Name].sample
	}
	if n.MinLength != nil {
		text += strings.Repeat(".", min(max(0, *n.MinLength-len(text)), maxExample))
	}
	if n.MaxLength != nil && len(text) > *n.MaxLength {
		text = "text"[:min(4, *n.MaxLength)]
	}
	return text
}

// unknownText stands where nothing is known of a text. It does not look like a value,
// because a value would be sent as it stands.
const unknownText = "<string>"

// simplest returns a number within the limits, 1 if it is.
func (n *node) simplest() *big.Rat {
	one := big.NewRat(1, 1)
	switch {
	case n.MultipleOf != nil:
		return n.MultipleOf
	case n.Minimum != nil && n.Minimum.Cmp(one) > 0:
		return n.Minimum
	case n.ExclusiveMinimum != nil && n.ExclusiveMinimum.Cmp(one) >= 0:
		return one.Add(n.ExclusiveMinimum, one)
	case n.Maximum != nil && n.Maximum.Cmp(one) < 0:
		return n.Maximum
	case n.ExclusiveMaximum != nil && n.ExclusiveMaximum.Cmp(one) <= 0:
		return one.Sub(n.ExclusiveMaximum, one)
	}
	return one
}
