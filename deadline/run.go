package deadline

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/apart"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// A run is one call with a handler in a goroutine of its own. It is itself the
// context of the handler.
type run struct {
	clock
	*limiter

	slot   slot
	req    mcp.Request
	next   mcp.MethodHandler
	began  time.Time
	limit  time.Duration
	caller bool // the limit follows from a deadline of the caller

	handler  *apart.Work[mcp.Result]
	exited   error         // of a handler that ended its goroutine
	up       chan struct{} // closed when the time is up
	left     bool          // the call goes on without its handler
	answered time.Time     // since when
}

// outcome is how a handler ended.
type outcome struct {
	res mcp.Result
	err error
}

// handle runs the handler, and makes its panic one of the call.
func (w *run) handle() (res mcp.Result, err error) {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			res, err = nil, w.c.Recovered(p, 1)
		} else if !returned {
			w.exited = w.c.Recovered(errGoexit, 1)
		}
	}()
	res, err = w.next(w, w.c.Method(), w.req)
	returned = true
	return res, err
}

// outcome returns how the handler ended, when it has.
func (w *run) outcome() (o outcome) {
	if o.res, o.err = w.handler.Result(); w.exited != nil {
		o.err = w.exited
	}
	return o
}

// leave goes on without the handler, which counts as stuck if it does not return within a time.
func (w *run) leave(windDown time.Duration) {
	w.left, w.answered = true, time.Now()
	w.c.Leave(call.Straggler{Began: w.began, Done: w.handler.Done()})
	stuck := windDown <= 0
	if stuck {
		w.strand()
	}
	go func() {
		if !stuck && !w.handler.Within(windDown) {
			stuck = true
			w.strand()
		}
		o, stranded := w.outcome(), 0
		if stuck {
			stranded = 1
			w.c.Stuck(-1)
		}
		w.handlers.add(w.slot, -1, -stranded)
		w.late(o, stuck)
	}()
}

// strand counts the handler as stuck.
func (w *run) strand() {
	w.handlers.add(w.slot, 0, 1)
	w.c.Stuck(1)
	w.stranded()
}

// timeUp is what the timer calls. Pauses may make it fire more than once.
func (w *run) timeUp() {
	if w.expire() {
		close(w.up)
	}
}

// expire ends the context if its time is up, unless it has ended before. A timer that fired just
// before a pause was set again by the pause.
func (w *run) expire() bool {
	if at, _ := w.Deadline(); time.Until(at) > 0 {
		return false
	}
	over, end := context.WithDeadlineCause(context.Background(), time.Time{}, w.over())
	defer end()
	return w.stop(over)
}

// over returns the error of a call whose time is over.
func (w *run) over() *LimitError { return &LimitError{Limit: w.limit, Caller: w.caller} }

// wait waits for the handler for as long as it may take.
func (w *run) wait() (mcp.Result, error) {
	select {
	case <-w.handler.Done():
		return w.returned(w.outcome())
	case <-w.up:
		return w.overdue(w.over(), nil)
	case <-w.parent.Done():
		return w.parentEnded()
	}
}

// returned answers with the outcome of a handler that returned by itself.
func (w *run) returned(o outcome) (mcp.Result, error) {
	failed := failure.Failed(o.res, o.err)
	if failed && (w.expire() || w.Err() != nil) && !w.stands(o) { // the handler looked at the deadline itself, before the timer fired
		return w.overdue(w.over(), &o)
	}
	w.stop(finished)
	if failed {
		w.c.Establish(w.settings)
	} else {
		w.took()
	}
	return o.res, o.err
}

