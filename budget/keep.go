package budget

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"
)

const (
	unitItems  = "items"
	unitBytes  = "bytes"
	unitBlocks = "blocks"
)

// An entry is what was left out of one list or text. Its Cursor is that of the first page.
type entry struct {
	LeftOut

	owner string
	size  int   // tokens of a page
	run   run   // of blocks
	list  *node // of items: the array, until the entry is kept
	raw   []byte
	ends  []int // of items: where each ends in raw, in which commas stand between them

	verdict verdict
	free    time.Time // if verdict is later: when there is room
	bytes   int
	made    time.Time
}

// A verdict says whether an entry is kept.
type verdict uint8

const (
	keeps verdict = iota
	later         // the owner's share is too full now
	never         // it is larger than an owner's share
)

// keepFor is how long an entry can be fetched.
const keepFor = 10 * time.Minute

// A keeper keeps entries for a time, within a bound for all and one for each owner.
type keeper struct {
	most int // bytes
	each int // bytes of one owner

	mu      sync.Mutex
	bytes   int
	entries map[string]*entry
	queue   []*entry // the oldest first
	owners  map[string]*account
}

// An account is what one owner keeps.
type account struct {
	bytes int
	queue []*entry // the oldest first
}

func newKeeper(most, each int) *keeper {
	switch {
	case each == 0:
		each = most / 4
	case each < 0:
		each = math.MaxInt
	default:
		each = min(each, most)
	}
	return &keeper{most: most, each: each, entries: map[string]*entry{}, owners: map[string]*account{}}
}

// weigh estimates how many bytes of memory an entry takes.
func (e *entry) weigh() {
	const itself, each = 512, 64
	e.bytes = itself + each*len(e.run.blocks) + blocksBytes(e.run.blocks)
	if e.list != nil {
		e.bytes = itself + len(e.list.raw) - e.list.stop() + 8*(len(e.list.ends)-e.list.kept)
	}
}

// judge decides which entries of an answer can be kept, and when there is room for the others.
func (k *keeper) judge(owner string, all []*entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expire()
	var used account
	if a := k.owners[owner]; a != nil {
		used = *a
	}
	left := k.most // of all, for this answer alone
	for _, e := range all {
		e.weigh()
		switch {
		case e.bytes > left:
			e.verdict = never
		case e.bytes > k.each-used.bytes:
			e.verdict, e.free = used.room(k.each - e.bytes)
		default:
			e.verdict = keeps
			used.bytes += e.bytes
			left -= e.bytes
		}
	}
}

// room returns when so many entries have expired that the account has at most that many
// bytes.
func (a account) room(bytes int) (verdict, time.Time) {
	for _, e := range a.queue {
		if a.bytes -= e.bytes; a.bytes <= bytes {
			return later, e.made.Add(keepFor)
		}
	}
	return never, time.Time{} // or it does not fit beside the other entries of its answer
}

// put keeps the entries of an answer that judge let be kept, and forgets the oldest entries
// for them. It reports whether there was still room for them; if not, it keeps none.
func (k *keeper) put(owner string, all []*entry) bool {
	all = slices.DeleteFunc(slices.Clone(all), func(e *entry) bool { return e.verdict != keeps })
	k.mu.Lock()
	defer k.mu.Unlock()
	more, a := 0, k.owners[owner]
	for _, e := range all {
		more += e.bytes
	}
	switch {
	case more == 0:
		return true
	case a == nil:
		a = &account{}
		k.owners[owner] = a
	case more > k.each-a.bytes:
		return false
	}
	for _, e := range all {
		e.take()
		e.made = time.Now()
		k.entries[e.Cursor] = e
		k.queue, a.queue = append(k.queue, e), append(a.queue, e)
		k.bytes, a.bytes = k.bytes+e.bytes, a.bytes+e.bytes
	}
	for k.bytes > k.most {
		k.forget()
	}
	return true
}

