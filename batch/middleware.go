package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/optional"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/middleware"
)

// Options configure [New]. The zero value gives no tool a list form.
type Options struct {
	// Lists are the list forms, each of one tool.
	Lists []List
}

// A List gives a tool that takes one item a sibling that takes a list of them.
type List struct {
	Tool  string // the tool that there is: "get_user"
	Item  string // its argument that is the item: "user_id"
	As    string // the name of the sibling: "get_users"
	Items string // its argument that is the list; empty means Item with an "s": "user_ids"

	// Description is what the sibling's listing says. Empty means a sentence in front of
	// the tool's own.
	Description string

	// MaxItems is how many items a call may have. Zero means 100. Its arguments may have
	// 16 KiB for each item of MaxItems, or 1 MiB if that is more. Longer arguments are
	// refused before they are read.
	MaxItems int

	// Run says how the items are run, for items that are the JSON of a list's elements;
	// nil means the defaults of [RunOptions]. Items that are strings or numbers are
	// their own keys, and the KeyName is Item, unless Run says something else.
	Run *RunOptions[json.RawMessage]
}

const defaultMaxItems = 100

// Middleware is [New], or nil if o is nil. With it *Options fits the field Batch of mcpchain.Options.
func (o *Options) Middleware(optional.Batch) mcp.Middleware { return optional.New(o, New) }

// New returns a middleware that gives tools a list form:
//
//	batch.New(&batch.Options{Lists: []batch.List{
//		{Tool: "get_user", Item: "user_id", As: "get_users", Items: "user_ids"},
//	}})
//
// Where get_user is listed, get_users is listed behind it, with the same arguments except that a
// list replaces the item. A call of get_users calls get_user once for each element of the list,
// equal ones too, through everything that stands inside of this middleware. Each is a call of its
// own, below the call of get_users, with the session and the identity of its caller, so that
// filters, limits, validation, masking and retries apply to each item. The answers are put together
// as [Result.ToolResult] does. Progress is reported as [Run] does.
//
// The value of an item is the structured content of its answer, else its text, else its content. A
// value that is longer than the whole answer may be is not kept. If package degrade has marked an
// answer and the value does not show that, the value is an object with the mark and the member
// "value". An item that asks for input has failed: its error says which tool to call for it alone,
// and holds what it asks for.
//
// A tool that a caller may not list has no list form for that caller. That holds for filters that
// stand inside. A filter that stands outside has to know the sibling's name. If the server has a
// tool of the sibling's name itself, the sibling is not offered, and calls of the name go on to the
// server. That is recorded once as a warning, when tools are listed or the sibling is called; so is
// a List whose tool is not listed.
//
// Calls of other tools pass at the cost of one look into a map. opts may be nil. New
// panics when a List lacks a name, or when two have the same As.
func New(opts *Options) mcp.Middleware {
	l := &lister{byName: map[string]*form{}, byTool: map[string][]*form{}}
	if opts != nil {
		for i, list := range opts.Lists {
			l.add(i, list)
		}
		for i, list := range opts.Lists {
			if l.byName[list.Tool] != nil {
				panic(fmt.Sprintf("batch.New: Options.Lists[%d].Tool is %s, which is a list form itself; name a tool of the server", i, list.Tool))
			}
		}
	}
	wrap := call.Wrap(l.handle)
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		ours := wrap(next)
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch method {
			case middleware.MethodCallTool:
				if _, ok := l.byName[call.Target(req)]; ok {
					return ours(ctx, method, req)
				}
			case call.MethodListTools:
				if len(l.byTool) > 0 {
					return ours(ctx, method, req)
				}
			}
			return next(ctx, method, req)
		}
	}
}

// lister is the middleware.
type lister struct {
	byName map[string]*form   // by the name of the sibling
	byTool map[string][]*form // by the name of the tool
}

