package budget

import (
	"container/list"
	"context"
	"crypto/rand"
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

// An entry is what was left out of one list or text.
type entry struct {
	handle string
	owner  string
	size   int // tokens of a page
	path   string
	unit   string
	first  int      // how many came before
	total  int      // how many there are
	items  [][]byte // JSON values, or else
	blocks []mcp.Content

	bytes int
	place *list.Element
	timer *time.Timer
}

// newHandle returns 128 random bits.
func newHandle() string { return rand.Text() }

func (e *entry) weigh() int {
	const itself = 512
	n := itself + blocksBytes(e.blocks)
	for _, item := range e.items {
		n += len(item) + 24
	}
	return n
}

// A keeper keeps entries for a time, within a bound.
type keeper struct {
	keep  time.Duration
	most  int
	stats *Stats

	mu      sync.Mutex
	bytes   int
	entries map[string]*entry
	oldest  list.List
}

func newKeeper(keep time.Duration, most int, stats *Stats) *keeper {
	return &keeper{keep: keep, most: most, stats: stats, entries: map[string]*entry{}}
}

// takes reports whether an entry is not too large to be kept: one caller should not
// cost all others theirs.
func (k *keeper) takes(e *entry) bool {
	if e.bytes == 0 {
		e.bytes = e.weigh()
	}
	return e.bytes <= k.most/4
}

// put keeps an entry, and forgets the oldest ones for it.
func (k *keeper) put(e *entry) bool {
	if !k.takes(e) {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.entries[e.handle] = e
	e.place = k.oldest.PushBack(e)
	k.add(e.bytes)
	for k.bytes > k.most {
		oldest, _ := k.oldest.Front().Value.(*entry)
		k.remove(oldest)
	}
	e.timer = time.AfterFunc(k.keep, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.remove(e)
	})
	return true
}

func (k *keeper) add(bytes int) {
	k.bytes += bytes
	k.stats.Kept.Add(int64(bytes))
}

func (k *keeper) remove(e *entry) {
	if e.place == nil {
		return
	}
	k.oldest.Remove(e.place)
	e.place = nil
	delete(k.entries, e.handle)
	k.add(-e.bytes)
	if e.timer != nil {
		e.timer.Stop()
	}
}

// get returns an entry of an owner's. That of somebody else is none.
func (k *keeper) get(handle, owner string) *entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.entries[handle]; e != nil && e.owner == owner {
		return e
	}
	return nil
}

// readMore answers a call of the tool, if the server has none of that name itself.
func (b *budget) readMore(ctx context.Context, c *call.Call, req *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	res, err := b.read(ctx, req)
	if err != nil {
		switch tool, missing := c.Tool(next); {
		case missing == nil:
			b.isTaken(ctx, tool)
			return next(ctx, c.Method(), req)
		case !errors.Is(missing, call.ErrNotListed): // it is not a server that is wrapped
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
			return !b.taken.Load() || tool.Description == description
		}
	}
	return false
}

const description = "Shows what an answer of another tool left out. Call it with the cursor that the answer gave."

// isTaken says that the server has a tool of this name, unless it is that of another
// middleware of this package further in.
func (b *budget) isTaken(ctx context.Context, tool *mcp.Tool) {
	if b.taken.CompareAndSwap(false, true) && tool.Description != description {
		b.say(ctx, "budget: the server has a tool of this name; what is left out cannot be fetched; set Options.ReadMore", b.ReadMore)
	}
}

// read returns the page that a cursor names.
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
	parts := strings.Split(cursor, ".")
	e := b.kept.get(parts[0], b.ownerOf(ctx, req))
	var at, off int
	if len(parts) == 3 {
		at, off = number(parts[1]), number(parts[2])
	}
	if e == nil || len(parts) == 2 || len(parts) > 3 || !e.has(at, off) {
		return nil, fault.New(fault.KindNotFound, "this cursor is unknown or has expired").
			Suggest("Call the tool that gave it again, and ask for less at a time.").
			WithRetry(fault.Retry{Effect: fault.EffectNone, Reason: "The same cursor will not be found again."})
	}
	return complete(req, b.page(e, at, off)), nil
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
	if at < 0 || off < 0 {
		return false
	}
	if e.items != nil {
		return at < len(e.items) && off < max(1, len(e.items[at]))
	}
	if at >= len(e.blocks) || off == 0 {
		return at < len(e.blocks)
	}
	text, ok := textOf(e.blocks[at])
	return ok && off < len(text) && utf8.RuneStart(text[off])
}

func textOf(block mcp.Content) (string, bool) {
	switch c := block.(type) {
	case *mcp.TextContent:
		return c.Text, true
	case *mcp.EmbeddedResource:
		if c.Resource != nil {
			return c.Resource.Text, true
		}
	}
	return "", false
}

