// Package replay gives a call that is repeated with the same key the first answer,
// instead of a second effect.
//
//	server.AddReceivingMiddleware(replay.New(&replay.Options{Store: shared}))
//
// A client whose connection broke does not know whether its call was executed. With
// a key it may send the call again, to this server or to another one with the same
// store:
//
//	{"name":"pay","arguments":{...},"_meta":{"io.modelcontextprotocol/idempotencyKey":"0198c7f2-9d3e"}}
//
// The key comes from the _meta or from the HTTP header Idempotency-Key. It belongs to its owner and tool: the same key of another caller, or for
// another tool, is another key. Calls without a key pass as if the middleware were
// not there.
//
// # What is kept
//
// Final answers are kept: successes, and failures after which something was or may have been
// changed. A failure that changed nothing is not kept, such as wrong arguments or a refusal.
// Neither is a request for input, nor a failure whose answer says to call again. Then the same key
// runs the handler again. After a cancellation, only the fact that the call was made is kept. The
// same key then runs the handler again if that does no harm.
//
// The same key with other arguments is a conflict. The arguments that were sent and those that package
// validate made of them are the same. Arguments that two readers could take for different things, or that
// are nested too deeply to be compared, cannot have a key: the call is refused.
//
// The calls of a list form (package batch) have the key of the list. Under the same key the same
// list gets the answers that its items had, and runs the other items. Another list is a conflict.
//
// A call goes on when its caller is gone, up to Options.Grace, so that the repetition
// finds its answer. Only package drain ends it earlier, when it shuts the server down, as
// it ends every call. Without a key, a broken connection ends the handler of a 2026-07-28 client
// behind transport.HTTP, or with PropagateRequestCancellation in [mcp.StreamableHTTPOptions]. Under
// a key neither makes a difference.
//
// In the list of tools, those for which keys count have
// "io.github.mcpchain/idempotency_key": true in their _meta, if the caller is known.
// Package retry/client then sends a key by itself with calls of tools that write.
//
// # When a server dies
//
// While a handler runs, its server holds a lease. When the server dies, the lease ends. Then it is unknown how far
// the handler came, or whether it still runs: the store may only have been out of its reach. A call that does
// still run takes its lease again when the store is back. A tool that is annotated as read-only or idempotent, or
// for which Options.Rerun returns true, is run again. For any other tool the repetition fails, with an answer that
// says that the earlier call may have taken effect. A handler that passes [Key] on to a service which knows
// idempotency keys itself can be run again.
package replay

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/jsons"
	"github.com/mcpchain/mcpchain/internal/kept"
	"github.com/mcpchain/mcpchain/internal/owner"
	"github.com/mcpchain/mcpchain/internal/sink"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/store"
)

// Options configure [New]. The zero value is the recommended default.
type Options struct {
	// Store keeps the answers. Nil means a store in the memory of this process, which
	// other servers do not see and which does not survive it.
	Store store.Store

	// Owner returns the caller of a request, "" if it is unknown. It may be called
	// concurrently; for an item of a list with the request of the list. Nil means the
	// authenticated user, or else the session, or else, if the call does not come by HTTP,
	// the connection. A call with a key is refused if its owner is unknown.
	Owner func(ctx context.Context, req mcp.Request) string

	// Tools reports whether keys count for a tool. Nil means for all.
	Tools func(tool string) bool

	// Keep is how long an answer is kept. Zero means 24 hours.
	Keep time.Duration

	// Grace is how long a handler may go on after its caller is gone; then its context
	// ends. Zero means 10 minutes. With a negative one it ends with its caller.
	Grace time.Duration

	// Wait is how long a repetition waits for the first call while that runs; then the
	// answer says when to call again. Zero means 30 s. With a negative one it does not
	// wait.
	Wait time.Duration

	// Rerun reports whether it does no harm to run the handler of a tool again after an
	// attempt whose end is unknown. Nil means true for the tools that are annotated as
	// read-only or idempotent.
	Rerun func(tool string) bool

	// WithoutStore runs calls without any protection while the store fails. Without it
	// they are refused. A record that cannot be read, as by a Cipher with another secret,
	// is refused anyway.
	WithoutStore bool

	// Limits bounds what is kept.
	Limits Limits

	// Cipher encrypts what is kept. Nil means that it is kept in clear.
	Cipher Cipher

	// Logger gets the records of answers that could not be kept. Nil means the logger
	// of the call, or else [slog.Default].
	Logger *slog.Logger
}