// add takes a List. A mistake panics.
func (l *lister) add(i int, list List) {
	at := fmt.Sprintf("batch.New: Options.Lists[%d]", i)
	refuse(list.Tool == "", at, "Tool is empty; name the tool that takes one item")
	refuse(list.Item == "", at, "Item is empty; name the argument of "+list.Tool+" that is the item")
	refuse(list.As == "", at, "As is empty; give the list form of "+list.Tool+" a name")
	refuse(list.As == list.Tool, at, "As is the name of the tool itself; give the list form another one")
	refuse(l.byName[list.As] != nil, at, "As is "+list.As+", as that of another list; give each one of its own")
	refuse(list.Items == list.Item, at, "Items is the name of the item itself; give the list another one")
	refuse(list.MaxItems < 0, at, "MaxItems is negative; give how many items a call may have, or 0 for the default")
	list.Items = cmp.Or(list.Items, list.Item+"s")
	list.MaxItems = cmp.Or(list.MaxItems, defaultMaxItems)
	f := &form{List: list, run: resolved(at+".Run", elementOptions(list))}
	l.byName[list.As] = f
	l.byTool[list.Tool] = append(l.byTool[list.Tool], f)
}

func (l *lister) handle(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	if r, ok := req.(*mcp.CallToolRequest); ok {
		return l.call(ctx, c, r, next)
	}
	res, err := next(ctx, c.Method(), req)
	list, ok := res.(*mcp.ListToolsResult)
	if err != nil || !ok || list == nil {
		return res, err
	}
	return l.list(ctx, c, req, next, list), nil
}

// list puts the siblings into one page of a list.
func (l *lister) list(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler, have *mcp.ListToolsResult) *mcp.ListToolsResult {
	listed := make(map[string]bool, len(have.Tools))
	for _, tool := range have.Tools {
		if tool != nil {
			listed[tool.Name] = true
		}
	}
	r, _ := req.(*mcp.ListToolsRequest)
	whole := have.NextCursor == "" && (r == nil || r.Params == nil || r.Params.Cursor == "")
	res := *have
	res.Tools = make([]*mcp.Tool, 0, len(have.Tools)+len(l.byName))
	for _, tool := range have.Tools {
		res.Tools = append(res.Tools, tool)
		if tool == nil {
			continue
		}
		for _, f := range l.byTool[tool.Name] {
			sibling := f.sibling(tool)
			err := sibling.err
			taken := listed[f.As]
			if !whole && !taken { // it may be on another page
				_, missing := lookUp(ctx, c, next, req, f.As)
				taken = missing == nil
			}
			if taken {
				err = errTaken
			}
			if !f.refused(ctx, c, err) {
				res.Tools = append(res.Tools, sibling.tool)
			}
		}
	}
	for _, f := range l.byName {
		if whole && !listed[f.Tool] {
			f.refused(ctx, c, errNoTool)
		}
	}
	return &res
}

// lookUp returns the definition of a tool, as the middlewares and the server inside list it for the
// caller of req.
func lookUp(ctx context.Context, c *call.Call, next mcp.MethodHandler, req mcp.Request, tool string) (*mcp.Tool, error) {
	return c.Below(ctx, "list", itemRequest(req, tool, nil)).Server().ToolNow(next)
}

// refused reports whether there is a reason not to offer a list form, and says it in the
// log, once.
func (f *form) refused(ctx context.Context, c *call.Call, why error) bool {
	if why != nil && f.warned.CompareAndSwap(false, true) {
		call.Warn(ctx, c.Logger(), "batch: a list form is not offered",
			slog.String("tool", f.Tool), slog.String("as", f.As), slog.String("error", why.Error()))
	}
	return why != nil
}

// unknown returns the SDK's own error for a call of a tool that does not exist.
func unknown(name string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
}

var (
	errTaken  = errors.New("batch: the server has a tool of this name itself, which is kept; choose another List.As")
	errNoTool = errors.New("batch: no tool of this name is listed; correct List.Tool, unless a filter hides it from this caller")
)

// A form is a List that is ready for use.
type form struct {
	List
	run    RunOptions[json.RawMessage]
	made   table.Weak[mcp.Tool, sibling] // by the definition of the tool, which stays the same
	warned atomic.Bool
}
