package validate

import (
	"bytes"
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// Mending says which calls are made with mended arguments. Arguments are mended only if what was meant is
// certain and the same in meaning:
//
//   - the JSON text of a list or an object, where the schema takes one and takes no text;
//   - a number or a boolean as text, "5" or "false", but not "00713", "1e3" or " 5 ";
//   - null for an optional argument, which is left out if the tool is annotated as read-only or if
//     the schema's default is null;
//   - all arguments inside of one member "arguments", "params" or "input" that the schema does not
//     know, or as one JSON text.
//
// If anything else is wrong with the arguments, nothing is mended. The _meta of the answer says under
// "io.github.mcpchain/mended" what was changed, and so do the records of packages correlate and audit, without values.
type Mending uint8

const (
	// MendRefused mends arguments that were refused before the handler ran, and makes the call
	// with them. With AfterFailure, those that [Tool] refuses are not mended.
	MendRefused Mending = iota

	// MendNever mends nothing.
	MendNever

	// MendBefore compares each call with the tool's listed schema before its handler runs. Arguments that
	// cannot be mended are passed on as they came. It is for handlers that the SDK does not check.
	MendBefore
)

// Mended are arguments that were mended.
type mended struct {
	req     mcp.Request
	args    []byte
	changes []wire.Change
}

// mend returns the request with mended arguments, nil if they are not mended. text is what the SDK said of them, "" if
// it was not asked.
func (v *validator) mend(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler, schema *explain.Schema, text string) *mended {
	return guarded(func() *mended {
		m := mended{args: call.ArgumentsOf(req)}
		readOnly := bytes.Contains(m.args, []byte("null")) && callOf(ctx, c, req).Safety(next) == failure.Reads
		m.args, m.changes = schema.Mend(m.args, readOnly, text)
		m.req = withArguments(req, m.args)
		if m.changes == nil || v.credentials(ctx, c, m.req, next) != nil { // a text may have hidden the name of one
			return nil
		}
		return &m
	})
}

// make notes that the handler is about to run with mended arguments. It reports false if the Call is observed.
func (m *mended) make(c *call.Call) bool {
	if c.Observing() {
		c.WouldMend(m.changes)
		return false
	}
	c.NoteMended(m.args, m.changes)
	return true
}

// again returns the mended request of a call that the SDK refused before its handler ran, nil if there is none.
// What a handler began is not begun twice, even if it imitates the SDK.
func (v *validator) again(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler, res mcp.Result) mcp.Request {
	tool, ok := res.(*mcp.CallToolResult)
	if !ok || tool.GetError() == nil || !failure.Plain(tool) {
		return nil
	}
	said, ok := strings.CutPrefix(safe.Error(tool.GetError()), classify.ArgumentsRefused)
	if !ok {
		return nil
	}
	if w := c.Witness(); w.Took+w.Open > 0 || ctx.Err() != nil {
		return nil
	}
	m := guarded(func() (m *mended) { // a middleware inside may panic
		byTool(callOf(ctx, c, req), next, func(tool *mcp.Tool, missing error) bool {
			m = nil
			if schema, err := v.schemaOf(tool, missing); err == nil {
				m = v.mend(ctx, c, req, next, schema, said)
			}
			return m != nil
		})
		return m
	})
	if m == nil || ctx.Err() != nil || !m.make(c) {
		return nil
	}
	return m.req
}
