package budget

import (
	"encoding/json"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsons"
)

// A node is a JSON value that may be cut. It is taken apart only on demand, and what is left
// out is never taken apart.
type node struct {
	raw   []byte // as it came, without spaces
	from  int    // where it stands in the value around it
	up    *node  // the value around it
	name  []byte // its name there, as it came, with quotes; nil for an item
	index int    // of an item: which one
	depth int    // how many more levels may be taken apart
	left  *int   // how many more nodes the whole value may have

	apart  bool    // it was taken apart: ends is set, and kids unless it is an array
	kids   []*node // its values that may be cut; of an array only those that look has found
	ends   []int   // of an array: where each item ends
	array  bool
	looked int // of an array: how many items look has visited
	more   int // of an array: how many kids its other items will make

	size  int    // bytes of what is shown
	kept  int    // of an array: how many items stay
	short []byte // of a string that is cut: what stays
	shown int    // of such a string: how many bytes of it stay
	fixed bool   // the schema forbids to cut it
	tried bool   // items at its end were left out, or cannot be
}

const (
	minCut    = 64 // smaller values, in bytes, are not worth being taken apart
	maxDepth  = 24
	nodeBytes = 32 // an answer has at most one node for so many bytes, so that its nodes take only a few times its memory
)

// newNode returns the node of a compact JSON value.
func newNode(raw []byte) *node {
	left := len(raw) / nodeBytes
	return &node{raw: raw, depth: maxDepth, left: &left, size: len(raw)}
}

// reset shows everything again.
func (n *node) reset() {
	n.size, n.kept, n.short, n.shown, n.fixed, n.tried = len(n.raw), len(n.ends), nil, 0, false, false
	for _, kid := range n.kids {
		kid.reset()
	}
}

// open takes a value apart: one pass over its bytes. The items of an array become nodes only in look, because
// most items of a long one are left out first. Their number counts from the beginning.
func (n *node) open() {
	if n.apart {
		return
	}
	n.apart = true
	n.array = n.raw[0] == '['
	if n.depth == 0 || !n.array && n.raw[0] != '{' {
		n.array = false
		return
	}
	for i := 1; i < len(n.raw)-1; i++ { // i is where a member begins, and then at the comma behind it
		var name []byte
		if !n.array {
			end := skip(n.raw, i)
			name, i = n.raw[i:end], end+1
		}
		from := i
		i = skip(n.raw, from)
		if *n.left > 0 && n.cuttable(from, i) {
			if *n.left--; n.array {
				n.more++
			} else {
				n.kid(from, i, name, 0)
			}
		}
		if n.array {
			n.ends = append(n.ends, i)
		}
	}
	n.kept = len(n.ends)
}

// cuttable reports whether the value in raw[from:to] is worth being taken apart.
func (n *node) cuttable(from, to int) bool {
	return to-from >= minCut && (n.raw[from] == '[' || n.raw[from] == '{' || n.raw[from] == '"')
}

// kid makes the node of the value in raw[from:to].
func (n *node) kid(from, to int, name []byte, index int) {
	n.kids = append(n.kids, &node{
		raw: n.raw[from:to:to], from: from, up: n, name: name, index: index, depth: n.depth - 1, left: n.left, size: to - from,
	})
}

// look makes the nodes of the items of an array that are shown.
func (n *node) look() {
	for ; n.looked < n.kept && n.more > 0; n.looked++ {
		from, to := 1, n.ends[n.looked]
		if n.looked > 0 {
			from = n.ends[n.looked-1] + 1
		}
		if n.cuttable(from, to) {
			n.more--
			n.kid(from, to, nil, n.looked)
		}
	}
}

