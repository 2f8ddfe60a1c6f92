package task

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/apart"
	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/kept"
	"github.com/mcpchain/mcpchain/internal/table"
)

// serve is the inner half of the middleware. It lists and answers the tools of this package.
func (t *tasks) serve(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	switch c.Method() {
	case call.MethodListTools:
		res, err := next(ctx, c.Method(), req)
		return t.listed(req, res), err
	case call.MethodCallTool:
		switch name := call.Target(req); name {
		case resultTool, cancelTool:
			return t.tool(ctx, c, name, req, next)
		}
		if r := runOf(ctx); r != nil && r.t == t && c.Parent() == nil {
			return r.within(ctx, c, req, next)
		}
	}
	return next(ctx, c.Method(), req)
}

// A fetched is the kept answer that a call of task_result gets. The middlewares between the two halves see a
// success without content: they have treated the answer already, when its own call ended.
type fetched struct {
	res *mcp.CallToolResult
	err error
}

// fetch is a call of a tool of this package at the outer half.
func (t *tasks) fetch(ctx context.Context, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	f := &fetched{}
	res, err := next(context.WithValue(ctx, call.IdleKey{}, f), call.MethodCallTool, req)
	if failure.Failed(res, err) {
		return res, err
	}
	switch {
	case f.err != nil:
		return nil, f.err
	case f.res != nil:
		return f.res, nil
	default:
		return res, nil
	}
}

// A request is a call of one of the tools of this package.
type request struct {
	*mcp.CallToolRequest

	c        *call.Call
	id, name string
	here     *run // nil if it does not run on this server
}

// runOf returns the run whose record has a name, nil if it does not run on this server.
func (t *tasks) runOf(name string) *run {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.runs[name]
}

// tool answers a call of task_result or task_cancel.
func (t *tasks) tool(ctx context.Context, c *call.Call, tool string, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	r := &request{c: c}
	r.CallToolRequest, _ = req.(*mcp.CallToolRequest)
	var in struct {
		ID any `json:"id"`
	}
	_ = json.Unmarshal(call.ArgumentsOf(req), &in)
	id, _ := in.ID.(string)
	owner := t.owners.Of(ctx, req)
	r.id, r.name = id, nameOf(owner, id)
	rec, running, found, err := t.read(ctx, r)
	if !found && serverHas(c, tool, next) {
		return next(ctx, c.Method(), req)
	}
	switch {
	case in.ID == nil:
		return nil, fault.Violations(fault.Violation{Field: "id", Rule: "required", Expected: anID})
	case id == "":
		return nil, fault.Invalid("id", in.ID, anID)
	case err != nil:
		return nil, t.unavailable(err)
	case !found:
		return nil, errUnknown
	case tool == cancelTool:
		return t.cancelled(ctx, r, rec, running)
	}
	return t.result(ctx, r, rec, running)
}

// result waits for the end of a call.
func (t *tasks) result(ctx context.Context, r *request, rec kept.Record, running bool) (mcp.Result, error) {
	until := time.NewTimer(inTime(ctx, t.Wait))
	defer until.Stop()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		switch {
		case rec.Done:
			return t.ended(ctx, r, rec)
		case !running && rec.Safe:
			return nil, errLostSafe
		case !running:
			return nil, errLost
		}
		var ended <-chan struct{}
		poll := time.NewTimer(pause)
		if r.here != nil {
			ended = r.here.kept
			poll.Stop()
		}
		select {
		case <-ended:
		case <-poll.C:
		case <-ctx.Done():
			poll.Stop()
			return nil, ctx.Err()
		case <-until.C:
			poll.Stop()
			return t.stillRunning(r, rec), nil
		}
		var found bool
		var err error
		switch rec, running, found, err = t.read(ctx, r); {
		case err != nil:
			return nil, t.unavailable(err)
		case !found:
			return nil, errUnknown
		}
	}
}

// cancelled tells a call to stop.
func (t *tasks) cancelled(ctx context.Context, r *request, rec kept.Record, running bool) (mcp.Result, error) {
	switch {
	case rec.Done:
		return r.text("It has ended already. " + sentence(resultTool, r.id) + " gets its answer."), nil
	case !running && rec.Safe:
		return nil, errLostSafe
	case !running:
		return nil, errLost
	}
	if r.here != nil {
		r.here.stop()
	} else if err := t.wish(ctx, r.name); err != nil {
		return nil, t.unavailable(err)
	}
	return r.text("It was told to stop. What it did before may stand. " + sentence(resultTool, r.id) + " says how it ended."), nil
}

// offered reports whether the caller of c is offered the task_result of this package, without which a handle is of no
// use. It also returns the tool that is called, nil if that is unknown.
func (t *tasks) offered(c *call.Call, next mcp.MethodHandler) (tool *mcp.Tool, ok bool) {
	look := apart.Go(func() (found [2]*mcp.Tool, err error) {
		if found[0], err = lookup(c, resultTool).Tool(nil); err == nil {
			found[1], _ = c.Server().Tool(next)
		}
		return found, err
	})
	if !look.Within(beginWithin) {
		return nil, true // a server that runs one call at a time does not list its tools meanwhile
	}
	found, err := look.Result()
	switch {
	case errors.Is(err, ask.ErrNotListed) || errors.As(err, new(*ask.OneHandlerError)):
		return nil, false
	case err == nil && found[0].Description != ours[0].Description: // else it may be that of another middleware of this package
		t.taken[0].Store(true)
		if t.warned.CompareAndSwap(false, true) {
			call.Warn(c, t.Logger, "task: the server has a tool of its own with the name task_result, so its calls get no handles")
		}
		return nil, false
	}
	return found[1], true
}

// serverHas reports whether the server itself lists a tool.
func serverHas(c *call.Call, tool string, next mcp.MethodHandler) bool {
	look := apart.Go(func() (*mcp.Tool, error) { return lookup(c, tool).Tool(next) })
	if !look.Within(beginWithin) {
		return false
	}
	found, _ := look.Result()
	return found != nil
}

// lookup is the server of c, which is asked for another tool than the one that c calls.
func lookup(c *call.Call, tool string) ask.Server {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: tool}}
	if r, ok := c.Request().(*mcp.CallToolRequest); ok && r != nil {
		req.Session, req.Extra, req.Params.Meta = r.Session, r.Extra, r.GetParams().GetMeta()
	}
	return c.Below(c, "lookup", req).Server()
}

// usual is how long the last calls took that succeeded behind a handle.
type usual struct {
	last [8]time.Duration
	seen int
}

// took notes how long a call took that succeeded, for its caller alone.
func (t *tasks) took(r *run, res mcp.Result, err error) {
	if tool, ok := res.(*mcp.CallToolResult); err != nil || !ok || tool == nil || tool.IsError || r.owner == "" {
		return
	}
	key := r.owner + "\x00" + r.req.Params.Name
	if _, known := t.usual.Get(key); !known && t.usual.Len() >= table.MaxNames {
		return
	}
	u, _ := t.usual.Get(key)
	u.last[u.seen%len(u.last)] = time.Since(r.began)
	u.seen++
	t.usual.Put(key, u)
}
