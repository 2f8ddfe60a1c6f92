package explain

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

const (
	maxExample = 1000 // bytes
	maxSamples = 100  // values of an example
	maxLevels  = 6    // of them
)

// corrected returns the arguments with all corrections, nil unless these are certain, the
// arguments are valid then, and they may be repeated.
func (r *report) corrected() json.RawMessage {
	if r.unsure || r.opts.HideReceived {
		return nil
	}
	for _, f := range r.fixes {
		r.args = change(r.args, f.at, f.to)
	}
	if _, ok := r.args.(map[string]any); !ok || !r.shows(r.args, nil) {
		return nil
	}
	return r.valid(r.args, true)
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
			if i > maxExample || !r.shows(item, append(slices.Clip(at), strconv.Itoa(i))) {
				return false
			}
		}
		return true
	case string:
		return len(v) <= maxExample && words.Cut(scrub.Credentials(v), maxExample) == v && !r.secret(at)
	default:
		return !r.secret(at)
	}
}

// valid writes arguments that are short and valid in all the given ways of checking formats, nil
// for others.
func (r *report) valid(args any, formats ...bool) json.RawMessage {
	raw, err := encode(args)
	if err != nil || len(raw) > maxExample {
		return nil
	}
	d, err := read(raw, maxSent)
	for _, assert := range formats {
		if err != nil || r.validate(r.schema.root, d, assert) != nil {
			return nil
		}
	}
	return raw
}

// badlyWrong reports whether more than half of what is required is missing, or all is something else.
func (r *report) badlyWrong(found []finding) bool {
	_, isObject := r.args.(map[string]any)
	missing, all := 0, required([]*node{r.schema.root})
	for i := range found {
		if f := &found[i]; f.rule == "required" && f.missing() && len(f.at) == 1 && slices.Contains(all, f.at[0]) {
			missing++
		}
	}
	return !isObject || 2*missing > len(all)
}

// example returns a minimal valid call, nil when none was found. It keeps what the caller
// sent where that is valid and may be shown.
func (r *report) example() json.RawMessage {
	sent, _ := r.args.(map[string]any)
	made, _ := (&sampler{maxSamples}).of(r.schema.root, maxLevels).(map[string]any)
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
	return r.valid(made, true, r.opts.AssertFormats)
}

// A sampler makes the simplest value that may be valid, as long as it is small.
type sampler struct{ left int }

func (s *sampler) of(n *node, depth int) any {
	if s.left--; n == nil || depth == 0 || s.left < 0 || n.Bool != nil {
		return unknownText
	}
	switch n = n.leaf(); {
	case len(n.Examples) > 0 && depth < maxLevels:
		return n.Examples[0]
	case n.Default != nil && *n.Default != nil && depth < maxLevels:
		return *n.Default
	case len(n.literals()) > 0:
		return n.literals()[0]
	}
	types := n.types()
	if len(types) == 0 {
		for _, p := range n.parts {
			if !p.inside && p.keyword != "if" && p.keyword != "not" {
				return s.of(p.node, depth-1)
			}
		}
		return unknownText
	}
	switch types[0] {
	case "integer", "number":
		for _, limit := range []*big.Rat{big.NewRat(1, 1), n.MultipleOf, n.Minimum, n.Maximum} {
			if limit != nil && n.Validate(json.Number(number(limit))) == nil {
				return json.Number(number(limit))
			}
		}
		return json.Number("1")
	case "boolean":
		return true
	case "array":
		list := []any{}
		for n.MinItems != nil && len(list) < min(*n.MinItems, maxSamples) {
			list = append(list, s.of(n.part("items"), depth-1))
		}
		return list
	case "object":
		return s.object(n, depth)
	case "null":
		return nil
	}
	if n.Format != nil {
		if _, example, ok := strings.Cut(formats[n.Format.Name], suchAs); ok {
			text, _, _ := strings.Cut(example, " ")
			return text
		}
	}
	return unknownText
}

// object has the members that are required, also by the first form of each choice.
func (s *sampler) object(n *node, depth int) map[string]any {
	names := required([]*node{n})
	for _, form := range []*node{n.part("anyOf"), n.part("oneOf")} {
		if form != nil {
			names = append(names, form.leaf().Required...)
		}
	}
	object := map[string]any{}
	for _, name := range names {
		var member *node
		for _, m := range n.reach {
			if member = m.members[name]; member != nil {
				break
			}
		}
		object[name] = s.of(member, depth-1)
	}
	return object
}

// unknownText stands where nothing is known of a text. It does not look like a value,
// because a value would be sent as it stands.
const unknownText = "<string>"
