package task

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/apart"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/jsons"
	"github.com/mcpchain/mcpchain/internal/kept"
	"github.com/mcpchain/mcpchain/internal/sink"
)

// A run is one call that may be answered with a handle. It is itself the context of its handler.
type run struct {
	context.Context //nolint:containedctx // it is one, as a Call is

	t      *tasks
	req    *mcp.CallToolRequest
	owner  string // "" if unknown, and until it is needed
	began  time.Time
	cancel context.CancelCauseFunc
	work   *apart.Work[mcp.Result]

	mu       sync.Mutex
	c        *call.Call // nil until the call has reached the inner half
	next     mcp.MethodHandler
	ended    bool  // the inner half has returned
	exited   error // it has not: its goroutine has ended
	handed   bool  // the caller has the handle
	asking   int   // how many requests to the client wait for its answer
	progress progress
	release  func() // lets package drain go on
	stopped  bool   // by task_cancel
	waited   bool   // the log says why there is no handle
	only     bool   // the same call of the same caller gets this handle

	id, name string // with the handle
	output   bool   // the tool has an output schema, or may have one
	entry    *kept.Entry
	kept     chan struct{} // closed when the end is kept
}

type runKey struct{}

// runOf returns the run that ctx belongs to, nil for none.
func runOf(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// Value returns the run itself for its own key.
func (r *run) Value(key any) any {
	if _, ok := key.(runKey); ok {
		return r
	}
	return r.Context.Value(key)
}

// ErrCancelled is the cause of the end of a handler's context that task_cancel has ended.
var ErrCancelled error = call.StopError{Reason: fmt.Errorf("task: the caller has cancelled the call with task_cancel: %w", context.Canceled)}

var errLimit = call.StopError{Reason: fmt.Errorf("task: Options.Limit is over: %w", context.DeadlineExceeded)}

// call runs one call of a tool.
func (t *tasks) call(ctx context.Context, req *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	began := time.Now()
	r := &run{t: t, req: req, began: began, kept: make(chan struct{})}
	limited, end := context.WithDeadlineCause(context.WithoutCancel(ctx), began.Add(t.Limit), errLimit)
	r.Context, r.cancel = context.WithCancelCause(limited)
	stop := context.AfterFunc(ctx, func() { r.cancel(context.Cause(ctx)) })
	around := call.FromContext(ctx) // nil where this is the outermost of all
	r.work = apart.Go(func() (mcp.Result, error) {
		defer end()
		return next(r, call.MethodCallTool, req)
	})
	timer := time.NewTimer(inTime(ctx, t.After))
	defer timer.Stop()
	for {
		select {
		case <-r.work.Done():
			return r.result() // the context ends with that of the caller
		case <-timer.C:
		}
		switch {
		case ctx.Err() != nil:
			return r.result()
		case r.early():
			timer.Reset(time.Second)
			continue
		}
		switch ok, never := r.begin(ctx); {
		case ok && r.hand(ctx, stop):
			go r.finish(around)
			return r.handle(req, false), nil
		case ok || never:
			return r.result()
		default:
			timer.Reset(tryAgain)
		}
	}
}

// tryAgain is when a call asks again for a handle, if there was no room or the store failed.
const tryAgain = 5 * time.Second

// inTime returns how long to wait so that a caller that has a deadline still reads the answer.
func inTime(ctx context.Context, wait time.Duration) time.Duration {
	if at, ok := ctx.Deadline(); ok {
		left := time.Until(at)
		wait = min(wait, left-min(3*time.Second, left/2))
	}
	return wait
}

// result waits for the end of the work.
func (r *run) result() (mcp.Result, error) {
	res, err := r.work.Result()
	if r.exited != nil { // nothing around the handler has returned
		return r.c.Finish(nil, r.exited)
	}
	return res, err
}

// early reports whether it is too early for a handle: the call waits in the middlewares outside of the inner half, or
// the handler waits for an answer of its client, who is there.
func (r *run) early() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := kept.OutsideOf(r)
	return r.c == nil || r.asking > 0 || o != nil && o.Asks()
}

