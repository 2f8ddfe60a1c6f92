package budget

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// shrink returns an answer that fits, or nil.
func (x *answer) shrink(c *call.Call, next mcp.MethodHandler) (fitting *mcp.CallToolResult) {
	raw, at := x.value()
	valid := func([]byte) bool { return true }
	if raw != nil && at < 0 {
		if valid = c.Output(&x.outputs, next); valid == nil {
			return nil
		}
	}
	shrinking(x.bytes(), func(bytes int) bool {
		var out *mcp.CallToolResult
		var cuts []*entry
		if raw == nil {
			out, cuts = x.cutBlocks(bytes)
		} else if out, cuts = x.cutJSON(raw, at, bytes, valid); out == nil {
			return true // and never will it fit
		}
		x.tell(out, cuts)
		if !x.fits(out, x.size) {
			return false
		}
		for _, e := range cuts {
			if x.more {
				x.kept.put(e)
			}
		}
		fitting = out
		return true
	})
	return fitting
}

// bytes estimates how many bytes the answer may have.
func (x *answer) bytes() int {
	if x.Count == nil {
		return x.size * bytesPerToken
	}
	bytes := max(blocksBytes(x.res.Content), len(jsonOf(x.res.StructuredContent)))
	return max(x.size, int(float64(bytes)*float64(x.size)/float64(max(1, x.tokens(x.res, 0)))))
}

// value returns the JSON value that the answer is: its structured content, where that
// is too large, or a text that is JSON, and which block it is.
func (x *answer) value() (raw []byte, block int) {
	if raw := jsonOf(x.res.StructuredContent); raw != nil {
		if alone := (&mcp.CallToolResult{StructuredContent: raw}); !x.fits(alone, x.size-x.size/4) {
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
	room := target - blocksBytes(others) - noteBytes*(1+len(cuts))
	if !root.shrink(room, func() bool { return valid(root.append(nil)) }) {
		return nil, nil
	}
	root.each(func(n *node) {
		switch {
		case n.array && n.kept < len(n.kids):
			e := x.entry(n.path, unitItems, n.kept, len(n.kids))
			for _, kid := range n.kids[n.kept:] {
				e.blocks = append(e.blocks, &mcp.TextContent{Text: string(kid.raw)})
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
	out := *x.res
	head, rest := split(x.res.Content, max(minShown, target-noteBytes))
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
	return &entry{LeftOut: LeftOut{Path: clean(path), Unit: unit, Shown: shown, Total: total, Cursor: rand.Text()}, owner: x.owner, size: x.size}
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

// tell says in an answer what is left out: in a text, in _meta, and in the structured
// content nowhere, because schemas are strict.
func (x *answer) tell(out *mcp.CallToolResult, cuts []*entry) {
	if len(cuts) == 0 {
		return
	}
	var text strings.Builder
	var meta []LeftOut
	for _, e := range cuts {
		l := e.LeftOut
		if !x.more || !x.kept.takes(e) {
			l.Cursor = ""
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
	retry := fault.Retry{Effect: fault.EffectCommitted, Reason: "The call has been carried out; only its answer is too large."}
	suggestion := "Ask for less at a time."
	if tool, err := c.Tool(next); err == nil {
		if names := smaller(tool.InputSchema); len(names) > 0 {
			suggestion = "Ask for less with the " + argument(names) + "."
		}
		if tool.Annotations != nil && tool.Annotations.ReadOnlyHint {
			retry = fault.Retry{Effect: fault.EffectNone, Reason: "The same call has the same answer."}
		}
	}
	f := fault.New(fault.KindClientError, fmt.Sprintf("the answer is too large: about %d tokens, of which %d are allowed", x.tokens(x.res, 0), x.size)).
		WithCode("ANSWER_TOO_LARGE").Suggest(suggestion).WithRetry(retry)
	all := x.res.Content
	if raw := jsonOf(x.res.StructuredContent); raw != nil {
		all = []mcp.Content{&mcp.TextContent{Text: string(raw)}}
	}
	if len(all) == 0 {
		return f
	}
	e := x.restOf("", all, all)
	if x.more && x.kept.put(e) {
		f = f.Step("Read the answer in parts", x.ReadMore, map[string]any{"cursor": e.Cursor})
	}
	return f
}
