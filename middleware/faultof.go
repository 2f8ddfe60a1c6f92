package middleware

import (
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// FaultOf reads the failure that a call ended with, given what the call returned.
// It works on a server, in a middleware, and on a client, with what
// ClientSession.CallTool and the other methods return:
//
//	res, err := session.CallTool(ctx, params)
//	if f, failed := middleware.FaultOf(res, err); failed {
//		...
//	}
//
// It reports false for a success. On a server, rules (see mask.Options) have no part
// in it; in a middleware, [AddTo] knows them. The failures of servers that know nothing of
// mcpchain are read as well as they allow: the kind from the JSON-RPC code, or
// [fault.KindTool] with the tool's own text. That is also what a tool behind mcpchain has reported in
// words of its own; its reference is read from the _meta. Of a server that can send nothing but the text of
// a failure, as contrib/mcpgo for resources and prompts, that text is read.
func FaultOf(res mcp.Result, err error) (*fault.Error, bool) { return failure.FaultOf(res, err) }

// NextSteps returns a copy of a successful result that tells the model what to do next: a text
// block "Next: 1. ..." at the end of the content, and the steps, an array of fault.Step, under
// _meta["io.github.mcpchain/next_steps"]. A nil result is an empty one; without steps the
// result is returned as it is.
//
// A typed handler may return a result without content, or none: then the SDK writes the
// output as text after the handler. In that case the text block with the steps is added by
// our middlewares. Without them, only _meta has the steps.
func NextSteps(res *mcp.CallToolResult, steps ...fault.Step) *mcp.CallToolResult {
	if len(steps) == 0 {
		return res
	}
	var out mcp.CallToolResult
	if res != nil {
		out = *res
	}
	// A fault numbers the steps and makes their values fit for JSON.
	steps = fault.New(fault.KindInternal, "").WithSteps(steps...).Data().RecoverySteps
	var listed any = call.PendingSteps(steps)
	if len(out.Content) > 0 {
		out.Content = append(slices.Clone(out.Content), &mcp.TextContent{Text: faults.StepsText(steps)})
		listed = steps
	}
	if out.Meta = maps.Clone(out.Meta); out.Meta == nil {
		out.Meta = mcp.Meta{}
	}
	out.Meta[wire.StepsKey] = listed
	return &out
}
