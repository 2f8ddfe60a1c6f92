package proxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/jsons"
	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/words"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// Tools says which tools a client sees.
type Tools struct {
	Hide     []string // names of tools that there are not
	Reads    []string // names of tools that only read, although the server does not say so
	ReadOnly bool     // only tools that only read
}

func (t *Tools) filters() bool { return len(t.Hide) > 0 || t.ReadOnly }

// handle is the handler behind the middlewares: it has the server answer. What it returns of a
// success stands for the line of the server; see [Proxy.answer].
func (p *Proxy) handle(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
	c, _ := ctx.Value(callKey{}).(*request)
	outer := call.FromContext(ctx)
	if outer != nil && outer.Quiet() || c == nil || method != c.Method {
		return p.lookup(ctx, method, req)
	}
	c.note(reply{}, nil)
	free, err := p.admit(ctx, c, req)
	if err != nil {
		return nil, err
	}
	defer free()
	c.forwarded.Store(true)
	r, err := p.forward(ctx, c)
	if err != nil {
		return nil, p.withoutAdvice(req, err)
	}
	p.answeredAgain(req)
	if method == call.MethodListTools && r.wire == nil {
		if p.lists.keep(method, req, r.result); p.Tools.filters() {
			if shown, changed := p.Tools.filter(r.result); changed {
				r.result, r.m = shown, rpc.Answered(c.ID, shown)
			}
		}
	}
	if r.wire != nil {
		if clipped := clippedError(r.wire); clipped != r.wire {
			r.wire, r.m = clipped, nil
		}
		c.note(r, nil)
		return nil, unknown(ctx, method, req, r.wire)
	}
	shown := p.result(method, r.m)
	if tool, ok := shown.(*mcp.CallToolResult); ok && tool.IsError {
		if legal := p.legal(ctx, clippedResult(tool)); legal != tool {
			if r.result, err = merged(r.result, tool, legal); err != nil {
				return nil, err
			}
			r.m, shown, tool = rpc.Answered(c.ID, r.result), legal, legal
		}
		c.note(r, shown)
		if outer != nil {
			outer.Establish(asServed)
			if names := nearNames(ctx, call.Target(req)); len(names) > 0 {
				misnamed(outer, req, tool, names)
			}
		}
		return shown, nil
	}
	c.note(r, shown)
	return shown, nil
}

// asServed says that what the server says of a failure stays whole.
var asServed = &call.Settings{KeepBlocks: true}

// legal returns a failed result without structured content that the output schema of the tool forbids:
// some clients drop such a result, with all that it says.
func (p *Proxy) legal(ctx context.Context, res *mcp.CallToolResult) *mcp.CallToolResult {
	c := call.FromContext(ctx)
	if res.StructuredContent == nil || c == nil {
		return res
	}
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return res
	}
	if valid := c.Server().Output(&p.outputs, nil); valid == nil || valid(raw) {
		return res
	}
	without := *res
	without.StructuredContent = nil
	return &without
}

// admit waits until a call may be made, or says why it may not. free is called after it.
func (p *Proxy) admit(ctx context.Context, c *request, req mcp.Request) (free func(), err error) {
	free = func() {}
	if c.Method == call.MethodCallTool && slices.Contains(p.Tools.Hide, call.Target(req)) {
		return nil, unknownTool(call.Target(req))
	}
	if outer := call.FromContext(ctx); p.Strict && outer != nil {
		if err := unlearned(c.Method, req, outer.Unchecked()); err != nil {
			return nil, err
		}
	}
	if c.Method != call.MethodCallTool || !p.Tools.ReadOnly && !p.Serial {
		return free, nil
	}
	reads, err := p.reads(ctx, req)
	switch {
	case reads:
		return free, nil
	case p.Tools.ReadOnly && err != nil:
		return nil, unlearned(c.Method, req, err)
	case p.Tools.ReadOnly:
		return nil, unknownTool(call.Target(req))
	}
	c.placed() // others may go on
	select {
	case p.serial <- struct{}{}:
		return func() { <-p.serial }, nil
	case <-ctx.Done():
		return nil, waitedError("other calls that may write", context.Cause(ctx))
	}
}

