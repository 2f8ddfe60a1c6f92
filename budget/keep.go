package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
)

const (
	unitItems  = "items"
	unitBytes  = "bytes"
	unitBlocks = "blocks"
)

// An entry is what was left out of one list or text. Its cursor is that of its first page.
type entry struct {
	LeftOut

	owner  string
	size   int      // tokens of a page
	items  [][]byte // JSON values, or else
	blocks []mcp.Content

	bytes int
	made  time.Time
}

func (e *entry) weigh() int {
	const itself = 512
	n := itself + blocksBytes(e.blocks)
	for _, item := range e.items {
		n += len(item) + 24
	}
	return n
}

// keepFor is for how long an entry can be fetched.
const keepFor = 10 * time.Minute

// A keeper keeps entries for a time, within a bound.
type keeper struct {
	most  int
	stats *Stats

	mu      sync.Mutex
	bytes   int
	entries map[string]*entry
	queue   []*entry // the oldest first
}

// takes reports whether an entry is not too large to be kept: one caller should not
// cost all others theirs.
func (k *keeper) takes(e *entry) bool {
	if e.bytes == 0 {
		e.bytes = e.weigh()
	}
	return e.bytes <= k.most/4
}

// put keeps an entry, and forgets the oldest ones for it, and those whose time is over.
func (k *keeper) put(e *entry) bool {
	if !k.takes(e) {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	e.made = time.Now()
	k.entries[e.Cursor] = e
	k.queue = append(k.queue, e)
	k.bytes += e.bytes
	for oldest := k.queue[0]; k.bytes > k.most || time.Since(oldest.made) >= keepFor; oldest = k.queue[0] {
		delete(k.entries, oldest.Cursor)
		k.bytes -= oldest.bytes
		k.queue[0] = nil // the array behind the slice would keep it
		k.queue = k.queue[1:]
	}
	k.stats.Kept.Store(int64(k.bytes))
	return true
}

// get returns an entry of an owner's. That of somebody else is none.
func (k *keeper) get(cursor, owner string) *entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.entries[cursor]; e != nil && e.owner == owner && time.Since(e.made) < keepFor {
		return e
	}
	return nil
}

// readMore answers a call of the tool, if the server has none of that name itself.
func (b *budget) readMore(ctx context.Context, c *call.Call, req *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	res, err := b.read(ctx, req)
	if err != nil {
		// It is no server that is wrapped, or one that has a tool of this name.
		if _, missing := c.Tool(next); !errors.Is(missing, call.ErrNotListed) {
			return next(ctx, c.Method(), req)
		}
	}
	return res, err
}

// offers reports whether the caller can call the tool: it stands around a server, which
// has none of that name, and nothing hides it.
func (b *budget) offers(c *call.Call) bool {
	for tool, err := range c.Tools() {
		if err != nil {
			return false
		}
		if tool.Name == b.ReadMore {
			return tool.Description == description
		}
	}
	return false
}

const description = "Shows what an answer of another tool left out. Call it with the cursor that the answer gave."

// read returns the page that a cursor names: the handle of an entry and, after the first
// page, which item or block of it comes next, and from which byte on.
func (b *budget) read(ctx context.Context, req *mcp.CallToolRequest) (mcp.Result, error) {
	var args struct {
		Cursor any `json:"cursor"`
	}
	const most = 200 // bytes of arguments
	if raw := req.Params.Arguments; len(raw) > most || len(raw) > 0 && json.Unmarshal(raw, &args) != nil {
		args.Cursor = nil
	}
	cursor, ok := args.Cursor.(string)
	if !ok || cursor == "" {
		return nil, fault.Invalid("cursor", args.Cursor, "the cursor that an answer gave")
	}
	handle, place, later := strings.Cut(cursor, ".")
	var at, off int
	if later {
		which, from, _ := strings.Cut(place, ".")
		at, off = number(which), number(from)
	}
	e := b.kept.get(handle, b.owners.Principal(ctx, req))
	if e == nil || !e.has(at, off) {
		return nil, fault.New(fault.KindNotFound, "this cursor is unknown or has expired").
			Suggest("Call the tool that gave it again, and ask for less at a time.").
			WithRetry(fault.Retry{Effect: fault.EffectNone, Reason: "The same cursor will not be found again."})
	}
	res := call.NewResult(req)
	room := e.size * bytesPerToken
	if b.Count != nil {
		room = e.size * 8 // at most; the count says whether it is too much
	}
	shrinking(room, func(room int) bool {
		res.Content = b.page(e, at, off, max(minShown, room-noteBytes))
		return b.fits(res, e.size)
	})
	return res, nil
}

