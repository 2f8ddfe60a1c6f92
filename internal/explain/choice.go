package explain

import "slices"

// maxLook bounds how far a schema is followed to see what it asks for.
const maxLook = 8

// prepare works out how the branches of a choice are told apart.
func (c *choice) prepare() {
	if c == nil {
		return
	}
	c.sets = requiredSets(c.branches)
	if len(c.branches) < 2 {
		return
	}
	for _, name := range c.branches[0].propNames(maxLook) {
		var tags [][]literal
		for _, n := range c.branches {
			values := n.tagsOf(name, maxLook)
			if values == nil {
				break
			}
			tags = append(tags, values)
		}
		if len(tags) == len(c.branches) && differ(tags) {
			c.by, c.tags = name, tags
			return
		}
	}
}

// differ reports that not all branches take the same values.
func differ(tags [][]literal) bool {
	return slices.ContainsFunc(tags[1:], func(t []literal) bool {
		return !slices.EqualFunc(t, tags[0], func(x, y literal) bool { return x.raw == y.raw })
	})
}

// requiredSets returns the required names of branches that ask for nothing else.
func requiredSets(branches []*node) [][]string {
	sets := make([][]string, len(branches))
	for i, n := range branches {
		if len(n.required) == 0 || len(n.required) > 4 || !n.onlyRequires() {
			return nil
		}
		sets[i] = n.required
	}
	return sets
}

// onlyRequires reports that n says nothing but which names there must be.
func (n *node) onlyRequires() bool {
	return n.onlyMembers() && !slices.ContainsFunc(n.order, func(p *property) bool { return p.node.always <= 0 })
}

// onlyMembers reports that n says nothing but which properties and required names
// there are.
func (n *node) onlyMembers() bool {
	for range n.inPlace {
		return false
	}
	return n.always == 0 && n.types&^kindObject == 0 && n.constant == nil && n.enum == nil && n.additional == nil && n.names == nil &&
		len(n.patterns) == 0 && len(n.dependents) == 0 && n.minProps <= 0 && n.maxProps < 0 && n.unevaluatedProps == nil
}

// follow calls f for n and what applies with it without a condition, until f
// returns true.
func (n *node) follow(depth int, f func(*node) bool) bool {
	if n == nil || depth == 0 {
		return false
	}
	if f(n) || n.ref.follow(depth-1, f) {
		return true
	}
	for _, sub := range n.allOf {
		if sub.follow(depth-1, f) {
			return true
		}
	}
	return false
}

func (n *node) propNames(depth int) (names []string) {
	n.follow(depth, func(n *node) bool {
		for _, p := range n.order {
			names = append(names, p.name)
		}
		return false
	})
	return names
}

// tagsOf returns the values that a property must have, nil when it is not bound
// to some.
func (n *node) tagsOf(name string, depth int) (values []literal) {
	n.follow(depth, func(n *node) bool {
		p := n.props[name]
		return p != nil && p.node.follow(depth, func(n *node) bool {
			switch {
			case n.constant != nil:
				values = []literal{*n.constant}
			case n.enum != nil:
				values = n.enum
			}
			return values != nil
		})
	})
	return values
}

// requires reports whether an object must have the name.
func (n *node) requires(name string) bool {
	return n.follow(maxLook, func(n *node) bool { return slices.Contains(n.required, name) })
}

// allRequired returns the names that an object must have in any case.
func (n *node) allRequired() (names []string) {
	n.follow(maxLook, func(n *node) bool {
		for _, name := range n.required {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return len(names) > maxKnown
	})
	return names
}

// conditions finds the words for a simple condition: one that asks for the value
// of one property, or for its presence.
func (n *node) conditions() {
	c := n.condition
	if c == nil || !c.onlyMembers() {
		return
	}
	switch {
	case len(c.order) > 1 || len(c.required) > 1:
	case len(c.order) == 1 && (len(c.required) == 0 || c.required[0] == c.order[0].name):
		p := c.order[0]
		values := c.tagsOf(p.name, maxLook)
		if values == nil && p.node.isPhrase() {
			n.conditionOn(p.name, p.node.say(maxLook))
		} else if len(values) > 0 && len(values) <= maxNamed {
			n.conditionOn(p.name, alternatives(values))
		}
	case len(c.order) == 0 && len(c.required) == 1:
		n.onlyName = c.required[0]
		name := quoted(schemaName(n.onlyName))
		n.onlyWhen, n.onlyUnless = name+" is sent", name+" is not sent"
	}
}

// conditionOn keeps a condition on one name.
func (n *node) conditionOn(name, what string) {
	if what == "" || len(what) > maxCondition/2 {
		return
	}
	n.onlyName = name
	name = quoted(schemaName(name))
	n.onlyWhen, n.onlyUnless = name+" is "+what, name+" is not "+what
}

// isPhrase reports that the phrase for a schema says all that it asks for.
func (n *node) isPhrase() bool {
	for range n.inPlace {
		return false
	}
	switch n.types {
	case 0, kindString, kindNumber, kindInteger, kindBoolean, kindNull:
		return n.format == nil && n.contains == nil && n.prefix == nil && n.items == nil && n.props == nil && n.patterns == nil && n.additional == nil &&
			n.names == nil && n.dependents == nil && !n.tracks && !n.unique
	default:
		return false
	}
}

// maxNamed is how many values a condition names.
const maxNamed = 3
