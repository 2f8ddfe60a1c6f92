package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpchain/mcpchain/internal/safe"
)

const (
	// maxValues and maxObjects bound a schema. The library takes time by the square
	// of the number of its objects, each of which may be a schema.
	maxValues, maxObjects = 100_000, 10_000
	// place is the address of a schema that does not name itself.
	place = "https://schema.invalid/arguments"
)

// Schema is a compiled JSON Schema. It never changes and may be used concurrently.
type Schema struct {
	root     *jsonschema.Schema
	strict   *jsonschema.Schema // checks "format" whatever the draft
	counted  [2]counted         // root and strict once more, made when the work has to be counted
	nodes    map[string]*node   // by location; they keep the names of formats
	names    map[string]bool    // of all properties: they are public
	tree     any                // the schema as it was written
	defaults bool
	texts    bool // something looks at every character of a text
	weight   int  // the units of work for one value at most; 0 if there is no bound
}

// A node is what is known of one schema beside what the library keeps.
type node struct {
	*jsonschema.Schema
	up       *node // the schema that this one is written in
	keyword  string
	name     string // of the property or condition
	inside   bool   // it is for a value inside the one that up is for
	order    []string
	ranks    map[string]int // of the names in order
	prefix   []*jsonschema.Schema
	patterns []matching
	example  string
	fallback string // the default
	anyOf    *fork
	oneOf    *fork
	reach    []*node // the schemas that apply with it, itself first; at most maxKnown
	hidden   bool    // what it applies to must not be shown
	unique   bool
	knows    map[string]bool // the names of a form of a choice
	same     []*node         // the schemas that apply to the same value
	inner    []*node         // the schemas for values inside
	phrase   string
	phrased  bool
	weighing bool
	weight   int
}

// A matching is the schema of the properties whose names match a pattern.
type matching struct {
	re jsonschema.Regexp
	*jsonschema.Schema
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
	d, err := read(text, 2*maxValues)
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
	s := &Schema{nodes: map[string]*node{}, names: map[string]bool{}, tree: d.value, defaults: bytes.Contains(text, []byte(`"default"`))}
	if root, ok := d.value.(map[string]any); ok {
		if draft, ok := root["$schema"].(string); ok && !strings.Contains(draft, "://json-schema.org/") {
			delete(root, "$schema") // nobody knows it: taken as the newest
		}
	}
	roots, err := s.compile(false)
	if err != nil {
		return nil, err
	}
	s.root = roots[0]
	if roots, err = s.compile(true); err != nil {
		return nil, err
	}
	s.strict = roots[0]
	for _, root := range roots {
		s.index(root)
	}
	declared(json.NewDecoder(bytes.NewReader(text)), place+"#", s.nodes)
	return s, s.finish()
}

// compile returns the schema, and those that a reference may reach by the way to it.
func (s *Schema) compile(formats bool) (roots []*jsonschema.Schema, err error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if formats {
		c.AssertFormat()
	}
	for _, name := range []string{"password", "idn-email", "idn-hostname"} { // so that their names are kept
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	c.UseLoader(refuse{})
	c.UseRegexpEngine(compilePattern)
	if err := c.AddResource(place, s.tree); err != nil {
		return nil, err
	}
	root, err := c.Compile(place)
	if err != nil {
		return nil, err
	}
	roots = []*jsonschema.Schema{root}
	defer func() {
		done := map[*jsonschema.Schema]bool{}
		for _, root := range roots {
			adapt(root, done)
		}
	}()
	for _, pointer := range anchors(s.tree, "", nil) {
		if root, err := c.Compile(place + "#" + pointer); err == nil {
			roots = append(roots, root)
		}
	}
	return roots, nil
}

type refuse struct{}

func (refuse) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %s, which is outside of it", url)
}

// anchors appends the pointers of the schemas that a dynamic reference may lead to.
func anchors(v any, pointer string, to []string) []string {
	switch v := v.(type) {
	case map[string]any:
		if v["$dynamicAnchor"] != nil || v["$recursiveAnchor"] == true {
			to = append(to, pointer)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			to = anchors(v[name], pointer+"/"+token(name), to)
		}
	case []any:
		for i, item := range v {
			to = anchors(item, pointer+"/"+strconv.Itoa(i), to)
		}
	}
	return to
}

// token writes a name as the library does in the location of a schema.
func token(name string) string { return url.PathEscape(escape.Replace(name)) }

