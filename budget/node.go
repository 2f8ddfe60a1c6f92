package budget

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// A node is a JSON value that is taken apart as far as something could be left out.
type node struct {
	raw   []byte // as it came, without spaces
	path  string // for a reader: results[0].tags
	array bool
	keys  [][]byte // of an object, as they came, with quotes
	kids  []*node  // of an object or an array
	kept  int      // of an array: how many items stay
	short []byte   // of a string that is cut: what stays
	shown int      // of such a string: how many bytes of it stay
	fixed bool     // the schema does not let it be cut
}

const (
	minCut   = 64 // bytes of a value that is worth being taken apart
	maxDepth = 24
)

// parse takes a JSON value apart. It returns nil for what is none.
func parse(raw []byte) *node {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return nil
	}
	return takeApart(compact.Bytes(), "", maxDepth)
}

func takeApart(raw []byte, path string, depth int) *node {
	n := &node{raw: raw, path: path}
	if len(raw) < minCut || depth == 0 {
		return n
	}
	switch raw[0] {
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return n
		}
		n.array, n.kept = true, len(items)
		for i, item := range items {
			n.kids = append(n.kids, takeApart(item, path+"["+strconv.Itoa(i)+"]", depth-1))
		}
	case '{':
		dec := json.NewDecoder(bytes.NewReader(raw))
		_, _ = dec.Token()
		for dec.More() {
			from := dec.InputOffset()
			token, err := dec.Token()
			name, _ := token.(string)
			var value json.RawMessage
			key := raw[from:dec.InputOffset()]
			if err != nil || dec.Decode(&value) != nil {
				return &node{raw: raw, path: path}
			}
			n.keys = append(n.keys, bytes.TrimPrefix(key, []byte{','}))
			n.kids = append(n.kids, takeApart(value, strings.TrimPrefix(path+"."+name, "."), depth-1))
		}
	}
	return n
}

// size returns the length of what append writes.
func (n *node) size() int {
	switch {
	case n.short != nil:
		return len(n.short)
	case n.array:
		size := 2 + max(0, n.kept-1)
		for _, kid := range n.kids[:n.kept] {
			size += kid.size()
		}
		return size
	case n.kids != nil:
		size := 2 + len(n.kids) - 1
		for i, kid := range n.kids {
			size += len(n.keys[i]) + 1 + kid.size()
		}
		return size
	default:
		return len(n.raw)
	}
}

// append writes the value without what is left out.
func (n *node) append(to []byte) []byte {
	switch {
	case n.short != nil:
		return append(to, n.short...)
	case n.array:
		to = append(to, '[')
		for i, kid := range n.kids[:n.kept] {
			if i > 0 {
				to = append(to, ',')
			}
			to = kid.append(to)
		}
		return append(to, ']')
	case n.kids != nil:
		to = append(to, '{')
		for i, kid := range n.kids {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(append(to, n.keys[i]...), ':')
			to = kid.append(to)
		}
		return append(to, '}')
	default:
		return append(to, n.raw...)
	}
}

// each calls f for every value that is shown.
func (n *node) each(f func(*node)) {
	f(n)
	kids := n.kids
	if n.array {
		kids = kids[:n.kept]
	}
	for _, kid := range kids {
		kid.each(f)
	}
}

// largest returns the largest value that is shown and for which want says true.
func (n *node) largest(want func(*node) bool) (found *node) {
	most := -1
	n.each(func(n *node) {
		if !n.fixed && want(n) {
			if size := n.size(); size > most {
				found, most = n, size
			}
		}
	})
	return found
}

// maxCuts is how many arrays and strings of one answer are cut: each is a line to read.
const maxCuts = 12

// shrink leaves out what it must for the value to have at most so many bytes, and
// reports whether it has: items at the ends of arrays, but not the first ones, then the
// ends of strings, and then the first items. valid says whether the schema allows what is
// shown.
func (n *node) shrink(target int, valid func() bool) bool {
	visited := map[*node]bool{}
	for _, step := range []struct {
		want func(*node) bool
		cut  func(*node)
	}{
		{func(n *node) bool { return n.array && n.kept > 1 && !visited[n] }, func(array *node) {
			visited[array] = true
			array.cutItems(n.size()-target, valid)
		}},
		{func(n *node) bool { return n.raw[0] == '"' && n.short == nil && len(n.raw) > 2*minShown }, func(text *node) {
			text.cutText(n.size()-target, valid)
		}},
		{func(n *node) bool { return n.array && n.kept == 1 }, func(array *node) {
			if array.kept = 0; !valid() {
				array.kept, array.fixed = 1, true
			}
		}},
	} {
		for range maxCuts {
			if n.size() <= target {
				return true
			}
			found := n.largest(step.want)
			if found == nil {
				break
			}
			step.cut(found)
		}
	}
	return n.size() <= target
}

// cutItems leaves out items at the end of an array until it is smaller by so many
// bytes, but not the first one. If the schema wants more items, it keeps the fewest
// that the schema allows.
func (n *node) cutItems(by int, valid func() bool) {
	all := n.kept
	for n.kept > 1 && by > 0 {
		n.kept--
		by -= n.kids[n.kept].size() + 1
	}
	if valid() {
		return
	}
	low, high := n.kept, all // low is not valid; all is
	for high-low > 1 {
		n.kept = (low + high) / 2
		if valid() {
			high = n.kept
		} else {
			low = n.kept
		}
	}
	if n.kept = high; high == all {
		n.fixed = true
	}
}

const cutMark = " ... [the rest is left out]"

// cutText cuts a string, and says so in it if the schema allows that.
func (n *node) cutText(by int, valid func() bool) {
	var text string
	if json.Unmarshal(n.raw, &text) != nil {
		n.fixed = true
		return
	}
	for _, mark := range []string{cutMark, ""} {
		room := max(minShown, len(n.raw)-by-len(mark)-2)
		for {
			n.shown = sentence(text, room)
			n.short = quote(text[:n.shown] + mark)
			if len(n.short) <= max(len(n.raw)-by, minShown+len(mark)+2) || room <= minShown {
				break
			}
			room = max(minShown, room*9/10) // its escapes are longer than its characters
		}
		if len(n.short) < len(n.raw) && valid() {
			return
		}
	}
	n.short, n.shown, n.fixed = nil, 0, true
}

// quote writes a JSON string.
func quote(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) //nolint:errchkjson // text always encodes, and a buffer takes it
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
