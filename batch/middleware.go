package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/listform"
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
// panics when a List cannot work: it lacks a name, two have the same As, As is Tool, Items is
// Item, Tool is a list form itself, MaxItems is negative, or Run is wrong.
func New(opts *Options) mcp.Middleware {
	l := &lister{run: map[*listform.Form]RunOptions[json.RawMessage]{}}
	if opts != nil {
		for i, list := range opts.Lists {
			l.add(i, list)
		}
		for i, list := range opts.Lists {
			if l.forms.Of(list.Tool) != nil {
				panic(fmt.Sprintf("batch.New: Options.Lists[%d].Tool is %s, which is a list form itself; name a tool of the server", i, list.Tool))
			}
		}
	}
	wrap := call.WrapLayer("batch.New", call.Func(l.handle), nil)
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		ours := wrap(next)
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch method {
			case middleware.MethodCallTool:
				if l.forms.Of(call.Target(req)) != nil {
					return ours(ctx, method, req)
				}
			case call.MethodListTools:
				if l.forms.Any() {
					return ours(ctx, method, req)
				}
			}
			return next(ctx, method, req)
		}
	}
}

// lister is the middleware.
type lister struct {
	forms listform.Forms
	run   map[*listform.Form]RunOptions[json.RawMessage]
}

// add takes a List. A mistake panics.
func (l *lister) add(i int, list List) {
	at := fmt.Sprintf("batch.New: Options.Lists[%d]", i)
	refuse(list.Tool == "", at, "Tool is empty; name the tool that takes one item")
	refuse(list.Item == "", at, "Item is empty; name the argument of "+list.Tool+" that is the item")
	refuse(list.As == "", at, "As is empty; give the list form of "+list.Tool+" a name")
	refuse(list.As == list.Tool, at, "As is the name of the tool itself; give the list form another one")
	refuse(l.forms.Of(list.As) != nil, at, "As is "+list.As+", as that of another list; give each one of its own")
	refuse(list.Items == list.Item, at, "Items is the name of the item itself; give the list another one")
	refuse(list.MaxItems < 0, at, "MaxItems is negative; give how many items a call may have, or 0 for the default")
	f := list.form()
	l.forms.Add(f)
	l.run[f] = resolved(at+".Run", elementOptions(list))
}

func (l List) form() *listform.Form {
	return &listform.Form{
		Tool: l.Tool, Item: l.Item, As: l.As, Items: cmp.Or(l.Items, l.Item+"s"), Description: l.Description,
		MaxItems: cmp.Or(l.MaxItems, defaultMaxItems), Output: outputSchema,
	}
}

// elementOptions returns the options for running the elements of a list.
func elementOptions(list List) *RunOptions[json.RawMessage] {
	var o RunOptions[json.RawMessage]
	if list.Run != nil {
		o = *list.Run
	}
	if o.KeyName == "" && !reserved[list.Item] {
		o.KeyName = list.Item
	}
	if o.Key == nil {
		o.Key = ownText
	}
	return &o
}

// ownText is the key of an item that is a string or a number: itself.
func ownText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	if number := json.Number(""); json.Unmarshal(raw, &number) == nil {
		return number.String()
	}
	return ""
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
	return l.forms.Listed(ctx, c, req, next, list), nil
}

// outputSchema is that of the structured content of an answer, with any value for an
// item.
var outputSchema = sync.OnceValue(func() *jsonschema.Schema {
	s, err := jsonschema.For[Output[any]](nil)
	if err != nil {
		panic("batch: " + err.Error()) // cannot happen: a test makes the schema
	}
	return s
})