// A pattern is a regular expression of a schema. Its re is nil when regexp cannot read it.
type pattern struct {
	text string
	re   *regexp.Regexp
}

func (p *pattern) String() string            { return p.text }
func (p *pattern) MatchString(s string) bool { return p.re == nil || p.re.MatchString(s) }

func compilePattern(text string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		re, _ = regexp.Compile(ofECMA.ReplaceAllStringFunc(text, fromECMA))
	}
	return &pattern{text, re}, nil
}

// ofECMA finds what ECMAScript writes differently. A double backslash is found so that
// what follows it is not taken for an escape.
var ofECMA = regexp.MustCompile(`\\\\|\\u[0-9a-fA-F]{4}|\\u\{[0-9a-fA-F]{1,6}\}`)

func fromECMA(s string) string {
	if s == `\\` {
		return s
	}
	return `\x{` + strings.Trim(s[2:], "{}") + `}`
}

// maxRegexp bounds the patterns of a caller that are read.
const maxRegexp = 4096

// checkPattern lets pass what another engine may understand.
func checkPattern(v any) error {
	text, _ := v.(string)
	if len(text) > maxRegexp {
		return nil
	}
	_, err := regexp.Compile(ofECMA.ReplaceAllStringFunc(text, fromECMA))
	if e := (*syntax.Error)(nil); errors.As(err, &e) {
		switch e.Code {
		case syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrInvalidCharRange, syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrNestingDepth:
			return nil
		default:
		}
	}
	return err
}

// index finds all schemas by their locations, which errors refer to.
func (s *Schema) index(n *jsonschema.Schema) *node {
	if known := s.nodes[n.Location]; known != nil {
		return known
	}
	made := &node{Schema: n}
	s.nodes[n.Location] = made
	made.unique = slices.ContainsFunc(n.Extensions, func(e jsonschema.SchemaExt) bool { _, is := e.(unique); return is })
	add := func(keyword, name string, sub *jsonschema.Schema, inside bool) {
		c := s.index(sub)
		if keyword == "properties" {
			s.names[name] = true
		}
		if keyword != "$ref" { // which is written elsewhere
			c.up, c.keyword, c.name, c.inside = made, keyword, name, inside
		}
		if inside {
			made.inner = append(made.inner, c)
		} else {
			made.same = append(made.same, c)
		}
	}
	made.patterns = patternsOf(n)
	each(n, add)
	return made
}

// each shows the schemas in n, always in the same order.
func each(n *jsonschema.Schema, show func(keyword, name string, sub *jsonschema.Schema, inside bool)) {
	add := func(keyword, name string, sub *jsonschema.Schema, inside bool) {
		if sub != nil {
			show(keyword, name, sub, inside)
		}
	}
	several := func(keyword string, subs []*jsonschema.Schema, inside bool) {
		for _, sub := range subs {
			add(keyword, "", sub, inside)
		}
	}
	add("$ref", "", n.Ref, false)
	add("$ref", "", n.RecursiveRef, false)
	if n.DynamicRef != nil {
		add("$ref", "", n.DynamicRef.Ref, false)
	}
	several("allOf", n.AllOf, false)
	several("anyOf", n.AnyOf, false)
	several("oneOf", n.OneOf, false)
	add("if", "", n.If, false)
	add("then", "", n.Then, false)
	add("else", "", n.Else, false)
	add("not", "", n.Not, false)
	for _, name := range slices.Sorted(maps.Keys(n.DependentSchemas)) {
		add("dependentSchemas", name, n.DependentSchemas[name], false)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Dependencies)) {
		add("dependentSchemas", name, asSchema(n.Dependencies[name]), false)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		add("properties", name, n.Properties[name], true)
	}
	for _, p := range patternsOf(n) {
		add("patternProperties", "", p.Schema, true)
	}
	several("items", []*jsonschema.Schema{n.Items2020, asSchema(n.Items), asSchema(n.AdditionalItems)}, true)
	several("prefixItems", slices.Concat(n.PrefixItems, asSchemas(n.Items)), true)
	add("unevaluatedItems", "", n.UnevaluatedItems, true)
	add("contains", "", n.Contains, true)
	add("additionalProperties", "", asSchema(n.AdditionalProperties), true)
	add("unevaluatedProperties", "", n.UnevaluatedProperties, true)
	for _, ext := range n.Extensions {
		if e, ok := ext.(naming); ok {
			add("propertyNames", "", e.of, true)
		}
	}
	add("contentSchema", "", n.ContentSchema, true)
}

