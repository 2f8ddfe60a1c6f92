package explain

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strconv"
)

// A compiler makes nodes of the schemas in a document that can be reached from its root.
type compiler struct {
	tree      any
	declared  map[uintptr][]string
	resources map[string]*resource // by address
	roots     map[string]*resource // by place
	surveyed  map[string]bool      // the places of schemas that were looked at
	nodes     map[string]*node
	list      []*node
	places    int  // the bytes of the pointers to all schemas
	patterns  int  // about the instructions of all patterns
	dynamic   bool // a reference may lead to another place for each way to it
}

// compile returns the node of the whole schema.
func (c *compiler) compile() (*node, error) {
	base, _ := url.Parse(place)
	c.resources, c.roots = map[string]*resource{}, map[string]*resource{}
	c.surveyed, c.nodes = map[string]bool{}, map[string]*node{}
	c.enter(&resource{address: place, base: base, draft: latest})
	return c.at("")
}

// node returns the node of the schema v at a place.
func (c *compiler) node(v any, pointer string, around *resource) (*node, error) {
	if known := c.nodes[pointer]; known != nil {
		return known, nil
	}
	if err := c.weigh(pointer); err != nil {
		return nil, err
	}
	if len(c.list) == maxObjects {
		return nil, fmt.Errorf("the schema has more than %d schemas in it", maxObjects)
	}
	if own := c.roots[pointer]; own != nil {
		around = own
	}
	n := &node{pointer: pointer, resource: around, draft: around.draft}
	c.nodes[pointer] = n
	c.list = append(c.list, n)
	object, _ := v.(map[string]any)
	if always, ok := v.(bool); ok || len(object) == 0 {
		always = always || !ok
		n.always = &always
		return n, nil
	}
	k := &reading{compiler: c, node: n, object: object}
	k.read()
	if k.err != nil {
		return nil, k.err
	}
	return n, c.open(around)
}

// open makes the nodes to which dynamic references in other schemas may lead.
func (c *compiler) open(r *resource) (err error) {
	if !c.dynamic || r.root != nil {
		return nil
	}
	if r.root, err = c.at(r.pointer); err != nil {
		return err
	}
	for _, name := range sortedNames(r.dynamic) {
		if r.dynamic[name], err = c.at(r.anchors[name]); err != nil {
			return err
		}
	}
	return nil
}

var errGone = errors.New("there is nothing")

// at returns the node of the schema at a place, which need not be one where schemas stand.
func (c *compiler) at(pointer string) (*node, error) {
	if known := c.nodes[pointer]; known != nil {
		return known, nil
	}
	v, path := c.tree, steps(pointer)
	for _, name := range path {
		switch in := v.(type) {
		case map[string]any:
			inner, has := in[name]
			if v = inner; !has {
				return nil, errGone
			}
		case []any:
			i := index(name)
			if i < 0 || i >= len(in) || strconv.Itoa(i) != name {
				return nil, errGone
			}
			v = in[i]
		default:
			return nil, errGone
		}
	}
	around := c.resourceOf(pointer)
	s := surveyor{c.visit, path}
	if err := s.schema(v, around.draft); err != nil {
		return nil, err
	}
	return c.node(v, pointer, around)
}

// A reading is one schema whose keywords are read.
type reading struct {
	*compiler
	*node
	object map[string]any
	err    error
}

// get returns the value of a keyword, nil if the draft does not have it.
func (k *reading) get(keyword string) any {
	v, ok := k.object[keyword]
	if !ok || shapeOf(keyword, k.draft) == noShape {
		return nil
	}
	return v
}

// part makes a part of the node of a schema in it.
func (k *reading) part(keyword, name string, inside bool, v any, pointer ...string) *node {
	if k.err != nil {
		return nil
	}
	n, err := k.compiler.node(v, k.pointer+pointerTo(pointer), k.resource)
	if err != nil {
		k.err = err
		return nil
	}
	n.up, n.as = k.node, part{node: n, keyword: keyword, name: name, inside: inside}
	k.parts = append(k.parts, n.as)
	return n
}

// one makes a part of the schema that a keyword holds.
func (k *reading) one(inside bool, as, keyword string) *node {
	if v := k.get(keyword); v != nil {
		return k.part(as, "", inside, v, keyword)
	}
	return nil
}

// many makes parts of the list of schemas that a keyword holds.
func (k *reading) many(inside bool, as, keyword string) (all []*node) {
	list, _ := k.get(keyword).([]any)
	for i, v := range list {
		all = append(all, k.part(as, "", inside, v, keyword, strconv.Itoa(i)))
	}
	return all
}

// reference makes a part of what a keyword refers to.
func (k *reading) reference(keyword string) (to *node, anchor string) {
	text, ok := k.get(keyword).(string)
	if !ok || k.err != nil {
		return nil, ""
	}
	if to, anchor, k.err = k.follow(k.resource, text); k.err == nil {
		k.parts = append(k.parts, part{node: to, keyword: "$ref"}) // it is written elsewhere
		k.references = append(k.references, &leading{to: to})
	}
	return to, anchor
}

func (k *reading) limit(keyword string) *big.Rat {
	if n, ok := k.get(keyword).(json.Number); ok {
		return rat(n)
	}
	return nil
}

func (k *reading) pattern(text string) *pattern {
	p, err := k.compiler.pattern(text)
	k.err = cmp.Or(k.err, err)
	return p
}

