package explain

import (
	"cmp"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// texts reads the keywords for strings.
func texts(n *node, s *jsonschema.Schema) {
	setCount(&n.minLength, s.MinLength)
	setCount(&n.maxLength, s.MaxLength)
	if re, ok := s.Pattern.(*pattern); ok {
		n.pattern, n.patternText = re.re, re.text
	}
}

func setCount(to *int, from *int) {
	if from != nil {
		*to = max(*from, 0)
	}
}

// lists reads the keywords for arrays.
func (b *builder) lists(n *node, s *jsonschema.Schema) {
	setCount(&n.minItems, s.MinItems)
	setCount(&n.maxItems, s.MaxItems)
	n.unique = s.UniqueItems
	if n.contains = b.sub(s.Contains); n.contains != nil {
		n.minContains = 1
		setCount(&n.minContains, s.MinContains)
		setCount(&n.maxContains, s.MaxContains)
	}
	n.itemsRule = "items"
	if s.DraftVersion >= 2020 {
		n.prefix, n.items = b.subs(s.PrefixItems), b.sub(s.Items2020)
	} else {
		switch items := s.Items.(type) {
		case *jsonschema.Schema:
			n.items = b.sub(items)
		case []*jsonschema.Schema:
			n.prefix, n.items, n.itemsRule = b.subs(items), b.either(s.AdditionalItems), "additionalItems"
		}
	}
	n.unevaluatedItems = b.sub(s.UnevaluatedItems)
}

// either makes a node of what is nil, a bool or a schema.
func (b *builder) either(v any) *node {
	switch v := v.(type) {
	case bool:
		return b.sub(&jsonschema.Schema{Bool: &v})
	case *jsonschema.Schema:
		return b.sub(v)
	default:
		return nil
	}
}

// objects reads the keywords for objects.
func (b *builder) objects(n *node, s *jsonschema.Schema, raw int32) {
	setCount(&n.minProps, s.MinProperties)
	setCount(&n.maxProps, s.MaxProperties)
	if len(s.Properties)+len(s.Required) > 0 {
		n.props = make(map[string]*property, len(s.Properties)+len(s.Required))
	}
	for _, name := range b.declared(s, raw) {
		p := &property{name: name, node: b.sub(s.Properties[name]), order: len(n.order), required: none}
		n.props[name] = p
		n.order = append(n.order, p)
	}
	for _, name := range s.Required {
		p := n.props[name]
		if p == nil {
			p = &property{name: name, order: len(s.Properties) + len(n.required), required: none}
			n.props[name] = p
		}
		if p.required == none {
			p.required = len(n.required)
			n.required = append(n.required, name)
		}
	}
	for re, sub := range s.PatternProperties {
		if re, ok := re.(*pattern); ok {
			n.patterns = append(n.patterns, patternProps{re.re, re.text, b.sub(sub)})
		}
	}
	slices.SortFunc(n.patterns, func(x, y patternProps) int { return cmp.Compare(x.text, y.text) })
	n.additional = b.either(s.AdditionalProperties)
	n.names = b.sub(s.PropertyNames)
	n.unevaluatedProps = b.sub(s.UnevaluatedProperties)
	n.tracks = n.unevaluatedProps != nil || n.unevaluatedItems != nil
	b.dependents(n, s)
}

// declared returns the names of the properties in the order of the schema.
func (b *builder) declared(s *jsonschema.Schema, raw int32) []string {
	var names []string
	if raw >= 0 {
		if c, ok := b.raw.member(raw, "properties"); ok {
			for p := range b.raw.children(c) {
				names = append(names, b.raw.values[p].name)
			}
			return names
		}
	}
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// dependents reads what holds when an object has a name.
func (b *builder) dependents(n *node, s *jsonschema.Schema) {
	for name, required := range s.DependentRequired {
		n.dependents = append(n.dependents, dependent{rule: "dependentRequired", name: name, required: required})
	}
	for name, sub := range s.DependentSchemas {
		n.dependents = append(n.dependents, dependent{rule: "dependentSchemas", name: name, node: b.sub(sub)})
	}
	for name, either := range s.Dependencies {
		d := dependent{rule: "dependencies", name: name}
		switch either := either.(type) {
		case []string:
			d.required = either
		case *jsonschema.Schema:
			d.node = b.sub(either)
		}
		n.dependents = append(n.dependents, d)
	}
	slices.SortFunc(n.dependents, func(x, y dependent) int {
		return cmp.Or(cmp.Compare(x.name, y.name), cmp.Compare(x.rule, y.rule))
	})
}
