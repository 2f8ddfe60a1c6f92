package explain

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// place is the address of a schema that does not name itself.
	place  = "https://schema.invalid/arguments"
	draft7 = "http://json-schema.org/draft-07/schema#"

	// maxPlaces bounds the bytes of the JSON Pointers to all schemas in a schema. In a deep schema with long names
	// they are much longer than its text.
	maxPlaces = 4 << 20
	// maxPatterns bounds the patterns of one schema, in instructions of their programs. The a of a{1000} counts a
	// thousand times.
	maxPatterns = 200_000
)

// A compiler makes nodes of all schemas in a schema.
type compiler struct {
	old      bool // of draft 7
	declared map[string][]string
	list     []*node
	places   map[string]*node // by their JSON Pointers
	anchors  map[anchor]*node
	bytes    int // of the pointers to all schemas
	patterns int // about the instructions of all patterns
	err      error
}

// An anchor is a name in the schema that has an address, or in the whole.
type anchor struct {
	base *node
	name string
}

// draftOf sets the draft of a schema to one that the validator knows. An unknown one is taken for the newest.
func (c *compiler) draftOf(s *jsonschema.Schema) error {
	_, name, _ := strings.Cut(strings.TrimSuffix(s.Schema, "#"), "://")
	switch {
	case name == "json-schema.org/draft-07/schema":
		c.old, s.Schema = true, draft7
	case strings.HasPrefix(name, "json-schema.org/draft") && name != "json-schema.org/draft/2020-12/schema":
		return errors.New("$schema names a draft that is neither 7 nor 2020-12: " + s.Schema)
	default:
		s.Schema = ""
	}
	return nil
}

// failf notes the first error.
func (c *compiler) failf(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// node makes the node of a schema that is written in another one, nil for the root.
func (c *compiler) node(s *jsonschema.Schema, up *node, as part, step ...string) *node {
	n := &node{Schema: s, up: up, as: as}
	if n.as.node = n; c.err != nil {
		return n
	}
	if up != nil {
		n.base, n.pointer = up.base, up.pointer+pointerTo(step)
	}
	c.bytes += len(n.pointer)
	switch {
	case s == nil:
		c.failf("#%s must be a schema, which is an object or a boolean", n.pointer)
		return n
	case c.bytes > maxPlaces:
		c.failf("the schema is nested too deeply for the length of its names")
		return n
	case len(c.list) == maxObjects:
		c.failf("the schema has more than %d schemas in it", maxObjects)
		return n
	}
	c.list, c.places[n.pointer] = append(c.list, n), n
	if up == nil {
		n.base = n
	}
	n.hidden = s.WriteOnly || s.Format == "password"
	if c.old && s.Ref != "" {
		s = &jsonschema.Schema{Ref: s.Ref, Defs: s.Defs, Definitions: s.Definitions} // draft 7 ignores all else; writeOnly was read above
		n.Schema = s
	} else {
		c.named(n)
	}
	if never := s.Not != nil && reflect.ValueOf(*s.Not).IsZero(); never || reflect.ValueOf(*s).IsZero() {
		always := !never
		n.always = &always
		return n
	}
	c.value(n)
	c.partsOf(n)
	return n
}

// named notes the anchors of a schema, and whether references in it start at it.
func (c *compiler) named(n *node) {
	address, fragment, _ := strings.Cut(n.ID, "#")
	if address != "" {
		n.base = n
	}
	if !c.old {
		fragment = n.Anchor
	}
	for _, name := range []string{fragment, n.DynamicAnchor} {
		if name != "" {
			c.anchors[anchor{n.base, name}] = n
		}
	}
}

// value reads the keywords that have no schema in them.
func (c *compiler) value(n *node) {
	for _, name := range append(n.Types, n.Type) {
		if n.types |= kindNamed(name); kindNamed(name) == 0 && (name != "" || n.Types != nil && len(n.Types) == 0) {
			c.failf("#%s/type must be a type or list of types", n.pointer)
		}
	}
	switch {
	case n.Const != nil:
		n.values = []any{*n.Const}
	case n.Enum != nil:
		n.values = n.Enum
	}
	if n.values != nil {
		n.keys = make(map[string]bool, len(n.values))
		for _, v := range n.values {
			key := string(appendKey(nil, v))
			n.keys[key] = true
			n.quoted += len(key)
		}
	}
	if _, known := formats[n.Format]; !known {
		n.Format = ""
	}
	if n.Pattern != "" {
		if n.pattern = c.pattern(n.Pattern); n.pattern == nil {
			n.Pattern = ""
		}
	}
	n.weight = len(n.Properties) + len(n.Required)
	for _, names := range []map[string][]string{n.DependentRequired, n.DependencyStrings} {
		for _, required := range names {
			n.rare = true
			n.weight += 1 + len(required)
		}
	}
}

// pattern reads a regular expression. It returns nil for one that package regexp cannot read: it is not checked.
func (c *compiler) pattern(text string) *pattern {
	c.patterns += 16 + 4*len(text)
	if c.patterns < maxPatterns {
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return nil
		}
		p := &pattern{instructions: instructions(parsed)}
		if c.patterns += p.instructions; c.patterns < maxPatterns {
			if p.Regexp, err = regexp.Compile(text); err == nil {
				return p
			}
		}
	}
	c.failf("the patterns of the schema are too large")
	return nil
}