// reads reports whether a tool only reads, by the configuration or by what the server lists.
func (p *Proxy) reads(ctx context.Context, req mcp.Request) (bool, error) {
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

// unlearned returns the failure of a call that a guard does not let pass, because it could not find out
// what is called. why is nil if it could.
func unlearned(method string, req mcp.Request, why error) error {
	what := map[string]string{call.MethodCallTool: "tool", call.MethodGetPrompt: "prompt"}[method]
	switch {
	case why == nil || what == "":
		return nil
	case errors.Is(why, ask.ErrNotListed):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown %s %q", what, call.Target(req))}
	default:
		return unlearnedError(what, why)
	}
}

// unknownTool is the SDK's error for a tool that there is not.
func unknownTool(name string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
}

// forward sends the line of a call to the server. A subscription of version 2026-07-28, which lasts as
// long as the session, is made again with a server that is started again.
func (p *Proxy) forward(ctx context.Context, c *request) (reply, error) {
	for tries := 0; ; tries++ {
		if up := p.server(); up == nil {
			c.placed() // it waits, and the lines behind it need not
		}
		up, err := p.current(ctx)
		if err != nil {
			return reply{}, err
		}
		began := time.Now()
		r, err := up.ask(ctx, c.Message, c)
		if time.Since(began) > p.Restart.Steady {
			tries = 0
		}
		switch {
		case errors.Is(err, errEnded):
			select {
			case <-up.ended: // and current waits for the next one
				continue
			case <-ctx.Done():
				return reply{}, waitedError("the server, which is started again", context.Cause(ctx))
			}
		case errors.Is(err, errUsed):
			return reply{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "Invalid message: " + errUsed.Error() + "."}
		case err != nil:
			if _, elsewhere := errors.AsType[*call.ElsewhereError](err); elsewhere && !errors.Is(err, errCancelled) && c.Method != call.MethodInitialize { // a time limit: nobody has told the server
				go up.send(rpc.Cancelled(c.ID, "it took too long")) // it may not read
			}
			return reply{}, err
		case r.err != nil && c.Method == call.MethodListen && !p.ending() && (p.Start != nil || up.over()) && p.again(ctx, r.err, tries):
			continue
		default:
			return r, r.err
		}
	}
}

// again reports whether a subscription that broke is made again, after a pause. It is not if a server
// over HTTP has refused it, or could not be reached in the first place.
func (p *Proxy) again(ctx context.Context, err error, tries int) bool {
	if p.Start == nil {
		return true // current waits for the next process
	}
	var failed interface {
		Effect() fault.Effect
		Refused() bool
	}
	if errors.As(err, &failed) && (failed.Refused() || tries == 0 && failed.Effect() != fault.EffectUnknown) {
		return false
	}
	select {
	case <-time.After(min(p.Restart.First<<min(tries, 20), p.Restart.Most)):
		return true
	case <-ctx.Done():
		return false
	case <-p.life.Done():
		return false
	}
}

// result returns what the middlewares get of a success. As long as none of them looks into it, it need
// not be read, which takes time and may fail: a server may have content that the SDK does not know.
func (p *Proxy) result(method string, answer *rpc.Message) mcp.Result {
	if answer == nil || len(answer.Result) == 0 || string(answer.Result) == "null" {
		return nil
	}
	stands, known := standIns[method]
	if !known {
		return &otherResult{}
	}
	if p.Decode || answer.IsError() || answer.Value("result", "inputRequests") != nil {
		res := stands()
		if jsons.Unmarshal(answer.Result, res) == nil {
			return res
		}
		if method == call.MethodCallTool && answer.IsError() {
			if res := blockwise(answer.Result); res != nil && len(res.Content) > 0 {
				return res
			}
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "the tool failed with content of an unknown kind"}}}
		}
	}
	return stands()
}

