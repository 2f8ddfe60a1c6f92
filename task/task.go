// Package task answers a call that lasts longer than its client waits. The caller gets a handle, and
// fetches the answer later.
//
//	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Task: task.New(nil)}))
//
// Clients give up after one to three minutes. A call that has not ended after Options.After is answered
// with a success, and its handler goes on:
//
//	Still running: 'report' has not finished after 20 s, and goes on. Its last progress: 30 of 100.
//	Next: go on with other work. In about 30 s, call task_result {"id":"GQ3..."} for the answer.
//	Do not call 'report' again for it: the same call gets this ID, and nothing is run.
//	To stop it, call task_cancel {"id":"GQ3..."}.
//
// The middleware adds the two tools to the server's list. task_result waits for the end, up to
// Options.Wait, and returns the answer of the tool as it would have been, or says how far it is.
//
// # What runs
//
// The handler keeps the values of its context. Until the handle is given, the context ends with that of
// its caller, with the error [context.Canceled]. Then it ends with task_cancel, after Options.Limit, or when
// package drain cuts the call. A call that ends in time costs a goroutine, a context and two timers.
//
// In [mcpchain.Standard] all of the chain runs for as long as the handler does. The call has one record,
// with its real duration. Package audit records its begin and its end. It counts as running for the
// limits. A failure is explained and masked before it is kept. The Limit of package deadline is that of
// the work; After is that of the wait. A call with an idempotency key is done once, however long it takes.
//
// If the same caller makes the same call again while it runs behind a handle on this server, it gets the
// same handle and nothing is run. That holds for a caller that is known by its user, its session or its
// connection.
//
// # Who may fetch
//
// An ID has 130 random bits. It belongs to the caller that got it. For any other caller the answer is
// that of an ID that never existed. A caller that is not known is one who has the ID.
//
// # Several servers
//
// With a Store that servers share, each of them answers task_result. If the server that ran the call has
// died, the answer says within 15 s that the end of the call is not known. Package drain lets tasks end
// when a server shuts down.
//
// # Limits of it
//
// A handler that has been left by its client cannot ask it for input. If its answer asks for input, the
// caller is told to call the tool again, whose calls get no handles from then on. Without room for another handle, a call waits as it would
// without this middleware, and gets one as soon as there is room. The output schemas that a server lists allow the handle in the place of an
// answer.
//
// Let the middleware stand outside of all others, as Standard does. Inside of another one of this
// library, that one sees the handle as the end of the call.
package task

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/kept"
	"github.com/mcpchain/mcpchain/internal/owner"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/store"
)

// Options configure [New]. The zero value is the recommended default.
type Options struct {
	// Tools reports whether calls of a tool may be answered with a handle. Nil means that those of all
	// tools may.
	Tools func(tool string) bool

	// After is how long a call may take before it is answered with a handle. Zero means 20 s. If the
	// context of the call has a deadline, the handle is given in time for it.
	After time.Duration

	// Wait is how long task_result waits for the end of a call. Zero means 20 s.
	Wait time.Duration

	// Limit is how long a call may take in all; then its context ends. Zero means an hour.
	Limit time.Duration

	// Keep is how long an answer is kept that nobody has fetched. A fetched one is kept for ten minutes
	// more, because the client may not have received it. Zero means 24 hours.
	Keep time.Duration

	// Store keeps the answers. Nil means a store in the memory of this process, which other servers do
	// not see and which does not survive it.
	Store store.Store

	// Owner returns the caller of a request, "" if it is unknown. It may be called concurrently. Nil
	// means the authenticated user, or else the session, or else, if the call does not come by HTTP, the
	// connection.
	Owner func(ctx context.Context, req mcp.Request) string

	// Limits bounds what runs and what is kept.
	Limits Limits

	// Cipher encrypts what is kept. Nil means that it is kept in clear.
	Cipher Cipher

	// Logger gets the records of this package. Nil means the logger of the call, or else [slog.Default].
	Logger *slog.Logger
}

