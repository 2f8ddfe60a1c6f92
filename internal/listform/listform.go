// Package listform gives a tool that takes one item a sibling that takes a list of items. It lists the
// sibling, reads its arguments and makes the calls of the tool. Package batch runs the items.
package listform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// A Form says which tool gets which sibling. All fields but Description are required.
type Form struct {
	Tool        string // the tool that there is
	Item        string // its argument that is the item
	As          string // the name of the sibling
	Items       string // its argument that is the list
	Description string // of the sibling; empty means a sentence in front of the tool's own
	MaxItems    int    // of a call

	// Output returns the schema of the sibling's answers.
	Output func() *jsonschema.Schema

	made   table.Weak[mcp.Tool, sibling] // by the definition of the tool, which stays the same
	warned atomic.Bool
}

// Forms are the list forms of a server.
type Forms struct {
	byName map[string]*Form   // by the name of the sibling
	byTool map[string][]*Form // by the name of the tool
}

// Add adds a form whose sibling has a name of its own.
func (l *Forms) Add(f *Form) {
	if l.byName == nil {
		l.byName, l.byTool = map[string]*Form{}, map[string][]*Form{}
	}
	l.byName[f.As] = f
	l.byTool[f.Tool] = append(l.byTool[f.Tool], f)
}

// Any reports whether there is a form.
func (l *Forms) Any() bool { return len(l.byName) > 0 }

// Of returns the form whose sibling has the name, nil if there is none.
func (l *Forms) Of(name string) *Form { return l.byName[name] }

// Listed returns a page of the list of tools with the siblings behind their tools.
func (l *Forms) Listed(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler, have *mcp.ListToolsResult) *mcp.ListToolsResult {
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

// Offered reports whether a call of the sibling's name is one of the list form. It is not where the server has a
// tool of that name itself. The error is the SDK's own for a tool that does not exist: the tool of one item is
// missing, or hidden from this caller. If the tools cannot be listed, it is assumed to be there.
func (f *Form) Offered(ctx context.Context, c *call.Call, req *mcp.CallToolRequest, next mcp.MethodHandler) (bool, error) {
	if _, err := lookUp(ctx, c, next, req, f.As); err == nil {
		f.refused(ctx, c, errTaken)
		return false, nil
	}
	tool, err := lookUp(ctx, c, next, req, f.Tool)
	switch {
	case err == nil:
		err = f.sibling(tool).err
	case errors.Is(err, ask.ErrNotListed):
		err = errNoTool
	default:
		err = nil
	}
	if f.refused(ctx, c, err) {
		return false, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", f.As)}
	}
	return true, nil
}

// Request returns a call of another tool in the place of req. It takes over the
// protocol, the client, the trace and the idempotency key from the _meta of req, but no progress
// token, which identifies one call. Package replay tells the items under one key apart.
func Request(req mcp.Request, tool string, args json.RawMessage) *mcp.CallToolRequest {
	session, _ := req.GetSession().(*mcp.ServerSession)
	return &mcp.CallToolRequest{Session: session, Extra: req.GetExtra(), Params: &mcp.CallToolParamsRaw{
		Meta: ask.ProtocolMeta(req, wire.KeyKey, "traceparent", "tracestate", "baggage"), Name: tool, Arguments: args,
	}}
}

// lookUp returns the definition of a tool, as the middlewares and the server inside list it for the
// caller of req.
func lookUp(ctx context.Context, c *call.Call, next mcp.MethodHandler, req mcp.Request, tool string) (*mcp.Tool, error) {
	return c.Below(ctx, "list", Request(req, tool, nil)).Server().ToolNow(next)
}

// refused reports whether there is a reason not to offer a list form, and says it in the
// log, once.
func (f *Form) refused(ctx context.Context, c *call.Call, why error) bool {
	if why != nil && f.warned.CompareAndSwap(false, true) {
		call.Warn(ctx, c.Logger(), "batch: a list form is not offered",
			slog.String("tool", f.Tool), slog.String("as", f.As), slog.String("error", why.Error()))
	}
	return why != nil
}

var (
	errTaken  = errors.New("batch: the server has a tool of this name itself, which is kept; choose another List.As")
	errNoTool = errors.New("batch: no tool of this name is listed; correct List.Tool, unless a filter hides it from this caller")
)
