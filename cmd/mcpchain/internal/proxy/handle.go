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
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/explain"
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
	if outer := call.FromContext(ctx); outer != nil && outer.Quiet() || c == nil || method != c.Method {
		return p.lookup(ctx, method, req)
	}
	c.note(reply{}, nil)
	if method == call.MethodCallTool {
		free, err := p.admit(ctx, c, req)
		if err != nil {
			return nil, err
		}
		defer free()
	}
	r, err := p.forward(ctx, c, req)
	if err != nil {
		return nil, err
	}
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
		return nil, p.suggest(ctx, method, req, r.wire)
	}
	shown := p.result(method, r.m)
	if tool, ok := shown.(*mcp.CallToolResult); ok && tool.IsError {
		if clipped := clippedResult(tool); clipped != tool {
			if r.result, err = merged(r.result, tool, clipped); err != nil {
				return nil, err
			}
			r.m, shown, tool = rpc.Answered(c.ID, r.result), clipped, clipped
		}
		c.note(r, shown)
		if err := p.misnamed(ctx, req, tool); err != nil {
			return nil, err
		}
		return shown, nil
	}
	c.note(r, shown)
	return shown, nil // without a result it is nil, and package recover says so
}

// admit waits until a call of a tool may be made, or says why it may not. free is called after it.
func (p *Proxy) admit(ctx context.Context, c *request, req mcp.Request) (free func(), err error) {
	name := call.Target(req)
	if slices.Contains(p.Tools.Hide, name) {
		return nil, unknownTool(name)
	}
	if !p.Tools.ReadOnly && !p.Serial {
		return func() {}, nil
	}
	reads := onlyReads(ctx)
	switch {
	case reads, !p.Tools.ReadOnly && !p.Serial:
		return func() {}, nil
	case p.Tools.ReadOnly:
		return nil, unknownTool(name)
	}
	c.placed() // others may go on
	select {
	case p.serial <- struct{}{}:
		return func() { <-p.serial }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// onlyReads reports whether the tool of a call is listed as one that only reads.
func onlyReads(ctx context.Context) bool {
	c := call.FromContext(ctx)
	if c == nil {
		return false
	}
	tool, _ := c.Server().Tool(nil)
	return tool != nil && tool.Annotations != nil && tool.Annotations.ReadOnlyHint
}

// reads reports whether a request may be sent twice. A tool of which nothing is known may not.
func (p *Proxy) reads(ctx context.Context, method string, req mcp.Request) bool {
	if method != call.MethodCallTool {
		return rpc.Reads(method)
	}
	return slices.Contains(p.Tools.Reads, call.Target(req)) || onlyReads(ctx)
}

// unknownTool is the SDK's error for a tool that there is not.
func unknownTool(name string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
}

// forward sends the line of a call to the server: once, unless the line was not sent to a run that has ended. If the
// session was lost, what only reads is sent a second time, in the next session. A subscription of version
// 2026-07-28, which lasts as long as the session, is made again with a server that is started again.
func (p *Proxy) forward(ctx context.Context, c *request, req mcp.Request) (reply, error) {
	second := false // it is sent a second time
	for tries := 0; ; tries++ {
		if up := p.server(); up == nil {
			c.placed() // it waits, and the lines behind it need not
		}
		up, err := p.current(ctx)
		if err != nil {
			return reply{}, err
		}
		began := time.Now()
		r, err := up.ask(ctx, c.Message, c.placed)
		if time.Since(began) > p.Restart.Steady {
			tries = 0
		}
		lost := r.lost && !second
		if lost || errors.Is(err, errEnded) {
			select {
			case <-up.ended: // and current waits for the next one
			case <-ctx.Done():
				return reply{}, context.Cause(ctx)
			}
			if second = second || lost; !lost || p.reads(ctx, c.Method, req) { // the next session may have to say what reads
				continue
			}
		}
		switch {
		case errors.Is(err, errUsed):
			return reply{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "Invalid message: " + errUsed.Error() + "."}
		case err != nil:
			if !errors.Is(err, errCancelled) && c.Method != call.MethodInitialize { // a time limit: nobody has told the server
				up.send(by(c.Authorization, rpc.Cancelled(c.ID, "it took too long")))
			}
			return reply{}, err
		case r.err != nil && c.Method == call.MethodListen && !p.ending() && p.again(ctx, r.err, tries):
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

// suggest returns the server's error. If what the client named is not listed, and something near is, it
// is the error of the SDK for an unknown name, which package validate knows.
func (p *Proxy) suggest(ctx context.Context, method string, req mcp.Request, wire *jsonrpc.Error) error {
	what := map[string]string{call.MethodCallTool: "tool", call.MethodGetPrompt: "prompt", call.MethodReadResource: "resource"}[method]
	says := fmt.Sprintf("unknown %s %q", what, call.Target(req))
	switch {
	case wire.Code != jsonrpc.CodeInvalidParams && (what != "resource" || wire.Code != -32002):
		return wire
	case what == "":
		return wire
	case what == "resource":
		says = "Resource not found"
	}
	if len(nearNames(ctx, call.Target(req))) == 0 {
		return wire
	}
	return &jsonrpc.Error{Code: wire.Code, Message: says, Data: wire.Data}
}

// misnamed returns a failure with near names for the result of a tool that is not listed, nil if
// there is nothing to say. The words of the server stay.
func (p *Proxy) misnamed(ctx context.Context, req mcp.Request, res *mcp.CallToolResult) error {
	name := call.Target(req)
	names := nearNames(ctx, name)
	if len(names) == 0 {
		return nil
	}
	said := fmt.Sprintf("unknown tool %q", name)
	if text, ok := first(res.Content).(*mcp.TextContent); ok {
		said = text.Text
	}
	return fault.FromData(fault.Data{
		Type: fault.KindNotFound, Message: said, ResourceType: "tool", Identifier: name, SimilarMatches: names,
	})
}

func first(content []mcp.Content) mcp.Content {
	if len(content) == 0 {
		return nil
	}
	return content[0]
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

// lookupWait is how long the server may take to list something for a middleware.
const lookupWait = 2 * time.Second

// lookup answers the question of a middleware. While the server does not run or does not answer, it is
// what the server listed before.
func (p *Proxy) lookup(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
	stands, known := standIns[method]
	if !known {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no middleware may ask for " + method}
	}
	raw, err := p.fresh(ctx, method, req)
	if err != nil {
		if raw = p.lists.get(method, req); raw == nil {
			return nil, err
		}
	}
	if method == call.MethodListTools {
		raw, _ = p.Tools.filter(raw)
	}
	res := stands()
	if err := jsons.Unmarshal(raw, res); err != nil {
		return nil, err
	}
	if list, ok := res.(*mcp.ListToolsResult); ok {
		p.bound(list)
	}
	return res, nil
}

func (p *Proxy) fresh(ctx context.Context, method string, req mcp.Request) (json.RawMessage, error) {
	params, err := json.Marshal(req.GetParams())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lookupWait, errors.New("the server did not list anything in time"))
	defer cancel()
	up := p.server()
	if up == nil {
		if p.lists.get(method, req) != nil {
			return nil, errEnded
		}
		if up, err = p.current(ctx); err != nil { // it is started again
			return nil, err
		}
	}
	caller := ""
	if c, ok := ctx.Value(callKey{}).(*request); ok {
		caller = c.Authorization
	}
	r, err := up.renamed(ctx, by(caller, rpc.Request(rpc.NumberID(0), method, params)))
	switch {
	case err != nil:
		return nil, err
	case r.wire != nil:
		return nil, r.wire
	case r.err != nil:
		return nil, r.err
	}
	p.lists.keep(method, req, r.result)
	return r.result, nil
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
		tool.InputSchema = cmp.Or(bounded(tool.InputSchema), any(anyObject))
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
