// Package budget bounds what an answer costs its reader. An answer that is too large for a
// model's context loses whole items. The answer says what is left out, and how to fetch it.
//
//	server.AddReceivingMiddleware(budget.New(&budget.Options{Size: 10_000})) // tokens
//
// A model that would have got 340 items gets the first 12 of them, and a second text:
//
//	Shown: 12 of 340 items of 'results'. For the rest call read_more {"cursor":"zE3v..."}
//
// # What is left out
//
// An answer with structured content, or with one text that is JSON, loses items at the end
// of arrays, the largest array first. No item is cut. Then long strings lose their ends, at
// a sentence. The structured content and the text stay the same value. Every cut is checked
// against the output schema of the tool. Other answers lose texts at the end, cut at a
// sentence, and whole blocks.
//
// Where a schema allows no cut that would help, the call fails with an error that names
// the arguments that make the answer smaller. It says that the call itself has been
// carried out, and how to read the answer in parts.
//
// The texts of failed calls have a smaller bound of their own. Resources and prompts are
// not bounded.
//
// # read_more
//
// New adds the tool read_more to the server. It returns what was left out, in pages that
// keep the bound of the tool that was called. The rest is kept in the memory of this
// process for ten minutes, only for the caller of the answer. There is a bound for each
// caller and one for all. If a caller's share is full, the answer says so, and when there
// is room again. Behind several servers, call read_more on the server that gave the answer;
// the others answer that the cursor is unknown.
package budget

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/owner"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// MetaKey is the key of a result's _meta under which a list of [LeftOut] says what the
// answer lacks.
const MetaKey = wire.LeftOutKey

// Options configure [New]. The zero value is the recommended default.
type Options struct {
	// Size is how many tokens the answer of a tool may have. Zero means 10,000. The text of a failure that a tool returns as a result may have a tenth of it,
	// at least 300.
	Size int

	// Tools gives single tools, by their names, a Size of their own. A negative one means
	// no bound, and zero means the Size of other tools.
	Tools map[string]int

	// Count returns how many tokens a text has, at most one for each byte. It may be called
	// concurrently; if it panics, the estimate is used. Nil means an estimate: one token
	// for every three bytes, which is about right for JSON and too many for prose. With a
	// Count that returns len(text) all sizes are in bytes.
	Count func(text string) int

	// Owner names the caller of a request: only the owner of an answer can fetch what was
	// left out of it. It may be called concurrently; if it panics, the caller is unknown.
	// Nil means the authenticated user. For unknown callers the cursor, which cannot be
	// guessed, is enough.
	Owner func(ctx context.Context, req mcp.Request) string

	// MaxKept is how many bytes of what was left out are kept, each for ten minutes: the
	// oldest are forgotten first. Zero means 64 MiB.
	MaxKept int

	// OwnerBytes is how many bytes are kept for one owner. What is left out beyond them
	// cannot be fetched, and the answer says so. All unknown callers are one owner. Zero
	// means a quarter of MaxKept; a negative number means no bound but MaxKept.
	OwnerBytes int
}

// New returns a middleware that bounds answers. opts may be nil. It panics when an
// option makes no sense.
func New(opts *Options) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	const of call.Options = "budget.New: Options"
	call.Positive(of, "Size", &o.Size, 10_000)
	call.Positive(of, "MaxKept", &o.MaxKept, 64<<20)
	o.Tools = maps.Clone(o.Tools)
	for name, size := range o.Tools {
		if name == "" {
			panic("budget.New: Options.Tools has an empty name; give that of a tool")
		}
		if size > 0 && size < minSize {
			panic(fmt.Sprintf("budget.New: Options.Tools[%q] is %d; give %d tokens or more", name, size, minSize))
		}
	}
	if o.Size < minSize {
		panic(fmt.Sprintf("budget.New: Options.Size is %d; give %d tokens or more", o.Size, minSize))
	}
	b := &budget{
		Options: o, owners: owner.Finder{Func: o.Owner, Option: "budget.Options.Owner"},
		kept: newKeeper(o.MaxKept, o.OwnerBytes),
	}
	return call.WrapLayer("budget.New", call.Func(b.run), nil)
}

// minSize leaves room for a sentence that says what was left out, also in bytes.
const minSize = 300

type budget struct {
	Options
	owners  owner.Finder
	kept    *keeper
	outputs ask.Outputs
	taken   atomic.Bool // a page of the list has a tool with the name of this one
	warned  atomic.Bool // the log has said that the server has a tool of that name
}

func (b *budget) run(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	if c.Quiet() && c.Method() != call.MethodListTools || c.Parent() != nil && !c.Quiet() {
		return next(ctx, c.Method(), req) // it becomes a part of an answer that is bounded as a whole
	}
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		if r == nil || r.Params == nil {
			break
		}
		if r.Params.Name == readMore {
			return b.readMore(ctx, c, r, next)
		}
		res, err := next(ctx, c.Method(), req)
		tool, ok := res.(*mcp.CallToolResult)
		if err != nil || !ok || tool == nil || tool.InputRequests != nil {
			return res, err
		}
		return b.bound(ctx, c, r, next, tool)
	case *mcp.ListToolsRequest:
		res, err := next(ctx, c.Method(), req)
		if list, ok := res.(*mcp.ListToolsResult); ok && err == nil && list != nil {
			return b.list(ctx, list), nil
		}
		return res, err
	}
	return next(ctx, c.Method(), req)
}

// bound makes the answer of a tool fit.
func (b *budget) bound(ctx context.Context, c *call.Call, req *mcp.CallToolRequest, next mcp.MethodHandler, res *mcp.CallToolResult) (mcp.Result, error) {
	size := cmp.Or(b.Tools[req.Params.Name], b.Size)
	switch {
	case size < 0:
		return res, nil
	case res.IsError:
		return b.boundError(res), nil
	}
	x := &answer{budget: b, size: size, res: res, raw: jsonOf(res.StructuredContent)}
	if x.tokens, x.bytes = b.measureParts(res.Content, x.raw, size); x.tokens <= size {
		return res, nil
	}
	x.owner, x.more = b.owners.Principal(ctx, req), b.offers(c)
	if out := x.shrink(c, next); out != nil {
		return out, nil
	}
	return nil, x.tooLarge(c, next)
}

// boundError cuts the text of a failure that a tool returned as a result.
func (b *budget) boundError(res *mcp.CallToolResult) *mcp.CallToolResult {
	size := max(minSize, b.Size/10)
	if tokens, _ := b.measure(res, size); res.GetError() != nil || tokens <= size {
		return res
	}
	const mark = "[the rest is left out]"
	out := *res
	if len(jsonOf(out.StructuredContent)) > size {
		out.StructuredContent = nil
	}
	shrinking(size*bytesPerToken, size, func(bound int) (tokens, bytes int) {
		head, rest := run{blocks: res.Content}.split(max(minShown, bound-len(mark)))
		out.Content = head
		if !rest.empty() {
			out.Content = append(slices.Clip(head), &mcp.TextContent{Text: mark})
		}
		return b.measure(&out, size)
	})
	return &out
}
