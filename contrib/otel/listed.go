package otel

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain/middleware"
)

// listed has the names of tools and prompts that a server lists. Only these go into names
// of spans and into metrics, because a caller could send any number of others. They are
// learnt from the lists that pass; for an unknown name, the tracer requests the list
// itself.
type listed struct {
	mu    sync.RWMutex
	names map[string]map[string]struct{} // by the method that takes them
	asked map[string]time.Time           // when a list was last asked for
}

const (
	maxListed = 2000             // names for each method
	maxPages  = 100              // of a list, so that a server with endless cursors does not keep the tracer busy
	askAgain  = time.Minute      // after which a list is asked for again
	askFor    = 10 * time.Second // how long a list may take
	patience  = 100 * time.Millisecond
)

func newListed() *listed {
	return &listed{names: map[string]map[string]struct{}{}, asked: map[string]time.Time{}}
}

func (l *listed) has(method, name string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	_, ok := l.names[method][name]
	return ok
}

// due reports whether a list has to be requested: true for only one caller each askAgain.
func (l *listed) due(method string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.asked[method]; ok && time.Since(last) < askAgain {
		return false
	}
	l.asked[method] = time.Now()
	return true
}

// learn takes the names of a list.
func (l *listed) learn(res mcp.Result) (cursor string) {
	switch r := res.(type) {
	case *mcp.ListToolsResult:
		if r != nil {
			learn(l, middleware.MethodCallTool, r.Tools, func(t *mcp.Tool) string { return t.Name })
			return r.NextCursor
		}
	case *mcp.ListPromptsResult:
		if r != nil {
			learn(l, middleware.MethodGetPrompt, r.Prompts, func(p *mcp.Prompt) string { return p.Name })
			return r.NextCursor
		}
	}
	return ""
}

func learn[T any](l *listed, method string, items []*T, name func(*T) string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names[method] == nil {
		l.names[method] = map[string]struct{}{}
	}
	for _, item := range items {
		if item != nil && len(l.names[method]) < maxListed {
			l.names[method][clean(name(item), maxName)] = struct{}{}
		}
	}
}

// knows reports whether the server lists the target of a call. For an unknown target it
// requests the list, at most once a minute, and the call waits for that only shortly.
func (t *tracer) knows(ctx context.Context, op *operation, req mcp.Request, next mcp.MethodHandler) bool {
	if op.target == "" {
		return false
	}
	if t.listed.has(op.method, op.target) {
		return true
	}
	session, ok := op.session.(*mcp.ServerSession)
	if t.kind != trace.SpanKindServer || !ok || !t.listed.due(op.method) {
		return false
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // the server may have no recovery
		ctx, cancel := context.WithTimeout(middleware.Lookup(context.WithoutCancel(ctx)), askFor)
		defer cancel()
		t.ask(ctx, op.method, session, req, next)
	}()
	select {
	case <-done:
	case <-time.After(patience):
	case <-ctx.Done():
	}
	return t.listed.has(op.method, op.target)
}

// ask requests a list from the server behind next, as the caller of req would.
func (t *tracer) ask(ctx context.Context, method string, session *mcp.ServerSession, req mcp.Request, next mcp.MethodHandler) {
	meta := maps.Clone(metaOf(req))
	maps.DeleteFunc(meta, func(key string, _ any) bool { return !strings.HasPrefix(key, "io.modelcontextprotocol/") })
	cursor := ""
	for range maxPages {
		var list mcp.Request
		name := "tools/list"
		if method == middleware.MethodGetPrompt {
			name = "prompts/list"
			list = &mcp.ListPromptsRequest{Session: session, Params: &mcp.ListPromptsParams{Meta: meta, Cursor: cursor}, Extra: req.GetExtra()}
		} else {
			list = &mcp.ListToolsRequest{Session: session, Params: &mcp.ListToolsParams{Meta: meta, Cursor: cursor}, Extra: req.GetExtra()}
		}
		res, err := next(ctx, name, list)
		if err != nil {
			return
		}
		before := cursor
		if cursor = t.listed.learn(res); cursor == "" || cursor == before {
			return
		}
	}
}