type otherResult struct{ mcp.ResultBase }

var standIns = map[string]func() mcp.Result{
	call.MethodCallTool:              func() mcp.Result { return &mcp.CallToolResult{} },
	call.MethodGetPrompt:             func() mcp.Result { return &mcp.GetPromptResult{} },
	call.MethodReadResource:          func() mcp.Result { return &mcp.ReadResourceResult{} },
	call.MethodComplete:              func() mcp.Result { return &mcp.CompleteResult{} },
	call.MethodListTools:             func() mcp.Result { return &mcp.ListToolsResult{} },
	call.MethodListPrompts:           func() mcp.Result { return &mcp.ListPromptsResult{} },
	call.MethodListResources:         func() mcp.Result { return &mcp.ListResourcesResult{} },
	call.MethodListResourceTemplates: func() mcp.Result { return &mcp.ListResourceTemplatesResult{} },
}

// maxWords is how many bytes of text a failure of the server may have. A whole page of a proxy, or what
// was sent to it, is of no use to a model, which pays for it.
const maxWords = 12 << 10

// clippedResult returns a failed result with no more text than that, res itself if it has none.
func clippedResult(res *mcp.CallToolResult) *mcp.CallToolResult {
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
			short.Text = words.Clip(text.Text, left)
			left -= min(left, len(text.Text))
			block = &short
		}
		cp.Content = append(cp.Content, block)
	}
	return &cp
}

// clippedError is clippedResult for the error of a method. Its data is left out if it is too long.
func clippedError(wire *jsonrpc.Error) *jsonrpc.Error {
	if len(wire.Message)+len(wire.Data) <= maxWords {
		return wire
	}
	short := &jsonrpc.Error{Code: wire.Code, Message: words.Clip(wire.Message, maxWords/2), Data: wire.Data}
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
func misnamed(c *call.Call, req mcp.Request, res *mcp.CallToolResult, names []string) {
	c.Explain(c.Failure(res, nil), classify.Finding{Beside: true, Fault: fault.FromData(fault.Data{
		Type: fault.KindNotFound, Message: failure.ContentText(res.Content), ResourceType: "tool", Identifier: call.Target(req), SimilarMatches: names,
	})})
}

// nearNames returns the names that are listed and near to one that is not.
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

func (p *Proxy) server() *upstream {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.up
}

// bound replaces the schemas that say nothing and end a process that compiles them, such as one that
// refers to itself, and marks the tools that only read by the configuration.
func (p *Proxy) bound(list *mcp.ListToolsResult) {
	for _, tool := range list.Tools {
		if tool == nil {
			continue
		}
		if input := bounded(tool.InputSchema); input != nil || tool.InputSchema == nil || !p.Strict { // else it cannot be checked, and is not said to be
			tool.InputSchema = cmp.Or(input, any(anyObject))
		} else {
			tool.InputSchema = nil
		}
		tool.OutputSchema = bounded(tool.OutputSchema)
		if slices.Contains(p.Tools.Reads, tool.Name) {
			if tool.Annotations == nil {
				tool.Annotations = &mcp.ToolAnnotations{}
			}
			tool.Annotations.ReadOnlyHint = true
		}
	}
}

// anyObject is what every tool takes. Nobody writes to it.
var anyObject = map[string]any{"type": "object"}

// plain is how many bytes a schema may have that is not compiled on trial.
const plain = 64 << 10

func bounded(schema any) any {
	if schema == nil {
		return nil
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil
	}
	if len(raw) < plain && !bytes.Contains(raw, []byte(`Ref"`)) && !bytes.Contains(raw, []byte(`"$ref"`)) {
		return schema
	}
	if _, err := explain.Compile(raw); err != nil {
		return nil
	}
	return schema
}
