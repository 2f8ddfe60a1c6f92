package proxy

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/internal/words"
)

// asServed says that what the server says of a failure stays whole.
var asServed = &call.Settings{KeepBlocks: true}

// legal returns a failed result whose structured content the output schema of the tool forbids with that content
// in its _meta: some clients drop such a result, with all that it says. raw is the content as the server wrote it.
func (p *Proxy) legal(ctx context.Context, res *mcp.CallToolResult, raw json.RawMessage) *mcp.CallToolResult {
	c := call.FromContext(ctx)
	if res.StructuredContent == nil || c == nil {
		return res
	}
	if valid := c.Server().Output(&p.outputs, nil); valid == nil || valid(raw) {
		return res
	}
	cp := *res
	cp.StructuredContent, cp.Meta = nil, maps.Clone(res.Meta)
	if cp.Meta == nil {
		cp.Meta = mcp.Meta{}
	}
	cp.Meta[wire.StructuredKey] = raw
	return &cp
}

// maxWords is how many bytes of text a failure of the server may have. More is of no use to a model, which pays for
// it: a whole page of a proxy, or a repeated request.
const maxWords = 12 << 10

// clippedResult returns a failed result with no more text than that, res itself if it has none.
func (p *Proxy) clippedResult(res *mcp.CallToolResult) *mcp.CallToolResult {
	size := 0
	for _, block := range res.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			size += len(text.Text)
		}
	}
	if size <= maxWords {
		return res
	}
	left, cp := maxWords, *res
	cp.Content = make([]mcp.Content, 0, len(res.Content))
	for _, block := range res.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			if left == 0 {
				continue
			}
			short := *text
			short.Text = words.Clip(p.Hide(text.Text), left) // first hidden: a secret may stand where it is cut
			left -= min(left, len(text.Text))
			block = &short
		}
		cp.Content = append(cp.Content, block)
	}
	return &cp
}

// clippedError is clippedResult for the error of a method. Its data is left out if it is too long.
func (p *Proxy) clippedError(wire *jsonrpc.Error) *jsonrpc.Error {
	if len(wire.Message)+len(wire.Data) <= maxWords {
		return wire
	}
	short := &jsonrpc.Error{Code: wire.Code, Message: words.Clip(p.Hide(wire.Message), maxWords/2), Data: wire.Data}
	if len(wire.Data) > maxWords/2 {
		short.Data = nil
	}
	return short
}

// unknown returns the server's error. If what the client named is not listed, it says so, and package
// validate adds the names that are near.
func unknown(ctx context.Context, method string, req mcp.Request, wire *jsonrpc.Error) error {
	what := map[string]string{call.MethodCallTool: "tool", call.MethodGetPrompt: "prompt", call.MethodReadResource: "resource"}[method]
	switch {
	case what == "":
		return wire
	case what == "resource" && wire.Code != jsonrpc.CodeInvalidParams && wire.Code != -32002:
		return wire // a server need not list all of its resources
	case len(nearNames(ctx, call.Target(req))) == 0:
		return wire
	}
	return &call.UnknownError{What: what, Err: wire}
}

// misnamed adds near names to the failure of a tool that is not listed.
type misnamed struct {
	res   *mcp.CallToolResult
	names []string
}

// AtFailure adds the names, if the call ends with the server's result.
func (m *misnamed) AtFailure(c *call.Call, f *failure.Failure, at call.Entry) {
	if f.Result() == m.res {
		c.Explain(f, classify.Finding{Beside: true, Fault: fault.FromData(fault.Data{
			Type: fault.KindNotFound, Message: failure.ContentText(m.res.Content), ResourceType: "tool", Identifier: call.Target(at.Req), SimilarMatches: m.names,
		})})
	}
}

// nearNames returns the listed names that are near to name. It returns none if name is listed itself.
func nearNames(ctx context.Context, name string) []string {
	c := call.FromContext(ctx)
	if c == nil || name == "" {
		return nil
	}
	names := c.Server().Names()
	for _, listed := range names {
		if slices.Contains(listed, name) {
			return nil
		}
	}
	return near.Matches(name, names...)
}
