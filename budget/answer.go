package budget

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// LeftOut says what of one list or text an answer does not show.
type LeftOut struct {
	Path   string `json:"path,omitempty"`   // where it stands, such as "results"; empty for the whole answer
	Unit   string `json:"unit"`             // "items", "bytes" or "blocks"
	Shown  int    `json:"shown"`            // how many the answer has
	Total  int    `json:"total"`            // how many there are
	Cursor string `json:"cursor,omitempty"` // for read_more; empty if the rest cannot be fetched
}

// An answer is one that is too large.
type answer struct {
	*budget
	size  int // tokens
	owner string
	more  bool // the caller can fetch what is left out
	res   *mcp.CallToolResult
}

// rounds is how often a cut is tried anew, a tenth smaller each time, when the count of
// tokens is not what the count of bytes promised.
const rounds = 30

// shrink returns an answer that fits, or nil.
func (x *answer) shrink(c *call.Call, next mcp.MethodHandler) *mcp.CallToolResult {
	raw, at := x.value()
	valid := func([]byte) bool { return true }
	if raw != nil && at < 0 {
		var ok bool
		if valid, ok = validator(c, next); !ok {
			return nil
		}
	}
	target := x.bytes()
	for range rounds {
		var out *mcp.CallToolResult
		var cuts []*entry
		if raw == nil {
			out, cuts = x.cutBlocks(target)
		} else if out, cuts = x.cutJSON(raw, at, target, valid); out == nil {
			return nil
		}
		x.tell(out, cuts)
		if x.fits(out, x.size) {
			for _, e := range cuts {
				if x.more {
					x.kept.put(e)
				}
			}
			return out
		}
		target = target * 9 / 10
	}
	return nil
}

// bytes estimates how many bytes the answer may have.
func (x *answer) bytes() int {
	if x.Count == nil {
		return x.size * bytesPerToken
	}
	bytes := bytesOf(x.res)
	return max(x.size, int(float64(bytes)*float64(x.size)/float64(max(1, x.tokens(x.res, bytes)))))
}

// value returns the JSON value that the answer is: its structured content, where that
// is too large, or a text that is JSON, and which block it is.
func (x *answer) value() (raw []byte, block int) {
	if v := x.res.StructuredContent; v != nil {
		raw, err := json.Marshal(v)
		if alone := (&mcp.CallToolResult{StructuredContent: json.RawMessage(raw)}); err == nil && !x.fits(alone, x.size-x.size/4) {
			return raw, -1
		}
		return nil, 0 // it is the texts that are too large
	}
	for i, b := range x.res.Content {
		text, ok := b.(*mcp.TextContent)
		if !ok || text == nil || len(text.Text) < blocksBytes(x.res.Content)/2 {
			continue
		}
		if s := strings.TrimSpace(text.Text); s != "" && (s[0] == '[' || s[0] == '{') && json.Valid([]byte(s)) {
			return []byte(s), i
		}
	}
	return nil, 0
}

// validator returns what says whether the output schema of the tool allows a value. It
// returns false if the schema is not known: then nothing is cut.
func validator(c *call.Call, next mcp.MethodHandler) (valid func([]byte) bool, ok bool) {
	tool, err := c.Tool(next)
	if err != nil {
		return nil, false
	}
	if tool.OutputSchema == nil {
		return func([]byte) bool { return true }, true
	}
	raw, err := json.Marshal(tool.OutputSchema)
	var schema jsonschema.Schema
	if err != nil || json.Unmarshal(raw, &schema) != nil {
		return nil, false
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, false
	}
	return func(raw []byte) bool {
		var v any
		return json.Unmarshal(raw, &v) == nil && resolved.Validate(v) == nil
	}, true
}

