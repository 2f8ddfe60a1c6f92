package explain

import "slices"

// phrase lists the forms of which one is asked for.
func (c *choice) phrase(depth int) string {
	if c == nil {
		return ""
	}
	var texts []string
	var values []literal
	null := false
	for _, n := range c.branches {
		switch leaf := n.leaf(); {
		case leaf.constant != nil:
			values = append(values, *leaf.constant)
		case leaf.enum != nil:
			values = append(values, leaf.enum...)
		case leaf.types == kindNull:
			null = true
		default:
			text := n.phrase(depth - 1)
			switch text {
			case "":
				return ""
			case oneBoolean:
				text = "a boolean"
			}
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	if len(texts) > maxBranches {
		texts = append(texts[:maxBranches], "another form")
	}
	if len(values) > 0 {
		listed := alternatives(values)
		if len(values) > 2 && len(texts) == 0 && !null {
			listed = "one of " + listed
		}
		texts = append([]string{listed}, texts...)
	}
	if null {
		texts = append(texts, "null")
	}
	return join(texts, "or")
}

// leaf follows a reference that stands alone.
func (n *node) leaf() *node {
	for range maxLook {
		if n.ref == nil || n.types != 0 || n.enum != nil || n.constant != nil {
			break
		}
		n = n.ref
	}
	return n
}

// notes returns what the schema says of a value for people, also behind a reference.
func (n *node) told() (notes annotations) {
	n.follow(maxLook, func(n *node) bool {
		if notes.title == "" {
			notes.title = n.notes.title
		}
		if notes.description == "" {
			notes.description = n.notes.description
		}
		if notes.examples == nil {
			notes.examples = n.notes.examples
		}
		if notes.fallback == nil {
			notes.fallback = n.notes.fallback
		}
		return false
	})
	return notes
}

// expectedOf says what is expected of a member of an object.
func (w *walk) expectedOf(n *node, name string) string {
	text := ""
	for _, from := range []*node{n, w.top} {
		from.follow(maxLook, func(n *node) bool {
			if p := n.props[name]; p != nil && p.node != nil {
				text = p.node.phrase(maxLook)
			}
			return text != ""
		})
	}
	return line(text, maxPhrase)
}
