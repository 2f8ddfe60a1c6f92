package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/listform"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/internal/words"
	"github.com/mcpchain/mcpchain/middleware"
)

// call answers a call of a sibling.
func (l *lister) call(ctx context.Context, c *call.Call, req *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	f := l.forms.Of(req.Params.Name)
	switch offered, err := f.Offered(ctx, c, req, next); {
	case err != nil:
		return nil, err
	case !offered:
		return next(ctx, c.Method(), req)
	}
	items, head, err := f.Read(req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	run := l.run[f]
	var began atomic.Bool // an item got through
	one := func(ctx context.Context, i int) (any, error) {
		item := listform.Request(req, f.Tool, listform.Arguments(head, items[i]))
		below := c.Below(ctx, strconv.Itoa(i), item)
		res, err := next(below, middleware.MethodCallTool, item)
		c.NoteMendedPart(fmt.Sprintf("%s[%d]", f.Items, i), below.Changes())
		var value any
		failed := below.End(res, err)
		if failed == nil {
			if value, err = valueOf(res, f, items[i], run.MaxBytes); err == nil {
				began.Store(true)
				_, err = below.Finish(res, nil)
				return value, err
			}
			failed = below.Judge(nil, err)
		}
		if whole := c.ListRefused(); whole == nil || !safe.Is(err, whole) {
			began.Store(true)
		}
		public, quote := publish(below, failed, err)
		return nil, &publishedError{public, quote, failed}
	}
	result := newBatch(ctx, items, one, &run).run(ctx)
	if whole := c.ListRefused(); whole != nil && !began.Load() {
		return nil, whole
	}
	result.listName, result.kept = f.Items, c.ListKept()
	answer, complete := result.ToolResult(), call.NewResult(c.Request())
	complete.Meta, complete.Content, complete.StructuredContent, complete.IsError = answer.Meta, answer.Content, answer.StructuredContent, answer.IsError
	return complete, nil
}

var errNoAnswer = errors.New("batch: the call of an item was answered with neither a result nor an error")

// valueOf returns the value in the answer of an item as JSON: its structured content, else its text,
// else its content. A value that no answer can hold is not kept. So the number of items bounds the
// memory of a call.
func valueOf(res mcp.Result, f *listform.Form, item json.RawMessage, maxBytes int) (any, error) {
	tool, ok := res.(*mcp.CallToolResult)
	if !ok || tool == nil {
		return nil, errNoAnswer
	}
	if tool.InputRequests != nil {
		return nil, needsInput(tool, f, item)
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
	case len(value) > maxBytes:
		return tooLong{}, nil
	case tool.StructuredContent != nil:
		value = marked(value, tool.Meta[wire.DegradedKey])
	}
	return value, nil
}

// marked returns the value of an item together with the status of package degrade, so that nothing old
// is taken for fresh. If the tool's output schema has no place for the status, it stands only in the
// _meta and in a text after the value. The list form's schema has a place.
func marked(value json.RawMessage, status any) json.RawMessage {
	if status == nil {
		return value
	}
	raw, err := classify.JSON(status)
	var marks, members map[string]json.RawMessage
	if err != nil || json.Unmarshal(raw, &marks) != nil {
		return value // package degrade has not made it
	}
	if json.Unmarshal(value, &members) == nil && string(members["degraded"]) == "true" {
		return value // it says so itself
	}
	marks["value"] = value
	return words.Encode(marks)
}

// needsInput returns the failure of an item that asks for input: one answer for many items
// cannot ask.
func needsInput(tool *mcp.CallToolResult, f *listform.Form, item json.RawMessage) error {
	var value any
	_ = json.Unmarshal(item, &value) // it was read
	return fault.New(fault.KindPreconditionFailed, "this item needs more input from the user").
		With("input_requests", tool.InputRequests).
		Step("Call it for this item alone", f.Tool, map[string]any{f.Item: value})
}