// cutJSON returns the answer with a value of at most so many bytes, what is said of it
// included, or nil.
func (x *answer) cutJSON(raw []byte, at, target int, valid func([]byte) bool) (*mcp.CallToolResult, []*entry) {
	root := parse(raw)
	if root == nil {
		return nil, nil
	}
	var others []mcp.Content
	for i, block := range x.res.Content {
		if _, text := block.(*mcp.TextContent); i != at && (!text || at >= 0) {
			others = append(others, block)
		}
	}
	var cuts []*entry
	if room := target / 4; blocksBytes(others) > room {
		all := others
		var rest []mcp.Content
		others, rest = split(all, room)
		cuts = append(cuts, x.restOf("", all, rest))
	}
	const perCut = 150 // bytes of the line that tells of it
	room := target - blocksBytes(others) - perCut*(1+len(cuts))
	if !root.shrink(room, func() bool { return valid(root.append(nil)) }) {
		return nil, nil
	}
	root.each(func(n *node) {
		switch {
		case n.array && n.kept < len(n.kids):
			e := x.entry(n.path, unitItems, n.kept, len(n.kids))
			for _, kid := range n.kids[n.kept:] {
				e.items = append(e.items, kid.raw)
			}
			cuts = append(cuts, e)
		case n.short != nil:
			var text string
			_ = json.Unmarshal(n.raw, &text) // it was read before
			e := x.entry(n.path, unitBytes, n.shown, len(text))
			e.blocks = []mcp.Content{&mcp.TextContent{Text: text[n.shown:]}}
			cuts = append(cuts, e)
		}
	})
	out := *x.res
	value := root.append(nil)
	if at < 0 {
		if out.StructuredContent = json.RawMessage(value); !valid(value) {
			return nil, nil // cuts that are right one by one are wrong together
		}
	}
	out.Content = append([]mcp.Content{&mcp.TextContent{Text: string(value)}}, others...)
	return &out, cuts
}

// cutBlocks returns the answer with the texts and blocks that fit.
func (x *answer) cutBlocks(target int) (*mcp.CallToolResult, []*entry) {
	const line = 150
	out := *x.res
	head, rest := split(x.res.Content, max(minShown, target-line))
	out.Content = head
	if len(rest) == 0 {
		return &out, nil
	}
	return &out, []*entry{x.restOf("", x.res.Content, rest)}
}

// restOf makes the entry for blocks that are left out.
func (x *answer) restOf(path string, all, rest []mcp.Content) *entry {
	unit, total, left := unitBlocks, len(all), len(rest)
	if _, text := all[0].(*mcp.TextContent); text && len(all) == 1 {
		unit, total, left = unitBytes, blocksBytes(all), blocksBytes(rest)
	}
	e := x.entry(path, unit, total-left, total)
	e.blocks = rest
	return e
}

func (x *answer) entry(path, unit string, shown, total int) *entry {
	return &entry{handle: newHandle(), owner: x.owner, size: x.size, path: clean(path), unit: unit, first: shown, total: total}
}

// clean makes a path, which has names that a tool made, fit for a line.
func clean(path string) string {
	const most = 100
	path = strings.Map(safe.Rune, path)
	if len(path) > most {
		path = path[:sentence(path, most)] + " ..."
	}
	return path
}

// split returns the blocks that fit into so many bytes, and the rest. A text is cut at
// a sentence. A block that never fits is replaced by a text that says so.
func split(blocks []mcp.Content, room int) (head, rest []mcp.Content) {
	whole := room
	for i, block := range blocks {
		size := blockBytes(block)
		if size <= room {
			head, room = append(head, block), room-size
			continue
		}
		if a, b := divide(block, room); a != nil && (room >= minShown || len(head) == 0) {
			return append(head, a), append([]mcp.Content{b}, blocks[i+1:]...)
		}
		if _, text := block.(*mcp.TextContent); !text && size > whole {
			says := &mcp.TextContent{Text: fmt.Sprintf("[a block of %d bytes is too large to be shown]", size)}
			if len(says.Text) <= room {
				head, room = append(head, says), room-len(says.Text)
				continue
			}
		}
		return head, slices.Clone(blocks[i:])
	}
	return head, nil
}

// divide cuts a text, or a resource that is a text.
func divide(block mcp.Content, room int) (head, rest mcp.Content) {
	switch c := block.(type) {
	case *mcp.TextContent:
		n := sentence(c.Text, room)
		a, b := *c, *c
		a.Text, b.Text = c.Text[:n], c.Text[n:]
		if n > 0 {
			return &a, &b
		}
	case *mcp.EmbeddedResource:
		if c.Resource == nil || c.Resource.Text == "" {
			return nil, nil
		}
		n := sentence(c.Resource.Text, room-len(c.Resource.URI))
		a, b, ra, rb := *c, *c, *c.Resource, *c.Resource
		ra.Text, rb.Text = c.Resource.Text[:n], c.Resource.Text[n:]
		a.Resource, b.Resource = &ra, &rb
		if n > 0 {
			return &a, &b
		}
	}
	return nil, nil
}