func patternsOf(n *jsonschema.Schema) (patterns []matching) {
	for re, sub := range n.PatternProperties {
		patterns = append(patterns, matching{re, sub})
	}
	slices.SortFunc(patterns, func(a, b matching) int { return strings.Compare(a.re.String(), b.re.String()) })
	return patterns
}

func asSchema(v any) *jsonschema.Schema    { s, _ := v.(*jsonschema.Schema); return s }
func asSchemas(v any) []*jsonschema.Schema { s, _ := v.([]*jsonschema.Schema); return s }

// finish works out what needs all schemas.
func (s *Schema) finish() error { //nolint:gocognit // one step after the other
	var recursive, dynamic []*node
	anchored := map[string][]*node{}
	for _, n := range s.nodes {
		if n.RecursiveAnchor {
			recursive = append(recursive, n)
		}
		if n.DynamicAnchor != "" {
			anchored[n.DynamicAnchor] = append(anchored[n.DynamicAnchor], n)
		}
	}
	for _, n := range s.nodes {
		if len(n.order) < len(n.Properties) {
			n.order = slices.Sorted(maps.Keys(n.Properties))
		}
		n.ranks = make(map[string]int, len(n.order))
		for i, name := range n.order {
			n.ranks[name] = i
		}
		n.prefix = slices.Concat(n.PrefixItems, asSchemas(n.Items))
	}
	ways := map[*node]int{} // 1 while it is looked into, 2 when it is known to end
	var ends func(n *node) bool
	ends = func(n *node) bool {
		if ways[n] == 0 {
			ways[n] = 1
			for _, sub := range n.same {
				if !ends(sub) {
					return false
				}
			}
			ways[n] = 2
		}
		return ways[n] == 2
	}
	for _, n := range s.nodes {
		if !ends(n) {
			return errors.New("the schema refers to itself for the same value, which says nothing: " + n.Location)
		}
	}
	for _, n := range s.nodes { // where a reference leads depends on the way to it: all are counted
		switch {
		case n.RecursiveRef != nil:
			dynamic = recursive
		case n.DynamicRef != nil:
			dynamic = anchored[n.DynamicRef.Anchor]
		default:
			continue
		}
		for _, sub := range dynamic {
			if !slices.Contains(n.same, sub) {
				n.same = append(n.same, sub)
			}
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
		s.texts = s.texts || texts(n.Schema) > 0
		n.example = n.shown(n.Examples)
		if n.Default != nil && *n.Default != nil {
			n.fallback = n.shown([]any{*n.Default})
		}
		n.anyOf, n.oneOf = s.fork(n.AnyOf), s.fork(n.OneOf)
		if n.keyword == "anyOf" || n.keyword == "oneOf" {
			n.knows = map[string]bool{}
			for _, name := range known([]*node{n}) {
				n.knows[name] = true
			}
		}
	}
	s.weight = s.nodes[s.root.Location].weigh()
	return nil
}

// shown writes the first of some values that is short and valid.
func (n *node) shown(values []any) string {
	for _, v := range values {
		if text := literal(v); len(text) <= maxName && n.Validate(v) == nil {
			return text
		}
	}
	return ""
}

// weigh counts the schemas that one value is checked against at most, with those for the
// values inside. It returns 0 if there is no bound because the schema is recursive.
func (n *node) weigh() int {
	switch {
	case n.weighing:
		return 0
	case n.weight != 0:
		return max(n.weight, 0)
	}
	n.weighing = true
	defer func() { n.weighing = false }()
	sum := units(n.Schema) + 2*texts(n.Schema)
	for _, sub := range slices.Concat(n.same, n.inner) {
		w := sub.weigh()
		if sum += w; w == 0 || sum > maxWork {
			n.weight = -1
			return 0
		}
	}
	n.weight = sum
	return sum
}

// declared notes the order in which schemas declare their properties.
func declared(d *json.Decoder, at string, nodes map[string]*node) {
	t, err := d.Token()
	switch {
	case err != nil:
	case t == json.Delim('{'):
		n := nodes[strings.TrimSuffix(at, "/properties")]
		if !strings.HasSuffix(at, "/properties") {
			n = nil
		}
		for d.More() {
			key, _ := d.Token()
			name, _ := key.(string)
			if n != nil && n.Properties[name] != nil {
				n.order = append(n.order, name)
			}
			declared(d, at+"/"+token(name), nodes)
		}
		_, _ = d.Token()
	case t == json.Delim('['):
		for i := 0; d.More(); i++ {
			declared(d, at+"/"+strconv.Itoa(i), nodes)
		}
		_, _ = d.Token()
	}
}

// around yields the schemas and those that apply with them to the same value, each once.
func around(from []*node, yield func(*node) bool) {
	if len(from) == 1 {
		for _, n := range from[0].reach {
			if !yield(n) {
				return
			}
		}
		return
	}
	seen := map[*node]bool{}
	for _, n := range from {
		for _, n := range n.reach {
			if !seen[n] && !yield(n) {
				return
			}
			seen[n] = true
		}
	}
}

// reaches finds the schemas that apply with n, n itself first.
func (n *node) reaches(to *node) {
	if len(n.reach) == maxKnown || slices.Contains(n.reach, to) {
		return
	}
	n.reach = append(n.reach, to)
	for _, sub := range to.same {
		if sub.Schema != to.If && sub.Schema != to.Not {
			n.reaches(sub)
		}
	}
}

// maxSteps is how deep what is told of a value takes the schema into account.
const maxSteps = 64

// at returns the schemas that properties and items lead to at a place in the arguments. It
// remembers those on the way, because most places that are asked for lie close together.
func (r *report) at(steps []string) []*node {
	if len(steps) > maxSteps {
		return nil
	}
	if r.trail == nil {
		r.trail = [][]*node{{r.schema.nodes[r.schema.root.Location]}}
	}
	i := 0
	for i < min(len(steps), len(r.steps)) && steps[i] == r.steps[i] {
		i++
	}
	if i < len(steps) {
		r.steps, r.trail = append(r.steps[:i], steps[i:]...), r.trail[:i+1]
		for _, step := range steps[i:] {
			r.trail = append(r.trail, r.schema.inside(r.trail[len(r.trail)-1], step))
		}
	}
	return slices.Clip(r.trail[len(steps)])
}

// inside returns the schemas for a member of what others are for.
func (s *Schema) inside(here []*node, step string) []*node {
	var next, rest []*node
	add := func(to *[]*node, sub *jsonschema.Schema) {
		if sub == nil {
			return
		}
		if n := s.nodes[sub.Location]; !slices.Contains(*to, n) {
			*to = append(*to, n)
		}
	}
	i := index(step)
	around(here, func(n *node) bool {
		add(&next, n.Properties[step])
		for _, p := range n.patterns {
			if p.re.MatchString(step) {
				add(&next, p.Schema)
			}
		}
		add(&rest, asSchema(n.AdditionalProperties))
		add(&rest, n.UnevaluatedProperties)
		if i >= 0 {
			if prefix := n.prefix; i < len(prefix) {
				add(&next, prefix[i])
			} else {
				add(&next, n.Items2020)
				add(&next, asSchema(n.Items))
				add(&next, asSchema(n.AdditionalItems))
			}
			add(&rest, n.UnevaluatedItems)
		}
		return len(next) < maxKnown
	})
	if len(next) == 0 {
		next = rest
	}
	return next
}

const maxKnown = 200 // schemas, or names, that are looked at for one place

// known returns the names that an object may have, in the order of the schema.
func known(from []*node) (names []string) {
	around(from, func(n *node) bool {
		others := names // one schema has each name once
		for _, name := range n.order {
			p := n.Properties[name]
			if len(names) < maxKnown && (p.Bool == nil || *p.Bool) && !slices.Contains(others, name) {
				names = append(names, name)
			}
		}
		return len(names) < maxKnown
	})
	return names
}

// required returns the names that an object must have, whatever else it has.
func required(from []*node) (names []string) {
	for i := 0; i < min(len(from), maxKnown); i++ { //nolint:intrange // from grows
		for _, name := range from[i].Required {
			if len(names) < maxKnown && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		for _, sub := range from[i].same {
			if k := sub.keywordIn(from[i]); (k == "$ref" || k == "allOf") && !slices.Contains(from, sub) {
				from = append(slices.Clip(from), sub)
			}
		}
	}
	return names
}

// keywordIn returns the keyword by which n applies to the value that by is for.
func (n *node) keywordIn(by *node) string {
	if n.up == by {
		return n.keyword
	}
	return "$ref"
}