// number reads a place in an entry, -1 for none.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// has reports whether a cursor points into an entry.
func (e *entry) has(at, off int) bool {
	switch {
	case at < 0 || off < 0 || at >= len(e.items)+len(e.blocks):
		return false
	case e.items != nil:
		return off < max(1, len(e.items[at]))
	case off == 0:
		return true
	}
	text, _ := textOf(e.blocks[at])
	return off < len(text) && utf8.RuneStart(text[off])
}

// page returns what is shown of an entry from a place on, and a note that says where the
// next page begins.
func (b *budget) page(e *entry, at, off, room int) []mcp.Content {
	var shown []mcp.Content
	var note string
	if e.items != nil {
		var text []byte
		text, note, at, off = e.itemsFrom(at, off, room)
		shown = []mcp.Content{&mcp.TextContent{Text: string(text)}}
	} else {
		shown, at, off = e.blocksFrom(at, off, room)
	}
	if at < len(e.items)+len(e.blocks) {
		note += b.howToGet(fmt.Sprintf("%s.%d.%d", e.Cursor, at, off))
	} else {
		note += " That is all."
	}
	return append(slices.Clip(shown), &mcp.TextContent{Text: strings.TrimSpace(note)})
}

// itemsFrom returns a list of items, or a part of one that is too large for a page.
func (e *entry) itemsFrom(at, off, room int) (text []byte, note string, nextAt, nextOff int) {
	if item := e.items[at]; off > 0 || len(item) > room {
		end := characters(string(item), off, off+room)
		note = fmt.Sprintf("Bytes %d to %d of %d of the JSON text of item %d of %d%s.", off+1, end, len(item), e.Shown+at+1, e.Total, of(e.Path))
		if end == len(item) {
			return item[off:], note, at + 1, 0
		}
		return item[off:end], note, at, end
	}
	end, text := at+1, append([]byte{'['}, e.items[at]...)
	for end < len(e.items) && len(text)+len(e.items[end])+1 <= room {
		text = append(append(text, ','), e.items[end]...)
		end++
	}
	return append(text, ']'), fmt.Sprintf("Items %d to %d of %d%s.", e.Shown+at+1, e.Shown+end, e.Total, of(e.Path)), end, 0
}

// blocksFrom returns the blocks that fit.
func (e *entry) blocksFrom(at, off, room int) (shown []mcp.Content, nextAt, nextOff int) {
	blocks := slices.Clone(e.blocks[at:])
	if off > 0 {
		text, with := textOf(blocks[0])
		blocks[0] = with(text[off:])
	}
	shown, rest := split(blocks, room)
	nextAt = len(e.blocks) - len(rest)
	if len(rest) > 0 {
		whole, _ := textOf(e.blocks[nextAt])
		left, _ := textOf(rest[0])
		nextOff = len(whole) - len(left)
	}
	return shown, nextAt, nextOff
}

// list adds the tool to the last page of the tools, and says once of which tools the
// answers cannot be bounded well.
func (b *budget) list(ctx context.Context, have *mcp.ListToolsResult) *mcp.ListToolsResult {
	for _, tool := range have.Tools {
		if tool == nil {
			continue
		}
		if tool.Name == b.ReadMore {
			b.taken.Store(true)
			if tool.Description != description && b.first(tool.Name) { // not that of another middleware of this package further in
				call.Warn(ctx, b.Logger, "budget: the server has a tool of this name; what is left out cannot be fetched; set budget.Options.ReadMore", slog.String("tool", b.ReadMore))
			}
			return have
		}
		b.check(ctx, tool)
	}
	if len(have.Tools) == 0 || have.NextCursor != "" || b.taken.Load() {
		return have // a server without tools has nothing to leave out
	}
	res := *have
	res.Tools = append(slices.Clip(slices.Clone(have.Tools)), &mcp.Tool{
		Name:        b.ReadMore,
		Description: description,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true},
		InputSchema: map[string]any{
			"type":       "object",
			"properties": map[string]any{"cursor": map[string]any{"type": "string", "description": "the cursor that an answer gave"}},
			"required":   []string{"cursor"},
		},
	})
	return &res
}