func (k *reading) texts(keyword string) []string { return textsOf(k.get(keyword)) }

func textsOf(v any) (texts []string) {
	list, _ := v.([]any)
	for _, item := range list {
		if text, ok := item.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// read reads all keywords. Parts come in the order in which words tell them, those of properties last.
func (k *reading) read() {
	n := k.node
	n.writeOnly, _ = k.object["writeOnly"].(bool)
	n.examples, _ = k.object["examples"].([]any)
	n.description, _ = k.object["description"].(string)
	n.ref, _ = k.reference("$ref")
	if n.ref != nil && n.draft < 2019 {
		n.description = ""
		return // all else is ignored, but for what hides values
	}
	k.readValue()
	if to, _ := k.reference("$recursiveRef"); to != nil && to.resource != nil {
		last(k.references).recursive = to.resource.recursive && to.pointer == to.resource.pointer
	}
	if to, anchor := k.reference("$dynamicRef"); to != nil && to.resource != nil {
		if _, dynamic := to.resource.dynamic[anchor]; dynamic {
			last(k.references).anchor = anchor
		}
	}
	n.allOf = k.many(false, "allOf", "allOf")
	k.many(false, "anyOf", "anyOf")
	k.many(false, "oneOf", "oneOf")
	if n.test = k.one(false, "if", "if"); n.test != nil {
		always, isBool := k.object["if"].(bool)
		if !isBool || always {
			n.then = k.one(false, "then", "then")
		}
		if !isBool || !always {
			n.otherwise = k.one(false, "else", "else")
		}
	}
	n.not = k.one(false, "not", "not")
	k.readDependencies()
	k.readInside()
}

// readValue reads what a schema asks of a value without looking into it.
func (k *reading) readValue() {
	n := k.node
	names, isList := k.get("type").([]any)
	if !isList {
		names = []any{k.get("type")}
	}
	for _, name := range names {
		n.types |= kindNamed(name)
	}
	if v, has := k.object["const"]; has && n.draft >= 6 {
		n.constant = newLiterals(v)
	}
	if list, ok := k.get("enum").([]any); ok {
		n.enum = newLiterals(list...)
	}
	if name, ok := k.get("format").(string); ok {
		n.format = formatNamed(name)
	}
	n.minLength, n.maxLength = whole(k.get("minLength")), whole(k.get("maxLength"))
	if text, ok := k.get("pattern").(string); ok {
		n.pattern = k.pattern(text)
	}
	n.minimum, n.above = k.limit("minimum"), k.limit("exclusiveMinimum")
	n.maximum, n.below = k.limit("maximum"), k.limit("exclusiveMaximum")
	if k.get("exclusiveMinimum") == true {
		n.minimum, n.above = nil, n.minimum
	}
	if k.get("exclusiveMaximum") == true {
		n.maximum, n.below = nil, n.maximum
	}
	n.multipleOf = k.limit("multipleOf")
	n.minItems, n.maxItems = whole(k.get("minItems")), whole(k.get("maxItems"))
	n.unique = k.get("uniqueItems") == true
	n.minProperties, n.maxProperties = whole(k.get("minProperties")), whole(k.get("maxProperties"))
	n.required = k.texts("required")
	n.minContains, n.maxContains = whole(k.get("minContains")), whole(k.get("maxContains"))
}

// readDependencies reads what is asked of an object that has some name.
func (k *reading) readDependencies() {
	for _, keyword := range []string{"dependentSchemas", "dependencies", "dependentRequired"} {
		object, _ := k.get(keyword).(map[string]any)
		for _, name := range sortedNames(object) {
			d := dependency{name: name, rule: keyword}
			if list, ok := object[name].([]any); ok {
				d.required = textsOf(list)
			} else {
				d.schema = k.part("dependentSchemas", name, false, object[name], keyword, name)
			}
			k.dependencies = append(k.dependencies, d)
		}
	}
}

// readInside reads what a schema asks of the items and members of a value.
func (k *reading) readInside() {
	n := k.node
	object, _ := k.get("patternProperties").(map[string]any)
	for _, text := range sortedNames(object) {
		k.part("patternProperties", "", true, object[text], "patternProperties", text)
		if k.err == nil {
			k.parts[len(k.parts)-1].pattern = k.pattern(text)
			n.patterns = append(n.patterns, last(k.parts))
		}
	}
	if _, ok := k.object["items"].([]any); ok && n.draft < 2020 {
		n.items = k.one(true, "items", "additionalItems")
		n.prefix = k.many(true, "prefixItems", "items")
	} else {
		n.items = k.one(true, "items", "items")
		n.prefix = k.many(true, "prefixItems", "prefixItems")
	}
	n.unseenItems = k.one(true, "unevaluatedItems", "unevaluatedItems")
	n.contains = k.one(true, "contains", "contains")
	n.additional = k.one(true, "additionalProperties", "additionalProperties")
	n.unseen = k.one(true, "unevaluatedProperties", "unevaluatedProperties")
	n.names = k.one(true, "propertyNames", "propertyNames")
	if object, ok := k.get("properties").(map[string]any); ok {
		n.members, n.order = make(map[string]*node, len(object)), k.declared[identity(object)]
		names := sortedNames(object)
		if len(n.order) != len(object) {
			n.order = names
		}
		for _, name := range names {
			n.members[name] = k.part("properties", name, true, object[name], "properties", name)
		}
	}
}
