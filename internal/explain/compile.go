package explain

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strconv"
	"strings"
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

func (c *compiler) enter(r *resource) {
	r.anchors, r.dynamic = map[string]string{}, map[string]*node{}
	c.resources[r.address], c.roots[r.pointer] = r, r
}

// visit notes what one schema says of its address, its draft and its anchors.
func (c *compiler) visit(schema map[string]any, at []string, _ int) (draft int, err error) {
	pointer := pointerTo(at)
	if c.surveyed[pointer] {
		return 0, errKnown
	}
	if err = c.weigh(pointer); err != nil {
		return 0, err
	}
	c.surveyed[pointer] = true
	around := c.resourceOf(pointer)
	own := around.draft
	switch name, ok := schema["$schema"].(string); {
	case !ok:
	case draftAt(name) > 0:
		own = draftAt(name)
	case strings.Contains(name, "://json-schema.org/"):
		return 0, fmt.Errorf("#%s/$schema names no draft that is known: %s", pointer, name)
	default:
		delete(schema, "$schema") // nobody knows it: taken as what is around, or as the newest
	}
	keyword := "$id"
	if own == 4 {
		keyword = "id"
	}
	id, _ := schema[keyword].(string)
	address, fragment, _ := strings.Cut(id, "#")
	_, isReference := schema["$ref"]
	if own < 2019 && isReference { // which makes all else be ignored
		address, fragment = "", ""
	}
	here := around
	switch {
	case address != "":
		base, err := around.join(address)
		if err != nil {
			return 0, fmt.Errorf("#%s/%s is no URI", pointer, keyword)
		}
		here = &resource{pointer: pointer, address: base.String(), base: base, draft: own}
		if other := c.resources[here.address]; other != nil && other.pointer != pointer {
			return 0, fmt.Errorf("#%s and #%s have the same %s", other.pointer, pointer, keyword)
		}
		c.enter(here)
	case pointer == "":
		here.draft = own
	}
	if draft = here.draft; draft < 2019 && fragment != "" {
		if err := here.anchor(fragment, pointer); err != nil {
			return 0, err
		}
	}
	if name, ok := schema["$anchor"].(string); ok && draft >= 2019 {
		if err := here.anchor(name, pointer); err != nil {
			return 0, err
		}
	}
	if name, ok := schema["$dynamicAnchor"].(string); ok && draft >= 2020 {
		if err := here.anchor(name, pointer); err != nil {
			return 0, err
		}
		here.dynamic[name] = nil
	}
	if always, _ := schema["$recursiveAnchor"].(bool); always && draft == 2019 && here.pointer == pointer {
		here.recursive = true
	}
	c.dynamic = c.dynamic || draft >= 2020 && schema["$dynamicRef"] != nil || draft >= 2019 && schema["$recursiveRef"] != nil
	return draft, nil
}

// weigh counts the place of a schema.
func (c *compiler) weigh(pointer string) error {
	if c.places += len(pointer); c.places > maxPlaces {
		return errors.New("the schema is nested too deeply for the length of its names")
	}
	return nil
}

func (r *resource) anchor(name, pointer string) error {
	if other, twice := r.anchors[name]; twice && other != pointer {
		return fmt.Errorf("#%s and #%s have the same anchor %q", other, pointer, name)
	}
	r.anchors[name] = pointer
	return nil
}

// join returns the address that a reference in r means.
func (r *resource) join(to string) (*url.URL, error) {
	u, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	joined := r.base.ResolveReference(u)
	if !u.IsAbs() && r.base.Opaque != "" { // https://github.com/golang/go/issues/66084
		joined.Opaque = r.base.Opaque
	}
	return joined, nil
}

// resourceOf returns the resource in which a place lies.
func (c *compiler) resourceOf(pointer string) *resource {
	for {
		if len(c.roots) == 1 {
			pointer = "" // as in most schemas
		}
		if r := c.roots[pointer]; r != nil || pointer == "" {
			return r
		}
		pointer = pointer[:strings.LastIndexByte(pointer, '/')]
	}
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

// dynamicParts makes a part of all that a dynamic or recursive reference may lead to, whatever the way to it.
func (c *compiler) dynamicParts() {
	targets := map[string]*node{} // of an anchor, and of "" for recursive references
	for _, n := range c.list {
		for _, r := range n.references {
			if r.anchor == "" && !r.recursive {
				continue
			}
			if targets[r.anchor] == nil {
				targets[r.anchor] = c.targets(r)
			}
			n.parts = append(n.parts, part{node: targets[r.anchor], keyword: "$dynamicRef"})
		}
	}
}

// targets returns a node whose parts are all that a reference may lead to.
func (c *compiler) targets(r *leading) *node {
	all := &node{}
	for _, address := range sortedNames(c.resources) {
		in := c.resources[address]
		to := in.dynamic[r.anchor]
		if r.recursive && in.recursive {
			to = in.root
		}
		if to != nil {
			all.parts = append(all.parts, part{node: to, keyword: "$dynamicRef"})
		}
	}
	return all
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

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// follow returns the node that a reference leads to, and the name of the anchor by which it does.
func (c *compiler) follow(from *resource, to string) (n *node, anchor string, err error) {
	address, fragment, _ := strings.Cut(to, "#")
	in := from
	if fragment, err = url.PathUnescape(fragment); err != nil {
		return nil, "", err
	}
	if address != "" {
		u, err := from.join(address)
		if err != nil {
			return nil, "", fmt.Errorf("%q is no reference to a URI", to)
		}
		if in = c.resources[u.String()]; in == nil {
			if draft := draftAt(u.String()); draft > 0 && partShape(fragment, draft) != noShape {
				return c.ofDraft(draft, fragment), "", nil
			}
			return nil, "", fmt.Errorf("the schema refers to %s, which is outside of it", u)
		}
	}
	pointer := in.pointer + fragment
	if fragment != "" && fragment[0] != '/' {
		place, ok := in.anchors[fragment]
		if !ok {
			return nil, "", fmt.Errorf("the schema refers to %s, where there is no such anchor", to)
		}
		pointer, anchor = place, fragment
	}
	n, err = c.at(pointer)
	if errors.Is(err, errGone) {
		return nil, "", fmt.Errorf("the schema refers to %s, where there is nothing", to)
	}
	return n, anchor, err
}

// ofDraft returns the node of a part of a draft's own schema.
func (c *compiler) ofDraft(draft int, pointer string) *node {
	key := "draft " + strconv.Itoa(draft) + pointer
	if c.nodes[key] == nil {
		c.nodes[key] = &node{pointer: key, draft: draft, shape: partShape(pointer, draft)}
		c.list = append(c.list, c.nodes[key])
	}
	return c.nodes[key]
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