// tell says in an answer what is left out: in a text, in _meta, and in the structured
// content nowhere, because schemas are strict.
func (x *answer) tell(out *mcp.CallToolResult, cuts []*entry) {
	if len(cuts) == 0 {
		return
	}
	var text strings.Builder
	var meta []LeftOut
	for _, e := range cuts {
		l := LeftOut{Path: e.path, Unit: e.unit, Shown: e.first, Total: e.total}
		if x.more && x.kept.takes(e) {
			l.Cursor = e.handle
		}
		meta = append(meta, l)
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		fmt.Fprintf(&text, "Left out: %d of %d %s%s are shown.%s", l.Shown, l.Total, l.Unit, of(l.Path), x.howToGet(l.Cursor))
	}
	out.Meta = maps.Clone(out.Meta)
	if out.Meta == nil {
		out.Meta = mcp.Meta{}
	}
	out.Meta[MetaKey] = meta
	out.Content = append(slices.Clip(out.Content), &mcp.TextContent{Text: text.String()})
}

func of(path string) string {
	if path == "" {
		return ""
	}
	return " of '" + path + "'"
}

func (b *budget) howToGet(cursor string) string {
	if cursor == "" {
		return " The rest cannot be shown. Ask for less at a time."
	}
	return fmt.Sprintf(` The rest: call %s {"cursor":"%s"}`, b.ReadMore, cursor)
}

// tooLarge is the failure of a call whose answer cannot be made to fit.
func (x *answer) tooLarge(c *call.Call, next mcp.MethodHandler) error {
	tokens := x.tokens(x.res, bytesOf(x.res))
	f := fault.New(fault.KindClientError, fmt.Sprintf("the answer is too large: about %d tokens, of which %d are allowed", tokens, x.size)).WithCode("ANSWER_TOO_LARGE")
	retry := fault.Retry{Effect: fault.EffectCommitted, Reason: "The call has been carried out; only its answer is too large."}
	suggestion := "Ask for less at a time."
	if tool, err := c.Tool(next); err == nil {
		if names := smaller(tool.InputSchema); len(names) > 0 {
			suggestion = "Ask for less with the argument" + plural(names) + "."
		}
		if tool.Annotations != nil && tool.Annotations.ReadOnlyHint {
			retry = fault.Retry{Effect: fault.EffectNone, Reason: "The same call has the same answer."}
		}
	}
	f = f.Suggest(suggestion).WithRetry(retry)
	all := x.res.Content
	if v := x.res.StructuredContent; v != nil {
		if raw, err := json.Marshal(v); err == nil {
			all = []mcp.Content{&mcp.TextContent{Text: string(raw)}}
		}
	}
	if len(all) == 0 {
		return f
	}
	e := x.restOf("", all, all)
	if x.more && x.kept.put(e) {
		f = f.Step("Read the answer in parts", x.ReadMore, map[string]any{"cursor": e.handle})
	}
	return f
}

func plural(names []string) string {
	quoted := "'" + strings.Join(names, "', '") + "'"
	if len(names) == 1 {
		return " " + quoted
	}
	return "s " + quoted
}

// boundError cuts the text of a failure that a tool told itself.
func (b *budget) boundError(res *mcp.CallToolResult) *mcp.CallToolResult {
	const mark = "[the rest is left out]"
	out := *res
	if structuredBytes(out.StructuredContent) > b.ErrorSize {
		out.StructuredContent = nil
	}
	target := b.ErrorSize * bytesPerToken
	for range rounds {
		head, rest := split(res.Content, max(minShown, target-len(mark)))
		out.Content = head
		if len(rest) > 0 {
			out.Content = append(slices.Clip(head), &mcp.TextContent{Text: mark})
		}
		if b.fits(&out, b.ErrorSize) {
			break
		}
		target = target * 9 / 10
	}
	b.Stats.LeftOut.Add(1)
	return &out
}
