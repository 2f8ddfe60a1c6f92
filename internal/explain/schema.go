package explain

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/words"
)

const (
	// maxValues and maxObjects bound a schema. The library takes time by the square
	// of the number of its objects, each of which may be a schema.
	maxValues, maxObjects = 100_000, 10_000
	// place is the address of a schema that does not name itself.
	place = "https://schema.invalid/arguments"
)

// Schema is a compiled JSON Schema. What it says never changes, and it may be used
// concurrently.
type Schema struct {
	checks   []check // as many as can run at the same time
	turn     atomic.Int64
	root     *node
	nodes    map[string]*node // by location
	names    map[string]bool  // of all properties: they are public
	tree     any              // the schema as it was written
	anchors  []string         // the locations of the schemas that a dynamic reference may lead to
	defaults bool
}

// A node is what is known of one schema beside what the library keeps.
type node struct {
	*jsonschema.Schema
	parts   []part   // the schemas that it is made of
	up      *node    // the schema that it is written in, nil for the root
	as      part     // what it is to that one
	order   []string // the names of its properties, as they were declared
	members map[string]*node
	prefix  int     // how many items have a schema of their own
	reach   []*node // the schemas that apply with it, itself first; at most maxKnown
	anyOf   *fork
	oneOf   *fork
	when    []string // the conditions under which it applies
	hidden  bool     // what it applies to must not be shown
	state   int      // whether it leads back to itself for the same value
	phrase  *string
}

// A part is one of the schemas that another one is made of.
type part struct {
	*node
	keyword string
	name    string            // of the property or condition
	pattern jsonschema.Regexp // of the names of patternProperties
	inside  bool              // it is for a value inside the one that the whole is for
}

// Compile makes a Schema of anything that marshals to a JSON Schema: bytes of JSON, a
// map, a bool, a struct. The draft is 2020-12 unless "$schema" names another one.
// References lead to places in the schema itself or to the drafts' own schemas: nothing
// is read from a file or a network.
//
// A pattern that regexp cannot read, such as one that looks ahead, is not checked. A
// schema that refers to itself for the same value is an error. The error is for the log:
// it may quote the schema.
func Compile(schema any) (_ *Schema, err error) {
	defer func() {
		if p := recover(); p != nil { // an untrusted MarshalJSON, or a schema that the library did not expect
			err = fmt.Errorf("explain: compiling the schema panicked: %s", safe.Value(p))
		} else if err != nil {
			err = fmt.Errorf("explain: %w", err)
		}
	}()
	text, ok := schema.([]byte)
	switch {
	case schema == nil:
		return nil, errors.New("the schema is nil")
	case !ok:
		if text, err = json.Marshal(schema); err != nil {
			return nil, fmt.Errorf("the schema cannot be marshalled: %w", err)
		}
	}
	d := &document{declared: map[string][]string{}}
	err = d.read(text, 2*maxValues)
	switch {
	case errors.Is(err, errDeep):
		return nil, errors.New("the schema is nested too deeply")
	case err != nil:
		return nil, fmt.Errorf("the schema is not valid JSON: %w", err)
	case d.objects > maxObjects:
		return nil, fmt.Errorf("the schema has more than %d objects", maxObjects)
	case d.values > maxValues:
		return nil, fmt.Errorf("the schema has %d values, more than %d", d.values, maxValues)
	case d.number != nil:
		return nil, errors.New("a number in the schema is out of range")
	}
	s := &Schema{
		checks: make([]check, max(leastChecks, runtime.GOMAXPROCS(0))),
		nodes:  map[string]*node{}, names: map[string]bool{}, tree: d.value, anchors: d.anchors,
	}
	_, s.defaults = filled(nil, s.tree)
	if root, ok := d.value.(map[string]any); ok {
		if draft, ok := root["$schema"].(string); ok && !strings.Contains(draft, "://json-schema.org/") {
			delete(root, "$schema") // nobody knows it: taken as the newest
		}
	}
	roots, err := s.compile()
	if err != nil {
		return nil, err
	}
	for _, root := range roots {
		s.index(root, d.declared)
	}
	s.root = s.nodes[roots[0].Location]
	return s, s.finish()
}

// compile returns the schema, and those that a reference may reach by the way to it. They
// keep the names of formats, and check all of them.
func (s *Schema) compile() (roots []*jsonschema.Schema, err error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	for _, name := range []string{"password", "idn-email", "idn-hostname", "regex"} { // not checked: other engines read what regexp cannot
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	c.UseLoader(refuse{})
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		re, _ := regexp.Compile(text)
		return &pattern{text, re}, nil
	})
	if err := c.AddResource(place, s.tree); err != nil {
		return nil, err
	}
	root, err := c.Compile(place)
	if err != nil {
		return nil, err
	}
	roots = []*jsonschema.Schema{root}
	for _, at := range s.anchors {
		if root, err := c.Compile(at); err == nil {
			roots = append(roots, root)
		}
	}
	return roots, nil
}

