package proxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/explain"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// Tools says which tools a client sees.
type Tools struct {
	Hide     []string // names of tools that there are not
	Reads    []string // names of tools that only read, although the server does not say so
	ReadOnly bool     // only tools that only read
}

// handle is the handler behind the middlewares: it has the server answer. What it returns of a
// success stands for the line of the server; see [Proxy.answer].
func (p *Proxy) handle(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
	c, _ := ctx.Value(callKey{}).(*request)
	outer := call.FromContext(ctx)
	if outer != nil && p.place.Load() == nil {
		p.place.Store(outer.Place()) // one chain has one
	}
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
	line, mended := c.Message, false
	if outer != nil {
		var args json.RawMessage
		if args, mended = outer.Mended(); mended {
			line = line.With(args, "params", "arguments")
		}
	}
	c.runs(ctx)
	r, err := p.forward(ctx, c, p.asksForProgress(c, line), req)
	c.runs(nil) //nolint:staticcheck // it runs no longer
	if err != nil {
		return nil, p.withoutAdvice(req, err)
	}
	p.answeredAgain(req)
	if method == call.MethodListTools && r.wire == nil {
		p.lists.keep(method, req, r.result)
		p.checkNames(req, r.result)
		if shown, changed := p.Tools.filter(r.result); changed {
			r.result, r.m = shown, rpc.Answered(c.ID, shown)
		}
	}
	if r.wire != nil {
		if clipped := p.clippedError(r.wire); clipped != r.wire {
			r.wire, r.m = clipped, nil
		}
		c.note(r, nil)
		return nil, unknown(ctx, method, req, r.wire)
	}
	if p.HideResults { // first, because a middleware that sees a part of a secret leaves the rest
		r.m = p.hidden(r.m)
		r.result = r.m.Result
	}
	shown := p.result(method, r.m)
	if tool, ok := shown.(*mcp.CallToolResult); ok && mended { // what the call adds to it leaves what the server wrote
		_ = rpc.Unmarshal(r.m.Value("result", "_meta"), &tool.Meta)
	}
	if tool, ok := shown.(*mcp.CallToolResult); ok && tool.IsError {
		if legal := p.legal(ctx, p.clippedResult(tool), r.m.Value("result", "structuredContent")); legal != tool {
			if r.result, err = merged(r.result, tool, legal); err != nil {
				return nil, err
			}
			r.m, shown, tool = rpc.Answered(c.ID, r.result), legal, legal
		}
		c.note(r, shown)
		if outer != nil {
			outer.Establish(asServed)
			if names := nearNames(ctx, call.Target(req)); len(names) > 0 {
				outer.AtFailure(&misnamed{tool, names}, call.Entry{Req: req})
			}
		}
		return shown, nil
	}
	c.note(r, shown)
	return shown, nil
}

// forward sends a line, that of the call or the one with mended arguments, to the server, once. If the run had ended before, it sends the line to the next
// run. If the session was lost, it repeats a request that only reads, in the next session. It renews a subscription
// of version 2026-07-28, which lasts as long as the session, with the next run.
func (p *Proxy) forward(ctx context.Context, c *request, line *rpc.Message, req mcp.Request) (reply, error) {
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
		r, err := up.ask(ctx, line, c)
		if errors.Is(err, errLate) {
			if r, err = up.renamed(ctx, line, c); r.m != nil {
				r.m = r.m.With(c.ID, "id")
			}
		}
		if time.Since(began) > p.Restart.Steady {
			tries = 0
		}
		lost := r.lost && !second
		if lost || errors.Is(err, rpc.ErrUnsent) {
			select {
			case <-up.ended: // and current waits for the next one
			case <-ctx.Done():
				if lost { // it was sent
					return r, r.err
				}
				return reply{}, notSentError("it waited for the server, which is started again", "", context.Cause(ctx))
			}
			if second = second || lost; !lost || p.reads(ctx, c.Method, req) { // the next session may have to say what reads
				continue
			}
		}
		switch {
		case errors.Is(err, errUsed):
			return reply{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "Invalid message: " + errUsed.Error() + "."}
		case err != nil:
			return reply{}, up.timedOut(c, began, err)
		case r.err != nil && c.Method == call.MethodListen && !p.ending() && (p.Start != nil || isClosed(up.process.Ended())) && p.again(ctx, r.err, tries):
			continue
		default:
			return r, r.err
		}
	}
}

// timedOut returns err, or what came instead of an answer if err is the end of a time limit. The server has not heard of
// that limit, and is told.
func (u *upstream) timedOut(c *request, began time.Time, err error) error {
	elsewhere, ok := errors.AsType[*call.ElsewhereError](err)
	if !ok || errors.Is(err, errCancelled) || c.Method == call.MethodInitialize {
		return err
	}
	if givenUp(err) { // by task_cancel
		go u.send(by(c.Authorization, rpc.Cancelled(c.serverID(), "the client cancelled the call")))
		return err
	}
	go u.send(by(c.Authorization, rpc.Cancelled(c.serverID(), "it took too long"))) // it may not read
	if starts, came := u.starts(), u.came(int64(began.Sub(epoch))); u.ours && (starts || came != "") {
		return insteadError(elsewhere, starts, came)
	}
	return err
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
	stands, known := standIns[method]
	if !known {
		return &otherResult{}
	}
	if p.Decode || p.Tasks && method == call.MethodListTools || answer.IsError() || answer.Value("result", "inputRequests") != nil {
		res := stands()
		list, _ := res.(*mcp.ListToolsResult)
		if rpc.Unmarshal(answer.Result, res) == nil && (list == nil || !slices.Contains(list.Tools, nil)) {
			return res
		}
		if method == call.MethodListTools {
			return toolwise(answer.Result)
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

func (p *Proxy) server() *upstream {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.up
}

// bound replaces schemas that say nothing, and those that would end a process that compiles them, such as one that
// refers to itself. It marks the tools that only read by the configuration.
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