// take copies what is left out, so that the entry does not hold the whole answer in memory,
// and the handler cannot change it afterwards.
func (e *entry) take() {
	if e.list == nil {
		e.run.blocks = slices.Clone(e.run.blocks)
		return
	}
	from := e.list.stop() // where a comma stands, but for the first item
	if e.list.kept > 0 {
		from++
	}
	e.raw = bytes.Clone(e.list.raw[from : len(e.list.raw)-1])
	e.ends = slices.Clone(e.list.ends[e.list.kept:])
	for i := range e.ends {
		e.ends[i] -= from
	}
	e.list = nil
}

// expire forgets the entries whose time is over.
func (k *keeper) expire() {
	for len(k.queue) > 0 && time.Since(k.queue[0].made) >= keepFor {
		k.forget()
	}
}

// forget forgets the oldest entry, which is the oldest of its owner too.
func (k *keeper) forget() {
	e := k.queue[0]
	k.queue[0] = nil // the array behind the slice would keep it
	k.queue = k.queue[1:]
	delete(k.entries, e.Cursor)
	k.bytes -= e.bytes
	a := k.owners[e.owner]
	a.queue[0] = nil
	if a.queue, a.bytes = a.queue[1:], a.bytes-e.bytes; len(a.queue) == 0 {
		delete(k.owners, e.owner)
	}
}

// get returns an entry of this owner, or nil: another owner's entry counts as absent.
func (k *keeper) get(cursor, owner string) *entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.entries[cursor]; e != nil && e.owner == owner && time.Since(e.made) < keepFor {
		return e
	}
	return nil
}

// readMore answers a call of the tool, unless the server has a tool of that name itself.
func (b *budget) readMore(ctx context.Context, c *call.Call, req *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	res, err := b.read(ctx, c, req)
	if err != nil {
		// The middleware wraps one handler, or a server that has a tool of this name.
		if _, missing := c.Server().Tool(next); !errors.Is(missing, ask.ErrNotListed) {
			return next(ctx, c.Method(), req)
		}
	}
	return res, err
}

// offers reports whether the caller can call the tool: the middleware wraps a server that
// has no such tool itself, and no filter hides the tool.
func (b *budget) offers(c *call.Call) bool {
	for tool, err := range c.Server().Tools() {
		if err != nil {
			return false
		}
		if tool.Name == readMore {
			return tool.Description == description
		}
	}
	return false
}

// The tool that New adds.
const (
	readMore    = "read_more"
	description = "Shows what an answer of another tool left out. Call it with the cursor that the answer gave."
)

// cursors matches the Cursor of an entry, followed, after the first page, by which block or
// item comes next, and from which byte on.
var cursors = regexp.MustCompile(`^([A-Z2-7]{26,})(?:\.([0-9]{1,9})\.([0-9]{1,9}))?$`)

// read returns the page that a cursor names.
func (b *budget) read(ctx context.Context, c *call.Call, req *mcp.CallToolRequest) (mcp.Result, error) {
	var args struct {
		Cursor any `json:"cursor"`
	}
	const most = 200 // bytes of arguments
	if raw := req.Params.Arguments; len(raw) > most || len(raw) > 0 && json.Unmarshal(raw, &args) != nil {
		args.Cursor = nil
	}
	cursor, ok := args.Cursor.(string)
	if !ok || cursor == "" {
		c.Refused("budget")
		const expected = "the cursor that an answer gave"
		if args.Cursor == nil {
			return nil, fault.Violations(fault.Violation{Field: "cursor", Rule: "required", Expected: expected})
		}
		return nil, fault.Invalid("cursor", args.Cursor, expected)
	}
	var e *entry
	var at, off int
	if m := cursors.FindStringSubmatch(cursor); m != nil {
		e = b.kept.get(m[1], b.owners.Principal(ctx, req))
		at, _ = strconv.Atoi(m[2]) // at most nine digits, none for the first page
		off, _ = strconv.Atoi(m[3])
	}
	if e == nil || !e.has(at, off) {
		c.Refused("budget")
		return nil, fault.New(fault.KindNotFound, "this cursor is unknown or has expired").
			Suggest("Call the tool that gave it again, and ask for less at a time.").
			WithRetry(fault.Retry{Effect: fault.EffectNone, Reason: "The same cursor will not be found again."})
	}
	res := call.NewResult(req)
	room := e.size * bytesPerToken
	if b.Count != nil {
		room = e.size * 8 // the most that is likely; measure says whether it is too much
	}
	shrinking(room, e.size, func(room int) (tokens, bytes int) {
		res.Content = b.page(e, at, off, max(minShown, room-noteBytes))
		return b.measure(res, e.size)
	})
	return res, nil
}