// finished is the end of every call that is answered in time.
var finished = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// parentEnded answers a call whose parent context ended: because the server shuts down, because the
// caller's own limit was reached, or because the caller gave up.
func (w *run) parentEnded() (mcp.Result, error) {
	w.stop(w.parent)
	if safe.Is(context.Cause(w.parent), classify.ErrShutdown) {
		return w.serverEnded()
	}
	if !safe.Find(w.parent.Err(), isDeadline) {
		return w.abandon()
	}
	limit := &LimitError{Limit: time.Since(w.began), Caller: true}
	if outer, _ := safe.As[*LimitError](context.Cause(w.parent)); outer != nil {
		limit.Limit, limit.Caller = outer.Limit, outer.Caller
	}
	return w.overdue(limit, nil)
}

// serverEnded waits for the handler of a call whose context ended because the server shuts down.
// The shutdown waits until this call is answered; if the answer came at once, the process could end
// while the handler runs.
func (w *run) serverEnded() (mcp.Result, error) {
	if at, _ := w.Deadline(); !w.handler.Within(time.Until(at)) {
		return w.overdue(w.over(), nil)
	}
	o := w.outcome()
	if failure.Failed(o.res, o.err) {
		w.c.Establish(w.settings)
	}
	return o.res, o.err
}

// windDown is how long the handler of a cancelled call may take to clean up before it counts as
// stuck. The answer does not wait for it.
const windDown = 5 * time.Second

// abandon answers a call that its caller gave up.
func (w *run) abandon() (mcp.Result, error) {
	if w.handler.Within(0) {
		o := w.outcome()
		return o.res, o.err
	}
	w.leave(max(w.grace, windDown))
	return w.fail(cancelled("the call was cancelled while its handler ran", w.parent.Err(), context.Cause(w.parent), w.safety()))
}

// overdue answers a call whose time is over and whose context has ended. have is the outcome
// if the handler has returned, else nil.
func (w *run) overdue(limit *LimitError, have *outcome) (mcp.Result, error) {
	safety, looked := w.safety(), w.look()
	done, gone := w.handler.Done(), w.parent.Done()
	if have != nil {
		done = nil
	}
	if have != nil || w.parent.Err() != nil {
		gone = nil
	}
	grace := time.NewTimer(w.grace)
	defer grace.Stop()
	for have == nil || looked != nil {
		select {
		case <-done:
			o := w.outcome()
			if w.stands(o) {
				return o.res, o.err
			}
			have, done, gone = &o, nil, nil
		case safety = <-looked:
			looked = nil
		case <-gone:
			return w.abandon()
		case <-grace.C:
			if looked = nil; !w.handler.Within(0) {
				limit.Running = true
				w.leave(0)
				return w.fail(w.exceeded(limit, safety))
			}
		}
	}
	limit.Err = w.c.Judge(have.res, have.err).Err()
	return w.fail(w.exceeded(limit, safety))
}

// stands reports whether an outcome is the answer although it came after the time was over: a
// success, a bug, or a failure that the handler worded itself. Any other error comes from the end
// of the context.
func (w *run) stands(o outcome) bool {
	f := w.c.Judge(o.res, o.err)
	if f == nil || f.Worded() || f.Panic() != nil {
		return true
	}
	limit, _ := safe.As[*LimitError](f.Err()) // the error of a limit further in
	return limit != nil && limit.answer
}

// maxLookups is how many definitions of tools may be looked up at the same time.
const maxLookups = 16

// look finds out whether a repetition of the call of a tool is safe. The server's list may be as slow
// as its tools, so the look-up runs in a goroutine of its own.
func (w *run) look() <-chan failure.Safety {
	if w.c.Method() != call.MethodCallTool {
		return nil
	}
	select {
	case w.looking <- struct{}{}:
	default:
		return nil
	}
	looked := make(chan failure.Safety, 1)
	go func() {
		defer func() { <-w.looking }()
		safety := failure.Writes
		safe.Call(func() { safety = w.c.Safety(w.next) }, nil) // the list passes the user's middlewares
		looked <- safety
	}()
	return looked
}

// safety is the safety of a repetition that is known without the server's list.
func (w *run) safety() failure.Safety {
	if w.c.Method() == call.MethodCallTool {
		return failure.Writes
	}
	return w.c.Safety(nil)
}
