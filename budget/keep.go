package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

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
	size   int           // tokens of a page
	blocks []mcp.Content // an item is a text, its JSON

	bytes int
	made  time.Time
}

func (e *entry) weigh() int {
	const itself = 512
	return itself + 64*len(e.blocks) + blocksBytes(e.blocks)
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

// cursors are those of an entry and, after the first page, which block of it comes next, and
// from which byte on.
var cursors = regexp.MustCompile(`^([A-Z2-7]{26,})(?:\.([0-9]{1,9})\.([0-9]{1,9}))?$`)

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
	var e *entry
	var at, off int
	if m := cursors.FindStringSubmatch(cursor); m != nil {
		e = b.kept.get(m[1], b.owners.Principal(ctx, req))
		at, _ = strconv.Atoi(m[2]) // at most nine digits, none for the first page
		off, _ = strconv.Atoi(m[3])
	}
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

// has reports whether a cursor points into an entry.
func (e *entry) has(at, off int) bool {
	if at >= len(e.blocks) || off == 0 {
		return at < len(e.blocks)
	}
	text, _ := textOf(e.blocks[at])
	return off < len(text)
}

// page returns what is shown of an entry from a place on, and a note that says where the
// next page begins.
func (b *budget) page(e *entry, at, off, room int) []mcp.Content {
	blocks := e.blocks[at:]
	if off > 0 {
		text, with := textOf(blocks[0])
		blocks = slices.Clone(blocks)
		blocks[0] = with(text[off:])
	}
	var shown, rest []mcp.Content
	var note string
	if e.Unit == unitItems {
		shown, rest, note = e.items(blocks, at, off, room)
	} else {
		shown, rest = split(blocks, room)
	}
	if at = len(e.blocks) - len(rest); len(rest) > 0 {
		whole, _ := textOf(e.blocks[at])
		left, _ := textOf(rest[0])
		note += b.howToGet(fmt.Sprintf("%s.%d.%d", e.Cursor, at, len(whole)-len(left)))
	} else {
		note += " That is all."
	}
	return append(slices.Clip(shown), &mcp.TextContent{Text: strings.TrimSpace(note)})
}

// items returns a list of the items that fit, or a part of one that is too large for a page.
func (e *entry) items(blocks []mcp.Content, at, off, room int) (shown, rest []mcp.Content, note string) {
	list, n := []byte{'['}, 0
	for ; off == 0 && n < len(blocks); n++ {
		item, _ := textOf(blocks[n])
		if len(list)+len(item)+1 > room {
			break
		}
		list = append(append(list, item...), ',')
	}
	if n > 0 {
		list[len(list)-1] = ']' // where a comma stands
		shown = []mcp.Content{&mcp.TextContent{Text: string(list)}}
		return shown, blocks[n:], fmt.Sprintf("Items %d to %d of %d%s.", e.Shown+at+1, e.Shown+at+n, e.Total, of(e.Path))
	}
	shown, rest = split(blocks[:1], room)
	item, _ := textOf(e.blocks[at])
	return shown, append(rest, blocks[1:]...), fmt.Sprintf("Bytes %d to %d of %d of the JSON text of item %d of %d%s.",
		off+1, off+blocksBytes(shown), len(item), e.Shown+at+1, e.Total, of(e.Path))
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