// instructions returns about how many instructions the program of an expression will have.
func instructions(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min, re.Max)
	}
	return n
}

// partsOf makes nodes of the schemas in a schema, in the order in which sentences mention them.
func (c *compiler) partsOf(n *node) {
	one := func(s *jsonschema.Schema, keyword string, inside bool) *node {
		if s == nil {
			return nil
		}
		return n.add(c.node(s, n, part{keyword: keyword, inside: inside}, keyword).as)
	}
	many := func(all []*jsonschema.Schema, as, keyword string, inside bool) (nodes []*node) {
		for i, s := range all {
			nodes = append(nodes, n.add(c.node(s, n, part{keyword: as, inside: inside}, keyword, strconv.Itoa(i)).as))
		}
		return nodes
	}
	named := func(all map[string]*jsonschema.Schema, keyword string, inside bool) (nodes map[string]*node) {
		nodes = make(map[string]*node, len(all))
		for _, name := range sortedNames(all) {
			nodes[name] = n.add(c.node(all[name], n, part{keyword: keyword, name: name, inside: inside}, keyword, name).as)
		}
		return nodes
	}
	n.allOf = many(n.AllOf, "allOf", "allOf", false)
	many(n.AnyOf, "anyOf", "anyOf", false)
	many(n.OneOf, "oneOf", "oneOf", false)
	if n.test = one(n.If, "if", false); n.test != nil {
		n.then, n.otherwise = one(n.Then, "then", false), one(n.Else, "else", false)
	}
	one(n.Not, "not", false)
	named(n.DependentSchemas, "dependentSchemas", false)
	named(n.DependencySchemas, "dependencies", false)
	for _, name := range sortedNames(n.PatternProperties) {
		if p := c.pattern(name); p != nil {
			n.add(c.node(n.PatternProperties[name], n, part{keyword: "patternProperties", pattern: p, inside: true}, "patternProperties", name).as)
			n.patterns = append(n.patterns, last(n.parts))
			continue
		}
		delete(n.PatternProperties, name) // which names it is for is unknown: any may be sent
		n.PatternProperties[""] = &jsonschema.Schema{}
	}
	if c.old && n.ItemsArray != nil {
		n.prefix = many(n.ItemsArray, "prefixItems", "items", true)
		n.items = one(n.AdditionalItems, "additionalItems", true)
	} else {
		n.prefix = many(n.PrefixItems, "prefixItems", "prefixItems", true)
		n.items = one(n.Items, "items", true)
	}
	one(n.Contains, "contains", true)
	one(n.UnevaluatedItems, "unevaluatedItems", true)
	n.additional = one(n.AdditionalProperties, "additionalProperties", true)
	one(n.UnevaluatedProperties, "unevaluatedProperties", true)
	one(n.PropertyNames, "propertyNames", true)
	if n.Properties != nil {
		n.members, n.order = named(n.Properties, "properties", true), c.declared[n.pointer+"/properties"]
		if len(n.order) != len(n.Properties) {
			n.order = sortedNames(n.Properties)
		}
	}
	for keyword, all := range map[string]map[string]*jsonschema.Schema{"$defs": n.Defs, "definitions": n.Definitions} {
		for _, name := range sortedNames(all) {
			c.node(all[name], n, part{keyword: keyword}, keyword, name)
		}
	}
}