type refuse struct{}

func (refuse) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %s, which is outside of it", url)
}

// location writes the place of a schema as the library does.
func location(at []string) string {
	var b words.Builder
	b.WriteString(place + "#")
	for _, name := range at {
		b.WriteString("/" + url.PathEscape(escape.Replace(name)))
	}
	return b.String()
}

// A pattern is a regular expression of a schema. Its re is nil when regexp cannot read it.
type pattern struct {
	text string
	re   *regexp.Regexp
}

func (p *pattern) String() string            { return p.text }
func (p *pattern) MatchString(s string) bool { return p.re == nil || p.re.MatchString(s) }

// index finds all schemas by their locations, which errors refer to.
func (s *Schema) index(n *jsonschema.Schema, declared map[string][]string) *node {
	if known := s.nodes[n.Location]; known != nil {
		return known
	}
	made := &node{Schema: n, order: declared[n.Location], prefix: len(n.PrefixItems) + len(asSchemas(n.Items))}
	if len(made.order) != len(n.Properties) {
		made.order = slices.Sorted(maps.Keys(n.Properties))
	}
	s.nodes[n.Location] = made
	made.parts = partsOf(n)
	for i := range made.parts {
		p := &made.parts[i]
		if p.node = s.index(p.Schema, declared); p.keyword != "$ref" { // which is written elsewhere
			p.up, p.as = made, *p
		}
	}
	made.members = make(map[string]*node, len(made.order))
	for _, name := range made.order {
		s.names[name] = true
		made.members[name] = s.nodes[n.Properties[name].Location]
	}
	return made
}

// partsOf returns the schemas in n, always in the same order, each as a node of its own.
func partsOf(n *jsonschema.Schema) []part {
	var parts partList
	add := parts.add
	add(false, "$ref", "", n.Ref, n.RecursiveRef)
	if n.DynamicRef != nil {
		add(false, "$ref", "", n.DynamicRef.Ref)
	}
	add(false, "allOf", "", n.AllOf...)
	add(false, "anyOf", "", n.AnyOf...)
	add(false, "oneOf", "", n.OneOf...)
	add(false, "if", "", n.If)
	add(false, "then", "", n.Then)
	add(false, "else", "", n.Else)
	add(false, "not", "", n.Not)
	for _, name := range slices.Sorted(maps.Keys(n.DependentSchemas)) {
		add(false, "dependentSchemas", name, n.DependentSchemas[name])
	}
	for _, name := range slices.Sorted(maps.Keys(n.Dependencies)) {
		add(false, "dependentSchemas", name, asSchema(n.Dependencies[name]))
	}
	patterns := make(map[string]jsonschema.Regexp, len(n.PatternProperties))
	for re := range n.PatternProperties {
		patterns[re.String()] = re
	}
	for _, text := range slices.Sorted(maps.Keys(patterns)) {
		re := patterns[text]
		add(true, "patternProperties", "", n.PatternProperties[re])
		parts[len(parts)-1].pattern = re
	}
	add(true, "items", "", n.Items2020, asSchema(n.Items), asSchema(n.AdditionalItems))
	add(true, "prefixItems", "", n.PrefixItems...)
	add(true, "prefixItems", "", asSchemas(n.Items)...)
	add(true, "unevaluatedItems", "", n.UnevaluatedItems)
	add(true, "contains", "", n.Contains)
	add(true, "additionalProperties", "", asSchema(n.AdditionalProperties))
	add(true, "unevaluatedProperties", "", n.UnevaluatedProperties)
	add(true, "propertyNames", "", n.PropertyNames)
	add(true, "contentSchema", "", n.ContentSchema)
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		add(true, "properties", name, n.Properties[name])
	}
	return parts
}

type partList []part

// add is a call, because it is called thirty times.
//
//go:noinline
func (parts *partList) add(inside bool, keyword, name string, subs ...*jsonschema.Schema) {
	for _, sub := range subs {
		if sub != nil {
			*parts = append(*parts, part{keyword: keyword, name: name, inside: inside, node: &node{Schema: sub}})
		}
	}
}

func asSchema(v any) *jsonschema.Schema    { s, _ := v.(*jsonschema.Schema); return s }
func asSchemas(v any) []*jsonschema.Schema { s, _ := v.([]*jsonschema.Schema); return s }