// Limits bounds what is kept.
type Limits struct {
	// AnswerBytes is the size of the largest answer that is kept. If it is larger, a
	// repetition fails with an answer that says that the call was made. Zero means 256 KiB.
	AnswerBytes int

	// KeysPerOwner is how many keys of one owner are kept at the same time: those of calls
	// that run and of those whose answers are kept. With more, calls with new keys are
	// refused. Zero means 10,000; with a negative one there is no limit.
	KeysPerOwner int

	// OwnerBytes is how many bytes the keys and answers of one owner may take, with
	// [store.Overhead] for each. A call with a new key is refused unless another answer of
	// AnswerBytes, or of an eighth of OwnerBytes, would have room. Zero means 8 MiB, an eighth
	// of the default store; with a negative one there is no limit.
	OwnerBytes int
}

// A Cipher encrypts what is kept. Both methods may be called concurrently. name is
// the key in the store, to bind the text to its place; it must be authenticated.
type Cipher interface {
	Seal(name string, text []byte) ([]byte, error)
	Open(name string, sealed []byte) ([]byte, error)
}

// maxKey is the length of the longest idempotency key, in bytes.
const maxKey = 255

// New returns the middleware. opts may be nil. It panics when an option makes no
// sense.
func New(opts *Options) mcp.Middleware {
	k := newKeeper("replay.New", opts)
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		keyed := call.WrapLayer("replay.New", call.Func(k.run), nil)(next)
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch {
			case method == middleware.MethodCallTool && mayHaveKey(req):
				return keyed(ctx, method, req)
			case method == call.MethodListTools:
				res, err := next(ctx, method, req)
				return k.marked(ctx, req, res), err
			default:
				return next(ctx, method, req)
			}
		}
	}
}

// Key returns the idempotency key of the call that ctx belongs to, "" if it has none.
// Pass it on to services that know such keys. It is as long as the caller made it, at
// most 255 bytes, and unique for its owner and tool only. An item of a list has a key of its own,
// made from that of the list and the item's number: always the same one.
func Key(ctx context.Context) string { return call.KeyOf(ctx) }

// A keeper is what the middleware and the tool call_status have in common.
type keeper struct {
	Options

	engine *kept.Keeper
	owners owner.Finder
	lists  table.Weak[call.Call, *listing]
}

func newKeeper(caller string, opts *Options) *keeper {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Grace, o.Wait = cmp.Or(o.Grace, 10*time.Minute), cmp.Or(o.Wait, 30*time.Second)
	return &keeper{
		Options: o,
		engine: kept.New(caller, kept.Keeper{
			Store: o.Store, Keep: o.Keep, Limits: kept.Limits(o.Limits), Cipher: o.Cipher,
			Package: "replay", What: "the store of idempotency keys",
		}),
		owners: owner.Finder{Func: o.Owner, Option: "replay.Options.Owner"},
	}
}

// An attempt is one call with a key.
type attempt struct {
	*keeper

	c     *call.Call
	req   *mcp.CallToolRequest
	next  mcp.MethodHandler
	key   string
	list  string // a hash of the arguments of the list for an item
	args  string // list and a hash of the arguments
	entry *kept.Entry
}

// run handles one call of a tool that may have a key.
func (k *keeper) run(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	tool, ok := req.(*mcp.CallToolRequest)
	if !ok || c.Quiet() || call.KeyOf(ctx) != "" { // installed twice: the outer one keeps it
		return next(ctx, c.Method(), req)
	}
	key, err := k.keyOf(tool)
	switch {
	case err != nil:
		return nil, err
	case key == "":
		return next(ctx, c.Method(), req)
	}
	owner := k.owners.Of(ctx, req)
	if owner == "" {
		return nil, errNoOwner
	}
	a := &attempt{keeper: k, c: c, req: tool, next: next, key: key}
	name := nameOf(owner, tool.Params.Name, key)
	if c.Parent() != nil {
		at := placeOf(c, key)
		var ok bool
		if a.list, ok, err = k.list(ctx, c, owner, key); err != nil { // the record of the list found no room, too
			return a.storeFailed(ctx, err)
		}
		if !ok {
			return nil, errOtherArguments
		}
		name, a.key = at.name(owner), at.key()
	}
	args, ok := hashOf(tool.Params.Arguments)
	if !ok {
		return nil, incomparable(tool.Params.Arguments)
	}
	a.args, a.entry = a.list+args, k.engine.Entry(name, tool.Params.Name, k.logger(c))
	return a.resolve(ctx, name)
}

// hashOf returns a hash of arguments. It is false for arguments without a canonical form, which
// equal no others.
func hashOf(arguments json.RawMessage) (hash string, ok bool) {
	form, err := jsons.Canonical(arguments)
	if err != nil {
		return "", false
	}
	sum := sha256.Sum256(form)
	return base64.RawURLEncoding.EncodeToString(sum[:]), true
}

