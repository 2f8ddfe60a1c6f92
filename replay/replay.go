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
// same key then runs the handler again if that does no harm. The same key with other arguments is a
// conflict. Arguments that two readers could take for different things, or that are nested too
// deeply to be compared, cannot have a key: the call is refused.
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
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/jsons"
	"github.com/mcpchain/mcpchain/internal/owner"
	"github.com/mcpchain/mcpchain/internal/sink"
	"github.com/mcpchain/mcpchain/internal/stored"
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

	owners owner.Finder
	lists  table.Weak[call.Call, *listing]
	late   chan struct{} // bounds the goroutines that keep an answer later
}

const (
	// leaseFor is how long a server that died is believed to be running.
	leaseFor = 15 * time.Second

	// minOwnerBytes is more than one key takes.
	minOwnerBytes = 1024

	// maxLate is how many answers may wait at the same time for the store to come back.
	maxLate = 1000
)

func newKeeper(caller string, opts *Options) *keeper {
	var o Options
	if opts != nil {
		o = *opts
	}
	of := call.Options(caller + ": Options")
	call.Positive(of, "Keep", &o.Keep, 24*time.Hour)
	call.Positive(of, "Limits.AnswerBytes", &o.Limits.AnswerBytes, 256<<10)
	o.Grace, o.Wait = cmp.Or(o.Grace, 10*time.Minute), cmp.Or(o.Wait, 30*time.Second)
	o.Limits.KeysPerOwner = cmp.Or(o.Limits.KeysPerOwner, 10_000)
	if o.Limits.OwnerBytes = cmp.Or(o.Limits.OwnerBytes, 8<<20); o.Limits.OwnerBytes > 0 && o.Limits.OwnerBytes < minOwnerBytes {
		panic(fmt.Sprintf("%s: Options.Limits.OwnerBytes is %d; give %d or more, zero for the default, or a negative one for no limit", caller, o.Limits.OwnerBytes, minOwnerBytes))
	}
	if o.Store == nil {
		o.Store = store.NewMemory(nil)
	}
	return &keeper{
		Options: o,
		owners:  owner.Finder{Func: o.Owner, Option: "replay.Options.Owner"},
		late:    make(chan struct{}, maxLate),
	}
}

// An attempt is one call with a key.
type attempt struct {
	*keeper

	c     *call.Call
	req   *mcp.CallToolRequest
	next  mcp.MethodHandler
	key   string
	owner string
	name  string // of the record in the store: a hash of owner, tool and key
	args  string // a hash of the arguments, after that of the arguments of the list for an item
	log   *slog.Logger

	holder string        // the lease and the record have it while they belong to this attempt
	at     store.Version // of the record that says that the handler runs

	mu    sync.Mutex // guards what follows while the handler runs
	lease *stored.Lease
	over  bool // the record says how the call ended, or belongs to another attempt
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
	var list, name string
	if c.Parent() == nil {
		name = nameOf(owner, tool.Params.Name, key)
	} else {
		at := placeOf(c, key)
		var ok bool
		if list, ok, err = k.list(ctx, c, owner, key); err == nil && !ok {
			return nil, errOtherArguments
		}
		name, key = at.name(owner), at.key()
	}
	var item store.Item
	if err == nil {
		item, err = k.Store.Get(ctx, name)
	}
	a := &attempt{keeper: k, c: c, req: tool, next: next, key: key, owner: owner, name: name, log: k.logger(c)}
	if err != nil {
		if refused := a.refusal(err); refused != nil { // the record of the list found no room
			return nil, refused
		}
		return a.storeFailed(ctx, err)
	}
	args, ok := hashOf(tool.Params.Arguments)
	if !ok {
		return nil, incomparable(tool.Params.Arguments)
	}
	a.args = list + args
	return a.resolve(ctx, item)
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
	if a.WithoutStore && ctx.Err() == nil && !errors.Is(err, errUnreadable) {
		sink.Log(ctx, a.log, slog.LevelWarn, "mcp call runs without protection from repetitions", slog.Any("error", err))
		return a.next(ctx, a.c.Method(), a.req)
	}
	return nil, unavailable(err)
}