// walked are the keywords whose schemas the walk applies. All others are left to the validator.
var walked = map[string]bool{
	"$ref": true, "allOf": true, "anyOf": true, "oneOf": true, "if": true, "then": true, "else": true, "properties": true, "patternProperties": true,
	"additionalProperties": true, "prefixItems": true, "items": true, "additionalItems": true,
}

// add makes a schema a part of another one.
func (n *node) add(p part) *node {
	if n.parts = append(n.parts, p); !walked[p.keyword] {
		n.rest = append(n.rest, p)
	}
	return p.node
}

// link follows the references of all schemas.
func (c *compiler) link() {
	for _, n := range c.list {
		switch {
		case c.err != nil:
			return
		case n.DynamicRef != "":
			c.failf("#%s has a $dynamicRef, which is not read", n.pointer)
		case n.Ref != "":
			if n.ref = c.follow(n.base, n.Ref); n.ref != nil {
				n.parts = slices.Insert(n.parts, 0, part{node: n.ref, keyword: "$ref"})
			}
		}
	}
}

// follow returns the schema that a reference leads to, from the schema whose address is around it.
func (c *compiler) follow(base *node, ref string) (to *node) {
	address, fragment, _ := strings.Cut(ref, "#")
	fragment, err := url.PathUnescape(fragment)
	switch {
	case address != "" || err != nil:
		c.failf("the schema refers to %s, which is outside of it", ref)
		return nil
	case fragment == "":
		return base
	case fragment[0] != '/':
		to = c.anchors[anchor{base, fragment}]
	default:
		if c.bytes += len(base.pointer) + len(fragment); c.bytes > maxPlaces {
			c.failf("the schema is nested too deeply for the length of its names")
			return nil
		}
		to = c.places[base.pointer+fragment]
	}
	if to == nil {
		c.failf("the schema refers to %s, where there is no schema", ref)
	}
	return to
}

// compile makes the nodes of a schema, and what validates by it.
func (c *compiler) compile(text []byte) (root *node, valid *jsonschema.Resolved, err error) {
	s := &jsonschema.Schema{}
	if err = json.Unmarshal(text, s); err != nil {
		return nil, nil, err
	}
	if err = c.draftOf(s); err != nil {
		return nil, nil, err
	}
	c.places, c.anchors = map[string]*node{}, map[anchor]*node{}
	root = c.node(s, nil, part{})
	if c.link(); c.err != nil {
		return nil, nil, c.err
	}
	for _, n := range c.list {
		if !n.settle() {
			return nil, nil, errors.New("the schema refers to itself for the same value, which says nothing: #" + n.pointer)
		}
	}
	valid, err = s.Resolve(&jsonschema.ResolveOptions{BaseURI: place})
	return root, valid, err
}

// settle finds out whether a schema with which n applies hides the value, and the types of values that n takes. It reports false if n leads to itself for
// the same value.
func (n *node) settle() bool {
	const entered, left = 1, 2
	if n.state == 0 {
		n.state = entered
		for _, p := range n.parts {
			if !p.inside && !p.settle() {
				return false
			}
			n.hidden = n.hidden || p.applies() && p.hidden
		}
		n.state, n.takenTypes = left, n.typesTaken()
	}
	return n.state == left
}
