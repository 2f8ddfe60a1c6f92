package explain

import (
	"encoding/json"
	"math/big"
	"slices"

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
	if _, ok := args.(map[string]any); !ok || args == left || r.shows(args, nil) == false {
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
	made, _ := root.sample(6).(map[string]any)
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

// sample makes the simplest value that may be valid.
func (n *node) sample(depth int) any {
	if n == nil || depth == 0 || n.Bool != nil {
		return unknownText
	}
	switch n = n.leaf(); {
	case len(n.Examples) > 0 && depth < 6:
		return n.Examples[0]
	case n.Default != nil && *n.Default != nil && depth < 6:
		return *n.Default
	case n.Const != nil:
		return *n.Const
	case n.Enum != nil && len(n.Enum.Values) > 0:
		return n.Enum.Values[0]
	}
	types := n.types()
	if len(types) == 0 {
		for _, sub := range n.same {
			if sub.Schema != n.If && sub.Schema != n.Not {
				return sub.sample(depth - 1)
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
		return n.sampleNumber()
	case "boolean":
		return true
	case "array":
		return n.sampleList(depth)
	case "object":
		return n.sampleObject(depth)
	case "null":
		return nil
	}
	text := unknownText
	if n.Format != nil && formats[n.Format.Name].sample != "" {
		text = formats[n.Format.Name].sample
	}
	for n.MinLength != nil && len(text) < min(*n.MinLength, maxExample) {
		text += "."
	}
	if n.MaxLength != nil && len(text) > *n.MaxLength {
		text = "text"[:min(4, *n.MaxLength)]
	}
	return text
}

// unknownText stands where nothing is known of a text. It does not look like a value,
// because a value would be sent as it stands.
const unknownText = "<string>"

func (n *node) sampleNumber() any {
	step := n.MultipleOf
	if step == nil {
		step = big.NewRat(1, 1)
	}
	at := big.NewRat(1, 1)
	switch {
	case n.Minimum != nil && n.Minimum.Cmp(at) > 0:
		at = n.Minimum
	case n.ExclusiveMinimum != nil && n.ExclusiveMinimum.Cmp(at) >= 0:
		at = new(big.Rat).Add(n.ExclusiveMinimum, step)
	case n.Maximum != nil && n.Maximum.Cmp(at) < 0:
		at = n.Maximum
	case n.ExclusiveMaximum != nil && n.ExclusiveMaximum.Cmp(at) <= 0:
		at = new(big.Rat).Sub(n.ExclusiveMaximum, step)
	}
	if n.MultipleOf != nil { // the next one from there
		q := new(big.Rat).Quo(at, step)
		whole := new(big.Int).Div(q.Num(), q.Denom())
		if !q.IsInt() {
			whole.Add(whole, big.NewInt(1))
		}
		at = new(big.Rat).Mul(new(big.Rat).SetInt(whole), step)
	}
	return json.Number(number(at))
}

func (n *node) sampleList(depth int) any {
	list := []any{}
	least := 0
	if n.MinItems != nil {
		least = *n.MinItems
	}
	for len(list) < min(least, 12) {
		sub := n.child("items")
		if i := slices.IndexFunc(n.inner, func(m *node) bool {
			return m.keyword == "prefixItems" && m.up == n && last(splitLocation(m.Location)) == itoa(len(list))
		}); i >= 0 {
			sub = n.inner[i]
		}
		list = append(list, sub.sample(depth-1))
	}
	return list
}

func splitLocation(location string) []string { return []string{location[len(parentOf(location))+1:]} }

func (n *node) sampleObject(depth int) any {
	object := map[string]any{}
	add := func(names []string) {
		for _, name := range names {
			var sub *node
			around([]*node{n}, func(m *node) bool {
				for _, inner := range m.inner {
					if sub == nil && inner.up == m && inner.keyword == "properties" && inner.name == name {
						sub = inner
					}
				}
				return sub == nil
			})
			object[name] = sub.sample(depth - 1)
		}
	}
	add(required([]*node{n}))
	for _, keyword := range []string{"anyOf", "oneOf"} { // the first form of each choice
		if form := n.child(keyword); form != nil {
			add(form.leaf().Required)
		}
	}
	for i := 0; n.MinProperties != nil && len(object) < *n.MinProperties && i < len(n.order); i++ {
		add(n.order[i : i+1])
	}
	return object
}