// skip returns the end of the JSON value that begins at i. The text is valid and compact.
func skip(raw []byte, i int) int {
	for depth := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			if i += jsons.TextEnd(raw[i:]); depth == 0 {
				return i
			}
			i-- // for the loop
		case '[', '{':
			depth++
		case ']', '}':
			if depth == 0 { // of the value around it
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// stop returns where what is shown of the raw text ends: all of it, or the items that stay.
func (n *node) stop() int {
	switch {
	case n.kept == len(n.ends):
		return len(n.raw)
	case n.kept == 0:
		return 1
	default:
		return n.ends[n.kept-1]
	}
}

// append writes the value without what is left out.
func (n *node) append(to []byte) []byte {
	if n.short != nil {
		return append(to, n.short...)
	}
	at, stop := 0, n.stop()
	for _, kid := range n.shownKids() {
		to = kid.append(append(to, n.raw[at:kid.from]...))
		at = kid.from + len(kid.raw)
	}
	to = append(to, n.raw[at:stop]...)
	if stop < len(n.raw) {
		to = append(to, ']')
	}
	return to
}

// shownKids returns the kids found so far that are not left out. Values without a node are never
// cut.
func (n *node) shownKids() []*node {
	stop := n.stop()
	return n.kids[:sort.Search(len(n.kids), func(i int) bool { return n.kids[i].from >= stop })]
}

// keep makes an array show so many items.
func (n *node) keep(items int) {
	before := n.size
	n.kept = items
	n.size = n.stop()
	if n.size < len(n.raw) {
		n.size++
	}
	for _, kid := range n.shownKids() {
		n.size += kid.size - len(kid.raw)
	}
	n.up.grow(n.size - before)
}

// shorten makes a string show only its first shown bytes, as the JSON string short; with a
// nil short it shows all.
func (n *node) shorten(short []byte, shown int) {
	before := n.size
	if n.short, n.shown, n.size = short, shown, len(n.raw); short != nil {
		n.size = len(short)
	}
	n.up.grow(n.size - before)
}

// grow says that a kid has become larger.
func (n *node) grow(by int) {
	for ; n != nil; n = n.up {
		n.size += by
	}
}

// cuts returns the values that are shown, but not whole.
func (n *node) cuts(all []*node) []*node {
	if n.short != nil || n.kept < len(n.ends) {
		all = append(all, n)
	}
	for _, kid := range n.shownKids() {
		all = kid.cuts(all)
	}
	return all
}

// largest returns the largest value that is shown and for which want returns true, or found if
// that is at least as large. A value is larger than everything in it, so smaller values are not
// looked into.
func (n *node) largest(found *node, want func(*node) bool) *node {
	if found != nil && n.size <= found.size {
		return found
	}
	if n.open(); !n.fixed && want(n) {
		return n
	}
	n.look()
	for _, kid := range n.shownKids() {
		found = kid.largest(found, want)
	}
	return found
}

// fit returns the value with at most so many bytes, or nil if it cannot have that few. The schema
// seldom forbids a cut, so that valid is called once, at the end. If it returns false, fit begins
// again, checks each cut, and takes back those that the schema does not allow.
func (n *node) fit(target int, valid func([]byte) bool) []byte {
	n.reset()
	if !n.shrink(target, func() bool { return true }) {
		return nil
	}
	if raw := n.append(nil); valid(raw) {
		return raw
	}
	n.reset()
	if check := func() bool { return valid(n.append(nil)) }; !check() || !n.shrink(target, check) {
		return nil
	}
	return n.append(nil)
}

// maxCuts is how many arrays and strings of one answer are cut in each step: each is a line
// to read.
const maxCuts = 12

// shrink leaves out what it must until the value has at most target bytes, and reports
// whether it has. Items at the ends of arrays go first, then the ends of strings, and then
// the first items. valid reports whether the schema allows what is shown.
func (n *node) shrink(target int, valid func() bool) bool {
	for _, step := range []struct {
		want func(*node) bool
		cut  func(*node)
	}{
		{func(n *node) bool { return n.array && n.kept > 1 && !n.tried }, func(array *node) {
			array.tried = true
			array.cutItems(n.size-target, valid)
		}},
		{func(n *node) bool { return n.raw[0] == '"' && n.short == nil && len(n.raw) > 2*minShown }, func(text *node) {
			text.cutText(n.size-target, valid)
		}},
		{func(n *node) bool { return n.array && n.kept == 1 }, func(array *node) {
			if array.keep(0); !valid() {
				array.keep(1)
				array.fixed = true
			}
		}},
	} {
		for range maxCuts {
			if n.size <= target {
				return true
			}
			found := n.largest(nil, step.want)
			if found == nil {
				break
			}
			step.cut(found)
		}
	}
	return n.size <= target
}

// cutItems leaves out items at the end of an array until it is smaller by so many
// bytes, but not the first one. If the schema wants more items, it keeps the fewest
// that the schema allows.
func (n *node) cutItems(by int, valid func() bool) {
	all := n.kept
	room := n.size - by - 1 // for the bracket
	n.keep(max(1, sort.SearchInts(n.ends, room+1)))
	if valid() {
		return
	}
	low, high := n.kept, all // low is not valid; all is
	for high-low > 1 {
		middle := (low + high) / 2
		if n.keep(middle); valid() {
			high = middle
		} else {
			low = middle
		}
	}
	n.keep(high)
}

const cutMark = " ... [the rest is left out]"

// cutText cuts a string, and says so in it if the schema allows that.
func (n *node) cutText(by int, valid func() bool) {
	text := n.text()
	for _, mark := range []string{cutMark, ""} {
		room := max(minShown, len(n.raw)-by-len(mark)-2)
		for {
			shown := sentence(text, room)
			n.shorten(jsons.Quoted(text[:shown]+mark), shown)
			if len(n.short) <= max(len(n.raw)-by, minShown+len(mark)+2) || room <= minShown {
				break
			}
			room = max(minShown, room*9/10) // its escapes are longer than its characters
		}
		if len(n.short) < len(n.raw) && valid() {
			return
		}
	}
	n.shorten(nil, 0)
	n.fixed = true
}

// text returns the text of a string.
func (n *node) text() (text string) {
	_ = json.Unmarshal(n.raw, &text) // it is valid
	return text
}

// path returns where a value stands, for a reader: results[0].tags.
func (n *node) path() string {
	var parts []string
	for ; n.up != nil; n = n.up {
		if n.name == nil {
			parts = append(parts, "["+strconv.Itoa(n.index)+"]")
			continue
		}
		parts = append(parts, "."+nameOf(n.name))
	}
	slices.Reverse(parts)
	return forLine(strings.TrimPrefix(strings.Join(parts, ""), "."))
}

// nameOf reads a name. Of a long one it takes the beginning as it came.
func nameOf(raw []byte) (name string) {
	if len(raw) > 4*maxPath {
		return string(raw[1 : 2*maxPath])
	}
	_ = json.Unmarshal(raw, &name) // it is valid
	return name
}