// len returns how many blocks or items an entry has.
func (e *entry) len() int { return max(len(e.run.blocks), len(e.ends)) }

// has reports whether a cursor points into an entry.
func (e *entry) has(at, off int) bool {
	switch {
	case at >= e.len():
		return false
	case off == 0:
		return true
	case e.ends != nil:
		return off < len(e.items(at, at+1))
	default:
		text, _ := textOf(e.from(at).at(0))
		return off < len(text)
	}
}

// from returns the run from one of its blocks on.
func (e *entry) from(at int) run {
	if at == 0 {
		return e.run
	}
	return run{blocks: e.run.blocks[at:]}
}

// items returns the JSON of items, with commas between them.
func (e *entry) items(from, to int) []byte {
	begin := 0
	if from > 0 {
		begin = e.ends[from-1] + 1
	}
	return e.raw[begin:e.ends[to-1]]
}

// page returns what is shown of an entry from a place on, and a note that says where the
// next page begins. Its cost grows with what it shows, not with the entry.
func (b *budget) page(e *entry, at, off, room int) (shown []mcp.Content) {
	var note string
	if e.ends != nil {
		shown, note, at, off = e.pageOfItems(at, off, room)
	} else {
		page := e.from(at)
		page.off += off
		var rest run
		shown, rest = page.split(room)
		if at = e.len() - len(rest.blocks); at < e.len() {
			off = rest.off - e.from(at).off
		}
	}
	if at < e.len() {
		note += howToGet(fmt.Sprintf("%s.%d.%d", e.Cursor, at, off))
	} else {
		note += " That is all."
	}
	return append(slices.Clip(shown), &mcp.TextContent{Text: strings.TrimSpace(note)})
}

// pageOfItems returns a list of the items that fit, or a part of an item that is too large
// for a page. It also returns the note about them and the place where the next page begins.
func (e *entry) pageOfItems(at, off, room int) (shown []mcp.Content, note string, nextAt, nextOff int) {
	begin := 0
	if at > 0 {
		begin = e.ends[at-1] + 1
	}
	if n := sort.SearchInts(e.ends[at:], begin+room-1); off == 0 && n > 0 { // with brackets around them
		list := append(append([]byte{'['}, e.items(at, at+n)...), ']')
		return []mcp.Content{&mcp.TextContent{Text: string(list)}},
			fmt.Sprintf("Items %d to %d of %d%s.", e.Shown+at+1, e.Shown+at+n, e.Total, of(e.Path)), at + n, 0
	}
	item := e.items(at, at+1)
	part := string(item[off:min(len(item), off+room+utf8.UTFMax)])
	part = part[:sentence(part, room)]
	nextAt, nextOff = at, off+len(part)
	note = fmt.Sprintf("Bytes %d to %d of %d of the JSON text of item %d of %d%s.", off+1, nextOff, len(item), e.Shown+at+1, e.Total, of(e.Path))
	if nextOff == len(item) {
		nextAt, nextOff = at+1, 0
	}
	return []mcp.Content{&mcp.TextContent{Text: part}}, note, nextAt, nextOff
}

// list adds the tool to the last page of the tools.
func (b *budget) list(ctx context.Context, have *mcp.ListToolsResult) *mcp.ListToolsResult {
	for _, tool := range have.Tools {
		if tool == nil || tool.Name != readMore {
			continue
		}
		b.taken.Store(true)
		if tool.Description != description && b.warned.CompareAndSwap(false, true) { // not that of another budget.New further in
			call.Warn(ctx, nil, "budget: the server has a tool of this name; what is left out cannot be fetched; give it another name", slog.String("tool", readMore))
		}
		return have
	}
	if len(have.Tools) == 0 || have.NextCursor != "" || b.taken.Load() {
		return have // a server without tools has nothing to leave out
	}
	res := *have
	res.Tools = append(slices.Clip(slices.Clone(have.Tools)), &mcp.Tool{
		Name:        readMore,
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
