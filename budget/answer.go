package budget

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/jsons"
	"github.com/mcpchain/mcpchain/internal/words"
)

// LeftOut says how much of one list or text an answer does not show.
type LeftOut struct {
	Path   string `json:"path,omitempty"`   // where it stands, such as "results"; empty for the whole answer
	Unit   string `json:"unit"`             // "items", "bytes" or "blocks"
	Shown  int    `json:"shown"`            // how many the answer has
	Total  int    `json:"total"`            // how many there are
	Cursor string `json:"cursor,omitempty"` // for read_more; empty if the rest cannot be fetched
}

// An answer is a result that is too large.
type answer struct {
	*budget
	size  int // tokens
	owner string
	more  bool // the caller can fetch what is left out
	res   *mcp.CallToolResult
	raw   json.RawMessage // its structured content, encoded only once

	tokens, bytes int // of res
}

// How many bytes in all are checked against a schema for one answer: checked times the bytes
// of its value, plus freely.
const (
	checked = 16
	freely  = 8 << 20
)

// bounded returns allows with a limit: after left bytes have been checked, it returns
// false.
func bounded(left int, allows func([]byte) bool) func([]byte) bool {
	return func(raw []byte) bool {
		left -= len(raw)
		return left >= 0 && allows(raw)
	}
}

// shrink returns an answer that fits, or nil.
func (x *answer) shrink(c *call.Call, next mcp.MethodHandler) (fitting *mcp.CallToolResult) {
	valid := func([]byte) bool { return true }
	value, at := x.value()
	if value != nil && at < 0 {
		allows := c.Server().Output(&x.outputs, next)
		if allows == nil {
			return nil
		}
		valid = bounded(checked*len(value.raw)+freely, allows)
	}
	shrinking(x.room(), x.size, func(bound int) (tokens, bytes int) {
		var out *mcp.CallToolResult
		var cuts []*entry
		if value == nil {
			out, cuts = x.cutBlocks(bound)
		} else if out, cuts = x.cutJSON(value, at, bound, valid); out == nil {
			return 0, 0 // it will never fit
		}
		x.kept.judge(x.owner, cuts)
		x.note(out, cuts)
		raw := x.raw
		if value != nil && at < 0 {
			raw = jsonOf(out.StructuredContent)
		}
		switch tokens, bytes = x.measureParts(out.Content, raw, x.size); {
		case tokens > x.size:
		case x.more && !x.kept.put(x.owner, cuts):
			tokens = x.size + 1 // another answer took the room
		default:
			fitting = out
		}
		return tokens, bytes
	})
	return fitting
}

// room estimates how many bytes the answer may have.
func (x *answer) room() int {
	if x.Count == nil {
		return x.size * bytesPerToken
	}
	return max(x.size, int(float64(x.bytes)*float64(x.size)/float64(x.tokens)))
}

// value returns the JSON value that the answer consists of. If the structured content is
// too large, it is that, with block -1. Otherwise it is a text that is JSON and has at
// least half of the bytes, with the index of its block. It returns nil if there is neither.
func (x *answer) value() (value *node, block int) {
	if x.raw != nil {
		if tokens, _ := x.measureParts(nil, x.raw, x.size-x.size/4); tokens <= x.size-x.size/4 {
			return nil, 0 // it is the texts that are too large
		}
		return parse(x.raw), -1
	}
	all := blocksBytes(x.res.Content)
	for i, b := range x.res.Content {
		text, ok := b.(*mcp.TextContent)
		if !ok || text == nil || 2*len(text.Text) < all {
			continue
		}
		if s := strings.TrimSpace(text.Text); s != "" && (s[0] == '[' || s[0] == '{') {
			if value := parse([]byte(s)); value != nil {
				return value, i
			}
		}
	}
	return nil, 0
}

// parse returns the node of a JSON value, or nil if raw is not JSON.
func parse(raw []byte) *node {
	if raw = jsons.Compact(raw); raw == nil {
		return nil
	}
	return newNode(raw)
}

// cutJSON returns the answer with its value cut. The whole has about target bytes, notes
// included. It returns nil if the value cannot be cut so far.
func (x *answer) cutJSON(value *node, at, target int, valid func([]byte) bool) (*mcp.CallToolResult, []*entry) {
	var others []mcp.Content
	for i, block := range x.res.Content {
		if _, text := block.(*mcp.TextContent); i != at && (!text || at >= 0) {
			others = append(others, block)
		}
	}
	var cuts []*entry
	if room := target / 4; blocksBytes(others) > room {
		all := others
		var rest run
		others, rest = run{blocks: all}.split(room)
		cuts = append(cuts, x.restOf(all, rest))
	}
	raw := value.fit(target-blocksBytes(others)-noteBytes*(1+len(cuts)), valid)
	if raw == nil {
		return nil, nil
	}
	for _, n := range value.cuts(nil) {
		if n.short == nil {
			e := x.entry(n.path(), unitItems, n.kept, len(n.ends))
			e.list = n
			cuts = append(cuts, e)
			continue
		}
		text := n.text()
		e := x.entry(n.path(), unitBytes, n.shown, len(text))
		e.run.blocks = []mcp.Content{&mcp.TextContent{Text: text[n.shown:]}}
		cuts = append(cuts, e)
	}
	out := *x.res
	if at < 0 {
		out.StructuredContent = json.RawMessage(raw)
	}
	out.Content = append([]mcp.Content{&mcp.TextContent{Text: string(raw)}}, others...)
	return &out, cuts
}

