package batch

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/middleware"
)

// call answers a call of a sibling.
func (l *lister) call(ctx context.Context, c *call.Call, req *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	f := l.byName[req.Params.Name]
	// The server may have a tool of the sibling's name, and may not have the tool, or not for
	// this caller. If the tools cannot be listed, the tool is assumed to exist.
	if _, err := lookUp(ctx, c, next, req, f.As); err == nil {
		f.refused(ctx, c, errTaken)
		return next(ctx, c.Method(), req)
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
		return nil, unknown(f.As)
	}
	items, head, err := f.read(req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	one := func(ctx context.Context, i int) (any, error) {
		item := itemRequest(req, f.Tool, with(head, items[i]))
		below := c.Below(ctx, strconv.Itoa(i), item)
		res, err := next(below, middleware.MethodCallTool, item)
		var value any
		failed := below.Failure(res, err)
		if failed == nil {
			if value, err = f.value(res, items[i]); err == nil {
				_, err = below.Finish(res, nil)
				return value, err
			}
			failed = below.Failure(nil, err)
		}
		public, quote := publish(below, failed, err)
		return nil, &publishedError{public, quote}
	}
	result := newBatch(ctx, items, one, &f.run).run(ctx)
	result.listName = f.Items
	answer, complete := result.ToolResult(), call.NewResult(c.Request())
	complete.Meta, complete.Content, complete.StructuredContent, complete.IsError = answer.Meta, answer.Content, answer.StructuredContent, answer.IsError
	return complete, nil
}

// itemRequest returns a request for another tool in the place of req. It takes over the
// protocol, the client and the trace from the _meta of req, but no progress token, which
// identifies one call, and no idempotency key, which all items must not share.
func itemRequest(req mcp.Request, tool string, args json.RawMessage) *mcp.CallToolRequest {
	session, _ := req.GetSession().(*mcp.ServerSession)
	return &mcp.CallToolRequest{Session: session, Extra: req.GetExtra(), Params: &mcp.CallToolParamsRaw{
		Meta: ask.ProtocolMeta(req, "traceparent", "tracestate", "baggage"), Name: tool, Arguments: args,
	}}
}

var errNoAnswer = errors.New("batch: the call of an item was answered with neither a result nor an error")

// value returns the value in the answer of an item: its structured content, else its text,
// else its content, as JSON. A value that no answer can hold is not kept, so that the memory
// of a call is bounded by the number of its items.
func (f *form) value(res mcp.Result, item json.RawMessage) (any, error) {
	tool, ok := res.(*mcp.CallToolResult)
	if !ok || tool == nil {
		return nil, errNoAnswer
	}
	if tool.InputRequests != nil {
		return nil, f.needsInput(tool, item)
	}
	var of any = tool.Content
	if tool.StructuredContent != nil {
		of = tool.StructuredContent
	} else if len(tool.Content) == 1 {
		if text, ok := tool.Content[0].(*mcp.TextContent); ok && text != nil {
			of = text.Text
		}
	}
	value, err := classify.JSON(of) // now, because one item that cannot be sent must not cost the others
	switch {
	case err != nil:
		return nil, notJSON("the answer of an item", err)
	case len(value) > f.run.MaxBytes:
		return tooLong{}, nil
	case tool.StructuredContent != nil:
		value = marked(value, tool.Meta[degradedKey])
	}
	return value, nil
}

// degradedKey is the MetaKey of package degrade, whose middleware stands inside.
const degradedKey = wire.DegradedKey

// marked returns the value of an item together with what package degrade says about its
// answer, so that nothing old is taken for fresh. If the tool's output schema has no place for
// that, it stands only in the _meta and in a text after the value. The list form's schema has
// a place.
func marked(value json.RawMessage, status any) json.RawMessage {
	if status == nil {
		return value
	}
	raw, err := classify.JSON(status)
	var marks, members schema
	if err != nil || json.Unmarshal(raw, &marks) != nil {
		return value // not of package degrade
	}
	if json.Unmarshal(value, &members) == nil && string(members["degraded"]) == "true" {
		return value // it says so itself
	}
	marks["value"] = value
	return encode(marks)
}

// needsInput returns the failure of an item that asks for input: one answer for many items
// cannot ask.
func (f *form) needsInput(tool *mcp.CallToolResult, item json.RawMessage) error {
	return fault.New(fault.KindPreconditionFailed, "this item needs more input from the user").
		With("input_requests", tool.InputRequests).
		Step("Call it for this item alone", f.Tool, map[string]any{f.Item: decoded(item)})
}
