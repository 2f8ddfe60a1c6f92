package explain

import (
	"errors"
	"net/url"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A builder makes nodes of compiled schemas.
type builder struct {
	compiler *jsonschema.Compiler
	raw      *doc
	nodes    map[*jsonschema.Schema]*node
	all      []*node
	compiled []*jsonschema.Schema // in the order of all
	schema   *Schema
	err      error // the first one: what is built then is dropped
}

// node returns the node of a schema, the same one each time.
func (b *builder) node(s *jsonschema.Schema) (*node, error) {
	n := b.sub(s)
	return n, b.err
}

func (b *builder) sub(s *jsonschema.Schema) *node {
	if s == nil || b.err != nil {
		return nil
	}
	if n, ok := b.nodes[s]; ok {
		return n
	}
	if len(b.all) >= maxSchemas {
		b.err = errors.New("the schema has too many schemas in it")
		return nil
	}
	n := &node{
		id: int32(len(b.all)), draft: s.DraftVersion, //nolint:gosec // bounded by maxSchemas
		minLength: none, maxLength: none, minItems: none, maxItems: none, minContains: none, maxContains: none, minProps: none, maxProps: none,
	}
	b.nodes[s] = n
	b.all, b.compiled = append(b.all, n), append(b.compiled, s)
	if s.Bool != nil {
		n.always = 1
		if !*s.Bool {
			n.always = -1
		}
	}
	raw := b.at(s.Location)
	b.annotate(n, raw)
	if n.ref = b.sub(s.Ref); n.ref != nil && n.draft < 2019 {
		return n // what stands beside a $ref does not count
	}
	general(n, s)
	b.inPlace(n, s)
	texts(n, s)
	b.lists(n, s)
	b.objects(n, s, raw)
	if s.Not != nil && n.not.always == 1 {
		n.always = -1 // what some marshal false as
	}
	return n
}

// at finds the schema as it was written, or nothing for one that is not ours.
func (b *builder) at(location string) int32 {
	before, fragment, _ := strings.Cut(location, "#")
	pointer, err := url.PathUnescape(fragment)
	if before != place || err != nil {
		return none
	}
	at := int32(0)
	for i, token := range strings.Split(pointer, "/") {
		if i == 0 {
			continue
		}
		next, ok := b.raw.step(at, unpointer.Replace(token))
		if !ok {
			return none
		}
		at = next
	}
	return at
}

// step goes down by one token of a JSON Pointer.
func (d *doc) step(at int32, token string) (int32, bool) {
	if d.values[at].kind == kindObject {
		return d.member(at, token)
	}
	i := 0
	for c := range d.children(at) {
		if token == itoa(i) {
			return c, true
		}
		i++
	}
	return none, false
}

// annotate reads what the schema says for people. It is read from the text,
// because a draft may let it count only in some places.
func (b *builder) annotate(n *node, raw int32) {
	if raw < 0 || b.raw.values[raw].kind != kindObject {
		return
	}
	for c := range b.raw.children(raw) {
		v := &b.raw.values[c]
		switch v.name {
		case "title":
			n.notes.title = v.text
		case "description":
			n.notes.description = v.text
		case "default":
			l := b.raw.literal(c)
			n.notes.fallback = &l
		case "examples":
			if v.kind == kindArray {
				n.notes.examples = append(n.notes.examples, b.literals(c)...)
			}
		case "example": // of OpenAPI
			n.notes.examples = append(n.notes.examples, b.raw.literal(c))
		case "writeOnly":
			n.hidden = n.hidden || v.text == "true"
		case "format":
			n.hidden = n.hidden || v.text == "password"
		}
	}
}

func (b *builder) literals(list int32) []literal {
	var all []literal
	for c := range b.raw.children(list) {
		all = append(all, b.raw.literal(c))
	}
	return all
}

// general reads the keywords for values of every kind, and for numbers.
func general(n *node, s *jsonschema.Schema) {
	if s.Types != nil {
		for _, name := range s.Types.ToStrings() {
			n.types |= kindNamed(name)
		}
	}
	if s.Enum != nil {
		n.enum = make([]literal, len(s.Enum.Values))
		for i, v := range s.Enum.Values {
			n.enum[i] = literalOf(v)
		}
		if len(n.enum) == 0 {
			n.enum, n.always = nil, -1
		}
	}
	if s.Const != nil {
		l := literalOf(*s.Const)
		n.constant = &l
	}
	if s.Format != nil {
		n.format = formatOf(s.Format)
	}
	n.minimum, n.maximum = newLimit(s.Minimum), newLimit(s.Maximum)
	n.above, n.below = newLimit(s.ExclusiveMinimum), newLimit(s.ExclusiveMaximum)
	if n.multiple = s.MultipleOf; n.multiple != nil {
		n.multipleText = newLimit(n.multiple).decimal.String()
	}
}

func kindNamed(name string) kind {
	switch name {
	case "null":
		return kindNull
	case "boolean":
		return kindBoolean
	case "number":
		return kindNumber
	case "integer":
		return kindInteger
	case "string":
		return kindString
	case "array":
		return kindArray
	case "object":
		return kindObject
	default:
		return 0
	}
}

func (b *builder) inPlace(n *node, s *jsonschema.Schema) {
	n.allOf = b.subs(s.AllOf)
	n.not = b.sub(s.Not)
	if s.If != nil {
		n.condition, n.then, n.otherwise = b.sub(s.If), b.sub(s.Then), b.sub(s.Else)
	}
	if len(s.AnyOf) > 0 {
		n.anyOf = &choice{rule: "anyOf", branches: b.subs(s.AnyOf)}
	}
	if len(s.OneOf) > 0 {
		n.oneOf = &choice{rule: "oneOf", branches: b.subs(s.OneOf)}
	}
	if d := s.DynamicRef; d != nil {
		n.dynamic = &dynamic{target: b.sub(d.Ref)}
		if d.Ref.DynamicAnchor == d.Anchor {
			n.dynamic.anchor = d.Anchor
		}
	}
	if r := s.RecursiveRef; r != nil {
		n.dynamic = &dynamic{target: b.sub(r)}
		if r.RecursiveAnchor {
			n.dynamic.anchor = recursiveAnchor
		}
	}
}

func (b *builder) subs(list []*jsonschema.Schema) []*node {
	if len(list) == 0 {
		return nil
	}
	nodes := make([]*node, len(list))
	for i, s := range list {
		nodes[i] = b.sub(s)
	}
	return nodes
}