// cutBlocks returns the answer with the texts and blocks that fit.
func (x *answer) cutBlocks(target int) (*mcp.CallToolResult, []*entry) {
	out := *x.res
	head, rest := run{blocks: x.res.Content}.split(target - noteBytes)
	out.Content = head
	if rest.empty() {
		return &out, nil
	}
	return &out, []*entry{x.restOf(x.res.Content, rest)}
}

// restOf makes the entry for blocks that are left out.
func (x *answer) restOf(all []mcp.Content, rest run) *entry {
	unit, total, left := unitBlocks, len(all), len(rest.blocks)
	if text, ok := all[0].(*mcp.TextContent); ok && len(all) == 1 {
		unit, total = unitBytes, len(text.Text)
		left = total - rest.off
	}
	e := x.entry("", unit, total-left, total)
	e.run = rest
	return e
}

func (x *answer) entry(path, unit string, shown, total int) *entry {
	return &entry{LeftOut: LeftOut{Path: path, Unit: unit, Shown: shown, Total: total, Cursor: rand.Text()}, owner: x.owner, size: x.size}
}

const maxPath = 100 // bytes

// forLine makes a path or name from outside fit for one line of text: printable, and
// bounded.
func forLine(path string) string {
	path = strings.Map(func(r rune) rune {
		if words.Invisible(r) {
			return ' '
		}
		return r
	}, path)
	if len(path) > maxPath {
		path = path[:sentence(path, maxPath)] + " ..."
	}
	return path
}

// note adds to an answer what is left out: in a text and in _meta, but not in the
// structured content, because schemas are strict.
func (x *answer) note(out *mcp.CallToolResult, cuts []*entry) {
	if len(cuts) == 0 {
		return
	}
	var text strings.Builder
	var meta []LeftOut
	for _, e := range cuts {
		l := e.LeftOut
		if !x.more || e.verdict != keeps {
			l.Cursor = ""
		}
		meta = append(meta, l)
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		fmt.Fprintf(&text, "Shown: %d of %d %s%s.", l.Shown, l.Total, l.Unit, of(l.Path))
		switch {
		case l.Cursor != "":
			text.WriteString(howToGet(l.Cursor))
		case x.more && e.verdict == later:
			text.WriteString(" The rest cannot be shown: " + x.held(e) + ". Ask for less at a time, if the tool allows it.")
		default:
			text.WriteString(" The rest cannot be shown. Ask for less at a time, if the tool allows it.")
		}
	}
	out.Meta = maps.Clone(out.Meta)
	if out.Meta == nil {
		out.Meta = mcp.Meta{}
	}
	out.Meta[MetaKey] = meta
	out.Content = append(slices.Clip(out.Content), &mcp.TextContent{Text: text.String()})
}

// held says why an entry is not kept, and when it could be.
func (x *answer) held(e *entry) string {
	holder := "this conversation holds"
	if x.owner == "" {
		holder = "callers without an identity hold"
	}
	return holder + " more than the server keeps, and there is room again in " + words.Wait(time.Until(e.free))
}

func of(path string) string {
	if path == "" {
		return ""
	}
	return " of '" + path + "'"
}

func howToGet(cursor string) string {
	return fmt.Sprintf(` For the rest call %s {"cursor":"%s"}`, readMore, cursor)
}

// tooLarge is the failure of a call whose answer cannot be made to fit.
func (x *answer) tooLarge(c *call.Call, next mcp.MethodHandler) error {
	retry := fault.Retry{Effect: fault.EffectCommitted, Reason: "The call has been carried out; only its answer is too large."}
	suggestion := "Ask for less at a time, if the tool allows it."
	if tool, err := c.Server().Tool(next); err == nil {
		if names := smaller(tool.InputSchema); len(names) > 0 {
			suggestion = "Ask for less with the " + argument(names) + "."
		}
		if tool.Annotations != nil && tool.Annotations.ReadOnlyHint {
			retry = fault.Retry{Effect: fault.EffectNone, Reason: "The same call has the same answer."}
		}
	}
	f := fault.New(fault.KindClientError, fmt.Sprintf("the answer is too large: about %d tokens, of which %d are allowed", x.tokens, x.size)).
		WithCode("ANSWER_TOO_LARGE").Suggest(suggestion).WithRetry(retry)
	all := x.res.Content
	if x.raw != nil {
		all = []mcp.Content{&mcp.TextContent{Text: string(x.raw)}}
	}
	if !x.more {
		return f
	}
	e := []*entry{x.restOf(all, run{blocks: all})}
	switch x.kept.judge(x.owner, e); {
	case x.kept.put(x.owner, e) && e[0].verdict == keeps:
		f = f.Step("Read the answer in parts", readMore, map[string]any{"cursor": e[0].Cursor})
	case e[0].verdict == later:
		f = f.WithMessage(f.Message() + ". It cannot be read in parts either: " + x.held(e[0]))
	}
	return f
}