// logger returns where the records about a call go.
func (k *keeper) logger(c *call.Call) *slog.Logger {
	if k.Logger != nil {
		return k.Logger
	}
	return c.Logger()
}

// storeFailed answers a call that is not protected, before its handler ran. A record that cannot be read
// is not a failure of the store, and proves that the key was used.
func (a *attempt) storeFailed(ctx context.Context, err error) (mcp.Result, error) {
	if refused := a.engine.Refused(err, errTooManyKeys, errTooManyBytes); refused != nil {
		return nil, refused
	}
	if a.WithoutStore && ctx.Err() == nil && !errors.Is(err, kept.ErrUnreadable) {
		sink.Log(ctx, a.logger(a.c), slog.LevelWarn, "mcp call runs without protection from repetitions", slog.Any("error", err))
		return a.next(ctx, a.c.Method(), a.req)
	}
	return nil, a.engine.Unavailable(err)
}

// resolve answers the call from the store, waits for the attempt that runs, or runs the
// call. If a record was written since the look into the store, ours is not written, and the other one
// answers.
func (a *attempt) resolve(ctx context.Context, name string) (mcp.Result, error) {
	until := time.Now().Add(a.Wait)
	for pause := time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		rec, found, err := a.engine.Look(ctx, name)
		switch {
		case err != nil:
			return a.storeFailed(ctx, err)
		case found && !rec.Same(a.args):
			return nil, errOtherArguments
		case rec.Done:
			return a.replayed(rec)
		}
		// There is no answer yet. If another attempt holds the lease, it is at work on one. If its holder
		// is dead, the call runs where a second run does no harm.
		there, err := a.entry.Begin(ctx, a.begins(), func(there kept.Record) bool {
			return there.Same(a.args) && !there.Done && a.rerunnable()
		})
		switch {
		case errors.Is(err, kept.ErrHeld):
		case err != nil:
			return a.storeFailed(ctx, err)
		case there == nil:
			return a.execute(ctx)
		case !there.Same(a.args):
			return nil, errOtherArguments
		case there.Done: // it ended between our look and our lease
			return a.replayed(*there)
		default:
			return nil, errUnknownEnd
		}
		pause = min(pause, time.Until(until))
		if pause <= 0 {
			return nil, errRunning
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// begins returns the record that the handler runs. Its arguments may have been mended outside of this middleware.
func (a *attempt) begins() kept.Record {
	if ran, ok := a.c.Mended(); ok && bytes.Equal(ran, call.ArgumentsOf(a.req)) {
		if sent, ok := hashOf(call.ArgumentsOf(a.c.Request())); ok {
			return kept.Record{Args: a.list + sent, Ran: a.args}
		}
	}
	return kept.Record{Args: a.args}
}

// execute runs the handler and keeps its answer.
func (a *attempt) execute(ctx context.Context) (res mcp.Result, err error) {
	a.entry.KeepAlive(nil)
	detached, cancel, done := a.detach(ctx)
	end := unknown
	defer func() { // a panic and runtime.Goexit too
		cancel()
		a.entry.Finish(context.WithoutCancel(ctx), a.recordOf(end, res, err))
		done()
	}()
	a.c.OnMended(func(args json.RawMessage) { a.mended(detached, args) })
	res, err = a.next(call.WithKey(detached, a.key, a.rerunnable), a.c.Method(), a.req)
	end = a.endOf(res, err)
	return res, err
}

// mended notes with which arguments the handler is about to run, so that a repetition may have these, too, while it
// runs and if its server dies. If the store does not take it now, it is written with the answer.
func (a *attempt) mended(ctx context.Context, args json.RawMessage) {
	if ran, ok := hashOf(args); ok {
		_ = a.entry.Update(ctx, func(rec *kept.Record) { rec.Ran = a.list + ran })
	}
}

// detach returns a context for the handler that goes on for Options.Grace after ctx
// has ended, unless the server ends. Call end when the handler has returned, and done when
// its answer is kept: the shutdown of the server waits for done.
func (a *attempt) detach(ctx context.Context) (_ context.Context, end, done func()) {
	if a.Grace < 0 {
		return ctx, func() {}, func() {}
	}
	detached, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	done = call.Detach(ctx, cancel)
	stop := context.AfterFunc(ctx, func() {
		grace := a.Grace
		if errors.As(context.Cause(ctx), new(call.StopError)) {
			grace = 0
		}
		select {
		case <-time.After(grace):
			cancel(context.Cause(ctx))
		case <-detached.Done():
		}
	})
	return detached, func() {
		stop()
		cancel(nil)
	}, done
}
