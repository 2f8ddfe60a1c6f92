package explain

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// A resource is a schema with an address, and what belongs to it.
type resource struct {
	pointer   string // its place in the whole schema
	address   string
	base      *url.URL
	draft     int
	anchors   map[string]string // their places
	dynamic   map[string]*node  // the anchors of dynamic references
	recursive bool              // a recursive reference may lead to it
	root      *node
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
			return 0, fmt.Errorf("#%s/%s %w", pointer, keyword, err)
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

// weigh counts the place of a schema, or one that a reference names.
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

// maxAddress bounds the bytes of an address, each of which begins with that of the schema around.
const maxAddress = 2000

// join returns the address that a reference in r means.
func (r *resource) join(to string) (*url.URL, error) {
	if len(r.address)+len(to) > maxAddress {
		return nil, errors.New("is too long with the address of what is around it")
	}
	u, err := url.Parse(to)
	if err != nil {
		return nil, errors.New("is no URI")
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
			return nil, "", fmt.Errorf("a reference %w", err)
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
	if err = c.weigh(pointer); err != nil {
		return nil, "", err
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
				c.list = append(c.list, targets[r.anchor])
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