// finish works out what needs all schemas.
func (s *Schema) finish() error {
	for _, n := range s.nodes {
		if !n.ends() {
			return errors.New("the schema refers to itself for the same value, which says nothing: " + n.Location)
		}
	}
	for _, n := range s.nodes {
		n.reaches(n)
		n.hidden = slices.ContainsFunc(n.reach, func(n *node) bool {
			return n.WriteOnly || n.Format != nil && n.Format.Name == "password"
		})
	}
	for _, n := range s.nodes {
		n.words()
		n.anyOf, n.oneOf, n.when = newFork(n, "anyOf"), newFork(n, "oneOf"), n.conditions()
	}
	return nil
}

// ends reports whether n leads to itself for the same value in no way.
func (n *node) ends() bool {
	const entered, left = 1, 2
	if n.state == 0 {
		n.state = entered
		for _, p := range n.parts {
			if !p.inside && !p.ends() {
				return false
			}
		}
		n.state = left
	}
	return n.state == left
}

// reaches finds the schemas that apply with n, n itself first.
func (n *node) reaches(to *node) {
	if len(n.reach) == maxKnown || slices.Contains(n.reach, to) {
		return
	}
	n.reach = append(n.reach, to)
	for _, p := range to.parts {
		if !p.inside && p.keyword != "if" && p.keyword != "not" {
			n.reaches(p.node)
		}
	}
}

// around returns the schemas and those that apply with them to the same value, each once.
func around(from ...*node) []*node {
	if len(from) == 1 {
		return from[0].reach
	}
	var all []*node
	for _, n := range from {
		for _, n := range n.reach {
			if !slices.Contains(all, n) && len(all) < maxKnown {
				all = append(all, n)
			}
		}
	}
	return all
}

// part returns the first schema that a keyword of n holds.
func (n *node) part(keyword string) *node {
	for _, p := range n.parts {
		if p.keyword == keyword {
			return p.node
		}
	}
	return nil
}

// leaf follows a reference that stands alone.
func (n *node) leaf() *node {
	for range 8 {
		if n.Ref == nil || n.Types != nil || n.Enum != nil || n.Const != nil || len(n.parts) == 0 {
			break
		}
		n = n.parts[0].node
	}
	return n
}

// maxSteps is how deep what is told of a value takes the schema into account.
const maxSteps = 64

// along yields the schemas that apply at each place on the way to one in the arguments, as
// properties and items lead there.
func (s *Schema) along(steps []string) iter.Seq[[]*node] {
	return func(yield func([]*node) bool) {
		here := []*node{s.root}
		for i := 0; yield(here) && i < len(steps); i++ {
			here = inside(here, steps[i])
		}
	}
}

// at returns the schemas that apply at a place.
func (s *Schema) at(steps []string) (here []*node) {
	if len(steps) <= maxSteps {
		for here = range s.along(steps) { //nolint:revive // the last
		}
	}
	return here
}

// inside returns the schemas for a member of what others are for.
func inside(here []*node, step string) []*node {
	var own, rest []*node
	add := func(to *[]*node, n *node) {
		if !slices.Contains(*to, n) {
			*to = append(*to, n)
		}
	}
	i := index(step)
	for _, n := range around(here...) {
		if p, ok := n.members[step]; ok {
			add(&own, p)
		}
		prefixed := 0
		for _, p := range n.parts[:len(n.parts)-len(n.members)] { // the properties are the last
			switch p.keyword {
			case "patternProperties":
				if p.pattern.MatchString(step) {
					add(&own, p.node)
				}
			case "prefixItems":
				if prefixed == i {
					add(&own, p.node)
				}
				prefixed++
			case "items":
				if i >= n.prefix {
					add(&own, p.node)
				}
			case "additionalProperties", "unevaluatedProperties":
				add(&rest, p.node)
			case "unevaluatedItems":
				if i >= 0 {
					add(&rest, p.node)
				}
			}
		}
		if len(own) >= maxKnown {
			break
		}
	}
	if len(own) == 0 {
		return rest
	}
	return own
}

const maxKnown = 200 // schemas, or names, that are looked at for one place

// known returns the names that an object may have, in the order of the schema.
func known(from []*node) (names []string) {
	for _, n := range around(from...) {
		others := names // one schema has each name once
		for _, name := range n.order {
			p := n.Properties[name]
			if len(names) < maxKnown && (p.Bool == nil || *p.Bool) && !slices.Contains(others, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// required returns the names that an object must have, whatever else it has.
func required(from []*node) (names []string) {
	from = slices.Clip(from)
	for i := 0; i < min(len(from), maxKnown); i++ { //nolint:intrange // from grows
		for _, name := range from[i].Required {
			if len(names) < maxKnown && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		for _, p := range from[i].parts {
			if (p.keyword == "$ref" || p.keyword == "allOf") && !slices.Contains(from, p.node) {
				from = append(from, p.node)
			}
		}
	}
	return names
}
