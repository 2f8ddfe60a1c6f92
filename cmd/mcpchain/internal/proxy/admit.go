package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// admit waits until a call may be made, or says why it may not. free is called after it.
func (p *Proxy) admit(ctx context.Context, c *request, req mcp.Request) (free func(), err error) {
	free = func() {}
	if c.Method == call.MethodCallTool && slices.Contains(p.Tools.Hide, call.Target(req)) {
		return nil, notThere("tool", req)
	}
	if outer := call.FromContext(ctx); p.Strict && outer != nil {
		if err := unlearned(c.Method, req, outer.Unchecked()); err != nil {
			return nil, err
		}
	}
	if c.Method != call.MethodCallTool || !p.Tools.ReadOnly && !p.Serial {
		return free, nil
	}
	reads, err := p.onlyReads(ctx, req)
	switch {
	case reads:
		return free, nil
	case p.Tools.ReadOnly && err != nil:
		return nil, unlearned(c.Method, req, err)
	case p.Tools.ReadOnly:
		return nil, notThere("tool", req)
	}
	c.placed() // others may go on
	select {
	case p.serial <- struct{}{}:
		return func() { <-p.serial }, nil
	case <-ctx.Done():
		return nil, notSentError("it waited for other calls that may write", "", context.Cause(ctx))
	}
}

// onlyReads reports whether a tool only reads, by the configuration or by what the server lists.
func (p *Proxy) onlyReads(ctx context.Context, req mcp.Request) (bool, error) {
	if slices.Contains(p.Tools.Reads, call.Target(req)) {
		return true, nil
	}
	c := call.FromContext(ctx)
	if c == nil {
		return false, nil
	}
	tool, err := c.Server().Tool(nil)
	return err == nil && tool.Annotations != nil && tool.Annotations.ReadOnlyHint, err
}

// reads reports whether a request may be sent twice. A call of an unknown tool may not.
func (p *Proxy) reads(ctx context.Context, method string, req mcp.Request) bool {
	if method != call.MethodCallTool {
		return rpc.Reads(method)
	}
	reads, err := p.onlyReads(ctx, req)
	return reads && err == nil
}

// unlearned returns the failure of a call that a guard stops, because the definition of its target is unknown. It is
// nil if why is.
func unlearned(method string, req mcp.Request, why error) error {
	what := map[string]string{call.MethodCallTool: "tool", call.MethodGetPrompt: "prompt"}[method]
	switch {
	case why == nil || what == "":
		return nil
	case errors.Is(why, ask.ErrNotListed):
		return notThere(what, req)
	default:
		return notSentError("it could not be found out what the "+what+" takes and does", "The server did not list it in time", why)
	}
}

// notThere is the failure of a call of what there is not, or what the client does not see: one answer for
// both, in the words that a server of the SDK has for the first.
func notThere(what string, req mcp.Request) error {
	return &call.UnknownError{What: what, Err: &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown %s %q", what, call.Target(req))}}
}