// resolve answers the call from the store, waits for the attempt that runs, or runs the
// call.
//
// First the lease is taken, and then the record is written that says that the handler runs: in one
// step if the store can do that. What may come between, or be lost:
//   - This process dies after the lease and before the record: nothing was run, and no record says
//     otherwise. When the lease is over, the next call runs the handler. In one step this cannot
//     happen.
//   - It dies after both: the record stands without a lease, and a repetition fails with
//     errUnknownEnd, unless the tool can be run again. It looks the same while a call runs whose lease
//     is over because the store was away: so the answer does not say that the call has ended.
//   - The answer is lost: both may be there or on their way, and the handler is not run. undo
//     replaces the record by one that says that nothing was run, which a late write does not
//     replace, and ends the lease.
//
// The look into the store is not part of the step: if a record was written since, ours is not
// written, and claim answers from the other one.
func (a *attempt) resolve(ctx context.Context, item store.Item) (mcp.Result, error) {
	until := time.Now().Add(a.Wait)
	for pause := time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		if item.Version != 0 {
			rec, err := a.open(item.Value)
			if err != nil {
				return a.storeFailed(ctx, err)
			}
			if rec.Args != a.args && !rec.Withdrawn {
				return nil, errOtherArguments
			}
			if rec.Done {
				return a.replayed(rec)
			}
		}
		// There is no answer yet. If another attempt holds the lease, it is at work on one.
		a.holder = rand.Text()
		mine, err := a.seal(record{Holder: a.holder, Args: a.args})
		if err != nil {
			return a.storeFailed(ctx, err)
		}
		var begun []store.Done
		a.lease, begun, err = stored.Acquire(ctx, a.Store, a.live(), []byte(a.holder), leaseFor, a.begin(0, mine))
		switch {
		case err != nil:
			return a.notBegun(ctx, err)
		case a.lease != nil:
			return a.claim(ctx, mine, begun[0])
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
		if item, err = a.Store.Get(ctx, a.name); err != nil {
			return a.storeFailed(ctx, err)
		}
	}
}

// live is the name of the lease.
func (a *attempt) live() string { return a.name + "/live" }

// begin writes the record that says that the handler runs, if there is still room for its answer.
func (a *attempt) begin(old store.Version, mine []byte) store.Op {
	return store.Op{Key: a.name, Old: old, Value: mine, TTL: a.Keep, Bound: a.bound(a.spare())}
}

// claim runs the call, unless another attempt has done so. The lease is held; begun says whether
// the record was written, which it is only if there was none before.
func (a *attempt) claim(ctx context.Context, mine []byte, begun store.Done) (mcp.Result, error) {
	for {
		a.at = begun.Item.Version
		if begun.OK {
			return a.execute(ctx)
		}
		rec, err := a.open(begun.Item.Value)
		// Nothing was run, or the record has gone, or its holder is dead and a second run does no harm.
		if a.at == 0 || err == nil && (rec.Withdrawn || rec.Args == a.args && !rec.Done && a.rerunnable()) {
			again, err := store.Do(ctx, a.Store, a.begin(a.at, mine))
			if err != nil {
				return a.notBegun(ctx, err)
			}
			begun = again[0]
			continue
		}
		a.drop(ctx)
		switch {
		case err != nil:
			return a.storeFailed(ctx, err)
		case rec.Args != a.args:
			return nil, errOtherArguments
		case rec.Done: // it ended between our look and our lease
			return a.replayed(rec)
		default:
			return nil, errUnknownEnd
		}
	}
}

// notBegun answers a call whose record was refused by the store, or may have been written
// although there was an error.
func (a *attempt) notBegun(ctx context.Context, err error) (mcp.Result, error) {
	if stored.NotStored(err) {
		a.drop(ctx)
	} else {
		a.later(a.undo, func() {})
	}
	if refused := a.refusal(err); refused != nil {
		return nil, refused
	}
	return a.storeFailed(ctx, err)
}

// drop ends the lease, if there is one.
func (a *attempt) drop(ctx context.Context) {
	if a.lease != nil && a.release(context.WithoutCancel(ctx)) != nil {
		a.later(a.release, func() {})
	}
}

// bound returns the bound for an owner's records under which spare bytes are left free.
func (k *keeper) bound(spare int) store.Bound {
	b := store.Bound{Keys: max(0, k.Limits.KeysPerOwner)}
	if k.Limits.OwnerBytes > 0 {
		b.Bytes = k.Limits.OwnerBytes - spare
	}
	return b
}

// spare returns the bytes that are left for the answer when a call begins.
func (k *keeper) spare() int { return min(k.Limits.AnswerBytes, k.Limits.OwnerBytes/8) }

// execute runs the handler and keeps its answer.
func (a *attempt) execute(ctx context.Context) (res mcp.Result, err error) {
	beat := a.keepAlive()
	detached, cancel, done := a.detach(ctx)
	end := unknown
	defer func() { // a panic and runtime.Goexit too
		cancel()
		a.keep(context.WithoutCancel(ctx), beat, end, res, err)
		done()
	}()
	res, err = a.next(call.WithKey(detached, a.key, a.rerunnable), a.c.Method(), a.req)
	end = a.endOf(res, err)
	return res, err
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
		select {
		case <-time.After(a.Grace):
			cancel(context.Cause(ctx))
		case <-detached.Done():
		}
	})
	return detached, func() {
		stop()
		cancel(nil)
	}, done
}

// keepAlive holds the lease until the returned function is called.
func (a *attempt) keepAlive() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for pause := leaseFor / 3; ; {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			one, cancel := context.WithTimeout(ctx, leaseFor/3)
			if pause = leaseFor / 3; !a.hold(one) {
				pause = time.Second // a repetition reads that the call runs as soon as the store is back
			}
			cancel()
		}
	}()
	return cancel
}