// within is the call at the inner half.
func (r *run) within(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (res mcp.Result, err error) {
	r.mu.Lock()
	second := r.c != nil // the middleware stands twice in the chain
	if !second {
		r.c, r.next = c, next
	}
	r.mu.Unlock()
	if second {
		return next(ctx, c.Method(), req)
	}
	if other := r.t.again(ctx, r.req); other != nil {
		return other.handle(r.req, true), nil
	}
	returned := false
	defer func() {
		if p := recover(); p != nil {
			res, err = nil, c.Recovered(p, 1)
		} else if !returned {
			r.exited = c.Recovered(apart.ErrGoexit, 1)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.ended = true; r.handed { // the server waits until the end is kept
			r.release = call.Detach(ctx, r.cancel)
		}
	}()
	res, err = next(ctx, c.Method(), req)
	returned = true
	return res, err
}

// beginWithin is how long the store may take to take up a task.
const beginWithin = 2 * time.Second

// begin keeps that the call runs. If the call can have no handle now, never says whether that holds for good.
func (r *run) begin(ctx context.Context) (ok, never bool) {
	t := r.t
	r.mu.Lock()
	c, next := r.c, r.next
	r.mu.Unlock()
	tool, ok := t.offered(c, next)
	if !ok {
		return false, true
	}
	r.output = tool == nil || tool.OutputSchema != nil
	r.owner = t.owners.Of(ctx, r.req)
	if exceeded := t.running.Take(r.owner, 1); exceeded != nil {
		r.waits(fmt.Errorf("task: %w", exceeded))
		return false, false
	}
	r.id = rand.Text()
	r.name = nameOf(r.owner, r.id)
	r.entry = t.keeper.Entry(r.name, r.req.Params.Name, r.logger())
	if r.owner != "" {
		r.entry.Others = int(t.running.Of(r.owner)) - 1
	}
	within, end := context.WithTimeout(ctx, beginWithin)
	defer end()
	rec := kept.Record{Call: c.ID(), Tool: r.req.Params.Name, Began: r.began.UTC(), Safe: tool != nil && failure.SafetyOf(tool.Annotations) > failure.Writes}
	if _, err := r.entry.Begin(within, rec, nil); err != nil {
		t.running.Give(r.owner, 1)
		r.waits(err)
		return false, false
	}
	return true, false
}

// waits records once why the call has no handle yet.
func (r *run) waits(err error) {
	if !r.waited {
		r.waited = true
		r.log(slog.LevelWarn, "mcp call gets no handle yet and its caller waits", slog.Any("error", err))
	}
}

// hand makes the call go on without its caller, unless it has ended or was cancelled meanwhile.
func (r *run) hand(ctx context.Context, stop func() bool) bool {
	o := kept.OutsideOf(r)
	r.mu.Lock()
	if r.handed = !r.ended && stop(); r.handed && o != nil && !o.Handed(r) {
		r.handed = false
		context.AfterFunc(ctx, func() { r.cancel(context.Cause(ctx)) }) // which is about to end
	}
	if r.handed {
		if x := r.c.Exchange(); x != nil {
			x.Resumable() // the end of the POST no longer ends the call
		}
	}
	handed, t := r.handed, r.t
	r.mu.Unlock()
	r.entry.KeepAlive(r.beat)
	if !handed {
		r.entry.Finish(context.WithoutCancel(r), nil)
		t.running.Give(r.owner, 1)
		return false
	}
	t.mu.Lock()
	t.runs[r.name] = r
	if key, ok := sameKey(r.owner, r.req); ok && t.same[key] == nil {
		t.same[key] = r
		r.only = t.alone
	}
	t.mu.Unlock()
	r.log(slog.LevelInfo, "mcp call goes on behind a handle")
	return true
}

// finish keeps how the call has ended.
func (r *run) finish(around *call.Call) {
	t := r.t
	res, err := r.result()
	if around != nil { // which has taken the handle for the end of the call, and has not rendered this
		res, err = around.Finish(res, err)
	}
	r.mu.Lock()
	release := r.release
	r.mu.Unlock()
	r.entry.Finish(context.WithoutCancel(r), r.answered(res, err))
	t.took(r, res, err)
	t.mu.Lock()
	delete(t.runs, r.name)
	t.mu.Unlock()
	t.forget(r)
	t.running.Give(r.owner, 1)
	r.log(slog.LevelInfo, "mcp call behind a handle ended") // before the record of the one who waits for it
	close(r.kept)
	r.cancel(nil)
	if release != nil {
		release()
	}
}

// forget makes the same call run anew.
func (t *tasks) forget(r *run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if key, ok := sameKey(r.owner, r.req); ok && t.same[key] == r {
		delete(t.same, key)
	}
}

// stop ends the context of the handler for its caller.
func (r *run) stop() {
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.t.forget(r)
	r.cancel(ErrCancelled)
}

// again returns the same call of the same caller, if it runs behind a handle.
func (t *tasks) again(ctx context.Context, req *mcp.CallToolRequest) *run {
	t.mu.Lock()
	none := len(t.same) == 0
	t.mu.Unlock()
	if none {
		return nil
	}
	key, ok := sameKey(t.owners.Of(ctx, req), req)
	if !ok {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.same[key]
}

// sameKey returns what two calls have in common that are the same. It is false for a call that is the
// same as no other: of an unknown caller, with answers to questions, or without a canonical form.
func sameKey(owner string, req *mcp.CallToolRequest) (key string, ok bool) {
	if owner == "" || req.Params.InputResponses != nil || req.Params.RequestState != "" {
		return "", false
	}
	args := req.Params.Arguments
	if len(args) == 0 {
		args = []byte("{}")
	}
	form, err := jsons.Canonical(args)
	if err != nil {
		return "", false
	}
	sum := sha256.Sum256(form)
	return owner + "\x00" + req.Params.Name + "\x00" + keyOf(req) + "\x00" + string(sum[:]), true
}

func (r *run) logger() *slog.Logger {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.t.Logger != nil:
		return r.t.Logger
	case r.c != nil:
		return r.c.Logger()
	default:
		return slog.Default()
	}
}

// log writes a record about the run.
func (r *run) log(level slog.Level, message string, attrs ...slog.Attr) {
	attrs = append(attrs, slog.String("tool", r.req.Params.Name), slog.String("reference", r.c.ID()), slog.Float64("running_ms", float64(time.Since(r.began).Milliseconds())))
	sink.Log(context.WithoutCancel(r), r.logger(), level, message, attrs...)
}