// page returns the page of an entry that begins at a place.
func (b *budget) page(e *entry, at, off int) *mcp.CallToolResult {
	room := e.size * bytesPerToken
	if b.Count != nil {
		room = e.size * 8 // at most; the count says whether it is too much
	}
	const line = 150
	var res *mcp.CallToolResult
	for range 2 * rounds {
		space := max(minShown, room-line)
		if e.items != nil {
			res = b.itemsPage(e, at, off, space)
		} else {
			res = b.blocksPage(e, at, off, space)
		}
		if b.fits(res, e.size) {
			break
		}
		room = room * 9 / 10
	}
	return res
}

func (b *budget) itemsPage(e *entry, at, off, room int) *mcp.CallToolResult {
	if item := e.items[at]; off > 0 || len(item) > room {
		end := min(len(item), off+room)
		for end < len(item) && end > off+1 && !utf8.RuneStart(item[end]) {
			end--
		}
		note := fmt.Sprintf("Bytes %d to %d of %d of the JSON text of item %d of %d%s.", off+1, end, len(item), e.first+at+1, e.total, of(e.path))
		nextAt, nextOff := at, end
		if end == len(item) {
			nextAt, nextOff = at+1, 0
		}
		return b.pageOf(e, []mcp.Content{&mcp.TextContent{Text: string(item[off:end])}}, note, nextAt, nextOff)
	}
	end, text := at, []byte{'['}
	for end < len(e.items) && len(text)+len(e.items[end])+1 <= room || end == at {
		if end > at {
			text = append(text, ',')
		}
		text = append(text, e.items[end]...)
		end++
	}
	note := fmt.Sprintf("Items %d to %d of %d%s.", e.first+at+1, e.first+end, e.total, of(e.path))
	return b.pageOf(e, []mcp.Content{&mcp.TextContent{Text: string(append(text, ']'))}}, note, end, 0)
}

func (b *budget) blocksPage(e *entry, at, off, room int) *mcp.CallToolResult {
	blocks := slices.Clone(e.blocks[at:])
	if off > 0 {
		_, blocks[0] = cutAt(blocks[0], off)
	}
	head, rest := split(blocks, room)
	nextAt, nextOff := len(e.blocks)-len(rest), 0
	if len(rest) > 0 {
		whole, isText := textOf(e.blocks[nextAt])
		if left, _ := textOf(rest[0]); isText {
			nextOff = len(whole) - len(left)
		}
	}
	return b.pageOf(e, head, "", nextAt, nextOff)
}

// cutAt cuts a text block at a place.
func cutAt(block mcp.Content, off int) (head, rest mcp.Content) {
	switch c := block.(type) {
	case *mcp.TextContent:
		a, b := *c, *c
		a.Text, b.Text = c.Text[:off], c.Text[off:]
		return &a, &b
	case *mcp.EmbeddedResource:
		a, b, ra, rb := *c, *c, *c.Resource, *c.Resource
		ra.Text, rb.Text = c.Resource.Text[:off], c.Resource.Text[off:]
		a.Resource, b.Resource = &ra, &rb
		return &a, &b
	}
	return block, block
}

// pageOf makes a page of what it shows and of where the next one begins.
func (b *budget) pageOf(e *entry, content []mcp.Content, note string, at, off int) *mcp.CallToolResult {
	count := len(e.items) + len(e.blocks)
	if at < count {
		note += b.howToGet(fmt.Sprintf("%s.%d.%d", e.handle, at, off))
	} else {
		note += " That is all."
	}
	return &mcp.CallToolResult{Content: append(slices.Clip(content), &mcp.TextContent{Text: strings.TrimSpace(note)})}
}

// list adds the tool to the last page of the tools, and says once of which tools the
// answers cannot be bounded well.
func (b *budget) list(ctx context.Context, have *mcp.ListToolsResult) *mcp.ListToolsResult {
	for _, tool := range have.Tools {
		if tool == nil {
			continue
		}
		if tool.Name == b.ReadMore {
			b.isTaken(ctx, tool)
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

func (b *budget) say(ctx context.Context, message, tool string) {
	defer func() { _ = recover() }() // a log must not fail the call
	logger := b.Logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.LogAttrs(ctx, slog.LevelWarn, message, slog.String("tool", tool)) //nolint:sloglint // a constant of this package
}

// complete returns a result for the protocol version of the request.
func complete(req *mcp.CallToolRequest, have *mcp.CallToolResult) *mcp.CallToolResult {
	res := call.NewResult(req)
	res.Content = have.Content
	return res
}
