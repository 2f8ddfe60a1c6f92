package explain

import (
	"net/url"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/scrub"
)

// recursiveAnchor stands for $recursiveAnchor of draft 2019-09, which has no name.
const recursiveAnchor = "\x00"

// finish works out what needs all nodes.
func (b *builder) finish() {
	b.schema.dynamic = slices.ContainsFunc(b.all, func(n *node) bool { return n.dynamic != nil })
	if b.schema.dynamic {
		b.resources()
	}
	markCycles(b.all, b.schema.dynamic)
	for changed := true; changed; {
		changed = false
		for _, n := range b.all {
			if n.hidden {
				b.schema.hides = true
				continue
			}
			for m := range n.inPlace {
				if m.hidden {
					n.hidden, changed = true, true
				}
			}
		}
	}
	for _, n := range b.all {
		n.forks = n.contains != nil || len(n.patterns) > 0
		subs := 0
		for range n.inPlace {
			if subs++; subs > 1 {
				n.forks = true
				break
			}
		}
		n.conditions()
		n.anyOf.prepare()
		n.oneOf.prepare()
	}
	b.schema.known = map[string]name{}
	for _, n := range b.all {
		text := line(n.say(maxLook), maxPhrase)
		n.said = &text
		for known := range n.props {
			b.schema.known[known] = name{schemaName(known), scrub.SecretName(known)}
		}
	}
	for i := range b.raw.values {
		if b.raw.values[i].name == "default" {
			b.schema.defaults = true
		}
	}
}

// inPlace yields the nodes that apply to the same value as n, and are written in it.
func (n *node) inPlace(yield func(*node) bool) {
	all := append([]*node{n.ref, n.not, n.condition, n.then, n.otherwise}, n.allOf...)
	if n.dynamic != nil {
		all = append(all, n.dynamic.target)
	}
	for _, c := range []*choice{n.anyOf, n.oneOf} {
		if c != nil {
			all = append(all, c.branches...)
		}
	}
	for _, d := range n.dependents {
		all = append(all, d.node)
	}
	for _, m := range all {
		if m != nil && !yield(m) {
			return
		}
	}
}

// markCycles finds the nodes that come back to themselves in place: the strongly
// connected parts of the graph, by Tarjan. Where a reference depends on the way
// to it, every node may.
func markCycles(all []*node, every bool) {
	type state struct {
		index, low int
		open       bool // on the stack
	}
	states := make(map[*node]*state, len(all))
	var stack []*node
	var visit func(n *node) *state
	visit = func(n *node) *state {
		s := &state{len(states), len(states), true}
		states[n] = s
		stack = append(stack, n)
		for m := range n.inPlace {
			switch t, seen := states[m]; {
			case m == n:
				n.cyclic = true
			case !seen:
				s.low = min(s.low, visit(m).low)
			case t.open:
				s.low = min(s.low, t.index)
			}
		}
		if s.low == s.index {
			i := slices.Index(stack, n)
			for _, m := range stack[i:] {
				m.cyclic = m.cyclic || len(stack)-i > 1
				states[m].open = false
			}
			stack = stack[:i]
		}
		return s
	}
	for _, n := range all {
		n.cyclic = n.cyclic || every
		if _, seen := states[n]; !seen && !every {
			visit(n)
		}
	}
}

// resources finds for each node the resource it is in, and the dynamic anchors
// of each resource.
func (b *builder) resources() {
	b.schema.anchors = map[*node]map[string]*node{}
	for _, pointer := range b.anchored(0, "", nil) {
		if s, err := b.compiler.Compile(place + "#" + pointer); err == nil {
			b.sub(s)
		}
	}
	for done := 0; done < len(b.compiled); done++ { //nolint:intrange // it grows meanwhile
		s := b.compiled[done]
		n := b.nodes[s]
		root, err := b.compiler.Compile(b.resource(s.Location))
		if err != nil {
			continue
		}
		n.resource = b.sub(root)
		anchors := b.schema.anchors[n.resource]
		if anchors == nil {
			anchors = map[string]*node{}
			b.schema.anchors[n.resource] = anchors
		}
		if s.DynamicAnchor != "" {
			anchors[s.DynamicAnchor] = n
		}
		if s == root && s.RecursiveAnchor {
			anchors[recursiveAnchor] = n
		}
	}
}

// anchored appends the pointers of all objects that have a $dynamicAnchor.
func (b *builder) anchored(at int32, pointer string, to []string) []string {
	if _, ok := b.raw.member(at, "$dynamicAnchor"); ok && b.raw.values[at].kind == kindObject {
		to = append(to, pointer)
	}
	i := 0
	for c := range b.raw.children(at) {
		token := pointerToken(b.raw.values[c].name)
		if b.raw.values[at].kind == kindArray {
			token = itoa(i)
		}
		to = b.anchored(c, pointer+"/"+url.PathEscape(token), to)
		i++
	}
	return to
}

// resource returns the address of the resource that an address lies in: of the
// innermost schema around it that names itself.
func (b *builder) resource(location string) string {
	before, fragment, _ := strings.Cut(location, "#")
	if before != place {
		return before // the drafts' own schemas are one resource each
	}
	resource := place
	at, path := int32(0), place+"#"
	for _, escaped := range strings.Split(fragment, "/")[1:] {
		token, err := url.PathUnescape(escaped)
		if err != nil {
			return resource
		}
		next, ok := b.raw.step(at, unpointer.Replace(token))
		if !ok {
			return resource
		}
		at, path = next, path+"/"+escaped
		if id, ok := b.raw.member(at, "$id"); ok && b.raw.values[at].kind == kindObject &&
			b.raw.values[id].kind == kindString && !strings.HasPrefix(b.raw.values[id].text, "#") {
			resource = path
		}
	}
	return resource
}

var (
	unpointer = strings.NewReplacer("~1", "/", "~0", "~")
	pointer   = strings.NewReplacer("~", "~0", "/", "~1")
)

func pointerToken(name string) string { return pointer.Replace(name) }