// Limits bounds what runs and what is kept. Beyond a bound calls get no handle.
type Limits struct {
	// RunningPerOwner is how many calls of one known caller may run behind handles. Zero means 16; with
	// a negative one there is no limit.
	RunningPerOwner int

	// Running is how many calls of all callers may run behind handles. Zero means 1,000; with a negative
	// one there is no limit.
	Running int

	// AnswerBytes is the size of the largest answer that is kept. Of a larger one task_result says that
	// it could not be kept. Zero means 1 MiB.
	AnswerBytes int

	// OwnerBytes is how many bytes the answers of one caller may take. Room for those of its running calls
	// is left. Zero means 32 MiB, half of the default store; with a negative one there is no limit.
	OwnerBytes int
}

// A Cipher encrypts what is kept. Both methods may be called concurrently. name is the key in the
// store, to bind the text to its place; it must be authenticated.
type Cipher interface {
	Seal(name string, text []byte) ([]byte, error)
	Open(name string, sealed []byte) ([]byte, error)
}

// The names of the tools.
const (
	resultTool = call.ResultTool
	cancelTool = call.CancelTool
)

// New returns the middleware. opts may be nil. It panics when an option makes no sense.
func New(opts *Options) mcp.Middleware {
	t := newTasks(opts)
	return call.Split("task.New", t.outer, call.WrapLayer("task.New", call.Func(t.serve), nil))
}

// tasks is what New makes of its options.
type tasks struct {
	Options

	alone   bool // no other server has the store
	keeper  *kept.Keeper
	owners  owner.Finder
	running table.Quota
	schemas table.Weak[mcp.Tool, *mcp.Tool] // the listed tools that allow a handle as their output
	usual   table.Names[usual]
	asking  table.Names[bool] // the tools that asked for input behind a handle
	taken   [2]atomic.Bool    // of which of our tools the server has another one
	warned  atomic.Bool       // of that

	mu   sync.Mutex
	runs map[string]*run // by the names of their records, until the end is kept
	same map[string]*run // by what makes two calls the same
}

func newTasks(opts *Options) *tasks {
	var o Options
	if opts != nil {
		o = *opts
	}
	const of = call.Options("task.New: Options")
	call.Positive(of, "After", &o.After, 20*time.Second)
	call.Positive(of, "Wait", &o.Wait, 20*time.Second)
	call.Positive(of, "Limit", &o.Limit, time.Hour)
	call.Positive(of, "Keep", &o.Keep, 24*time.Hour)
	call.Positive(of, "Limits.AnswerBytes", &o.Limits.AnswerBytes, 1<<20)
	of.AtMost("After", o.After, "Limit", o.Limit)
	of.AtMost("Limit", o.Limit, "Keep", o.Keep)
	o.Limits.RunningPerOwner = cmp.Or(o.Limits.RunningPerOwner, 16)
	o.Limits.Running = cmp.Or(o.Limits.Running, 1000)
	o.Limits.OwnerBytes = cmp.Or(o.Limits.OwnerBytes, 32<<20)
	alone := o.Store == nil
	if alone {
		o.Store = store.NewMemory(nil)
	}
	t := &tasks{
		Options: o, alone: alone,
		owners: owner.Finder{Func: o.Owner, Option: "task.Options.Owner"},
		runs:   map[string]*run{}, same: map[string]*run{},
	}
	t.running.Each, t.running.All = int64(max(0, o.Limits.RunningPerOwner)), int64(max(0, o.Limits.Running))
	t.keeper = newKeeper(&t.Options)
	return t
}

// outer is the outer half of the middleware: it decides when a call is answered.
func (t *tasks) outer(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		tool, ok := req.(*mcp.CallToolRequest)
		switch {
		case method != call.MethodCallTool || !ok || tool == nil || tool.Params == nil || runOf(ctx) != nil:
			return next(ctx, method, req)
		case tool.Params.Name == resultTool && !t.taken[0].Load() || tool.Params.Name == cancelTool && !t.taken[1].Load():
			return t.fetch(ctx, req, next)
		case t.counts(tool.Params.Name):
			return t.call(ctx, tool, next)
		default:
			return next(ctx, method, req)
		}
	}
}

// counts reports whether calls of a tool may be answered with a handle.
func (t *tasks) counts(tool string) bool {
	asks, _ := t.asking.Get(tool)
	return !asks && tool != resultTool && tool != cancelTool && (t.Tools == nil || safe.Ask(t.Tools, tool))
}
