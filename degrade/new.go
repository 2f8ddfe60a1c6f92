package degrade

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/internal/words"
	"github.com/mcpchain/mcpchain/middleware"
)

// MetaKey is the key of a result's _meta under which [New] puts the [Status] of an
// answer that is degraded.
const MetaKey = wire.DegradedKey

// Options configure [New]. The zero value is the recommended default.
type Options struct {
	// Limit is how long each source of an optional part may take when the part does not say so
	// itself. Zero means 10 s; with a negative limit there is none.
	Limit time.Duration
}

// New returns a middleware that adds the Status of [Run] to every answer, so that the handler of a
// tool need not. A typed handler cannot add it as text, because the SDK makes the text of its
// answer from the output. To an answer that is degraded, New
//
//   - appends a text block, [Status.Text];
//   - adds the Status under _meta[[MetaKey]];
//   - adds the Status where an embedded one was left empty.
//
// To a complete answer it does only the last. Failures and answers that ask for input pass
// untouched.
//
// It belongs inside of middlewares that keep or repeat answers. opts may be nil.
func New(opts *Options) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	checkLimit("degrade.New: Options.Limit", o.Limit)
	if o.Limit == 0 {
		o.Limit = defaultLimit
	}
	return call.WrapLayer("degrade.New", call.Func(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		if c.Method() != middleware.MethodCallTool {
			return next(ctx, c.Method(), req)
		}
		n := &notes{Context: ctx, limit: o.Limit}
		res, err := next(n, c.Method(), req)
		status, found := n.take()
		tool, _ := res.(*mcp.CallToolResult)
		if !found || err != nil || tool == nil || tool.IsError || tool.InputRequests != nil {
			return res, err
		}
		return annotate(tool, status), nil
	}), nil)
}

// notes collect the status of all Runs of one call. They are the context of the handler, which costs
// one allocation.
type notes struct {
	context.Context //nolint:containedctx // it is one, as middleware.Call is

	limit time.Duration

	mu     sync.Mutex
	found  bool
	status Status
}

type notesKey struct{}

// Value returns the notes for their own key.
func (n *notes) Value(key any) any {
	if _, ok := key.(notesKey); ok {
		return n
	}
	return n.Context.Value(key)
}

func notesOf(ctx context.Context) *notes {
	n, _ := ctx.Value(notesKey{}).(*notes)
	return n
}

// add notes the status of a Run. It does nothing if n is nil: New is not in the chain.
func (n *notes) add(s Status) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.found, n.status = true, n.status.add(s)
}

func (n *notes) take() (status Status, found bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.status, n.found
}

// annotate returns a copy of a result with the status in it.
func annotate(have *mcp.CallToolResult, status Status) *mcp.CallToolResult {
	res := *have
	if status.Degraded {
		res.Meta = maps.Clone(res.Meta)
		if res.Meta == nil {
			res.Meta = mcp.Meta{}
		}
		res.Meta[MetaKey] = status
	}
	if raw, ok := filled(have.StructuredContent, status); ok {
		res.Content = slices.Clone(res.Content)
		was, _ := have.StructuredContent.(json.RawMessage)
		for i, c := range res.Content { // the SDK's copy of the output, for clients that read text
			if t, ok := c.(*mcp.TextContent); ok && t != nil && was != nil && t.Text == string(was) {
				cp := *t
				cp.Text = string(raw)
				res.Content[i] = &cp
			}
		}
		res.StructuredContent = raw
	}
	if status.Degraded {
		res.Content = append(slices.Clip(res.Content), &mcp.TextContent{Text: status.Text()})
	}
	return &res
}

// filled returns the output with the status in it, if the handler embedded one and left it empty.
// It adds nothing to any other output, whose schema may be strict.
func filled(output any, status Status) (json.RawMessage, bool) {
	raw, _ := safe.JSON(output) // nil for one that cannot be sent, as package recover says
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil, false // not an object
	}
	_, degraded := members["degraded"]
	_, metadata := members["metadata"]
	var own Status
	if !degraded || !metadata || json.Unmarshal(raw, &own) != nil || own.Degraded || len(own.Metadata.ComponentsRequested) > 0 {
		return nil, false // the handler filled it in itself, or it is something else
	}
	ours, err := json.Marshal(status)
	if err != nil || json.Unmarshal(ours, &members) != nil { // the other members stay
		return nil, false
	}
	return words.Encode(members), true
}
