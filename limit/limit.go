// Package limit bounds how often and how many at once callers may call, each caller
// for itself, and refuses the rest in a way that helps.
//
//	server.AddReceivingMiddleware(limit.New(&limit.Options{Limits: []limit.Limit{
//		{Scope: limit.PerOwner, Calls: 60, Per: time.Minute, Running: 4},
//		{Scope: limit.PerTool, Tools: []string{"export"}, Running: 2},
//		{Scope: limit.ForAll, Running: 64},
//	}}))
//
// A call passes every limit that concerns it, or takes from none. One that does not fit waits for a
// moment (Options.Wait) in a fair queue. The calls of one owner are served in their order, and owners
// in turns. Then the call is refused. The handler has not run, and the caller reads
// which limit it was and when to call again:
//
//	Rate limited: at most 60 calls in 1 min for each caller.
//	Suggestion: Make fewer calls.
//	Retry: yes, after 12 s. Nothing was changed by this call.
//
// # Who is limited
//
// The owner of a call is the authenticated user (TokenInfo.UserID of the request's Extra), or what
// Options.Owner returns. The session's ID is never used: it is empty over stdio, in memory and over
// HTTP from protocol version 2026-07-28 on. Callers without an identity share one set of buckets,
// which is logged once.
//
// # What counts
//
// Calls of tools, reads of resources, prompts and completions count. Other methods are free unless
// Limit.Methods names them. A call behind a handle of package task counts as running until it ends. Fetching its
// answer counts among Calls and not as running, so that it is possible while all places are taken. The middlewares' own look-ups and the repetitions of retry.Server are
// never counted.
//
// The list form of a tool (package batch) counts by its items, if the same middleware
// stands outside and inside of batch.New, as it does in mcpchain.Standard: each item
// is limited as a call of the tool, and the call of the list costs something only if
// it has no items.
//
// # Several servers
//
// Options.Shared counts calls in a store for several servers together. Each server counts for
// itself how many calls run at once.
package limit

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/owner"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/store"
)

// A Scope says which calls a [Limit] counts together.
type Scope uint8

// The scopes.
const (
	PerOwner        Scope = iota // all calls of one owner
	PerTool                      // all calls of one tool (prompt, resource), whoever makes them
	PerOwnerAndTool              // the calls of one tool (prompt, resource) by one owner
	ForAll                       // all calls
)

// A Limit bounds the calls of one scope. At least one of Calls and Running is set.
type Limit struct {
	// Name stands in refusals for programs and in headers. Empty means a name made of
	// the scope, such as "owner" or "owner-and-tool".
	Name string

	// Scope says which calls are counted together. Zero means [PerOwner].
	Scope Scope

	// Tools are the names of the tools that the limit is for, and Methods the methods,
	// such as "tools/list". If both are empty, the limit is for tools,
	// resources, prompts and completions.
	Tools   []string
	Methods []string

	// Calls is how many calls may begin in the time Per, evenly; zero means any number, and a
	// negative number means that no call may ever begin. Zero for Per means a minute. Burst is how
	// many calls may begin at once after a pause; zero means Calls.
	Calls int
	Per   time.Duration
	Burst int

	// Running is how many calls may run at once. Zero means any number.
	Running int

	// Instead says what a refused caller should do, in a sentence or two. Empty means general
	// advice.
	Instead string
}

// Options configure [New]. The zero value is the recommended default.
type Options struct {
	// Limits are the limits, at most 8. Nil means two: 120 calls a minute and 8 at once
	// for each owner, and 64 at once for all.
	Limits []Limit

	// Owner names the caller of a request, "" if it is not known. It is called for
	// every call, concurrently; for an item of a list with the request of the list. A panic
	// counts as "", and is logged once. Nil means the authenticated user.
	Owner func(ctx context.Context, req mcp.Request) string

	// Wait is how long a call may wait for its turn before it is refused. At most 16 calls of one
	// owner wait, and 1024 of all. Zero means 2 s; with a negative time no call waits.
	Wait time.Duration

	// Shared counts calls for several servers; the store of contrib/redis can do that. It has 250
	// ms to answer. If it fails or takes longer, each server counts for itself for five seconds.
	// Calls do not wait for its tokens. Nil means that nothing is shared.
	//
	// Take takes tokens from all buckets that are named or, if one of them has too few, from none.
	// It returns zero if it took them. Otherwise it returns how long it takes until every bucket
	// has enough, and the index of the bucket that takes longest. It may be called concurrently. It
	// is called once for all limits of a call, when the call could run otherwise.
	Shared interface {
		Take(ctx context.Context, tokens ...store.Tokens) (wait time.Duration, of int, err error)
	}

	// Logger gets records for the operator, each once or seldom. Nil means [slog.Default] at the
	// time of the record.
	Logger *slog.Logger
}

// New returns a middleware that limits calls. opts may be nil. It panics when an
// option makes no sense. Put into several chains, it counts their calls together.
func New(opts *Options) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	return newLimiter(o).middleware()
}

func (l *limiter) middleware() mcp.Middleware {
	wrap := call.WrapLayer("limit.New", call.Func(l.run), nil)
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		limited := wrap(next)
		l.places.Add(1)
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if _, ok := l.methods[method]; !ok {
				return next(ctx, method, req)
			}
			return limited(ctx, method, req)
		}
	}
}

// run runs one call when its turn comes.
func (l *limiter) run(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	if c.Quiet() {
		return next(ctx, c.Method(), req)
	}
	a := candidate{ctx: ctx, req: req, tool: call.Target(req), method: c.Method()}
	a.limits = l.methods[a.method]
	if a.method == middleware.MethodCallTool {
		a.limits |= l.tools[a.tool]
	}
	if a.limits == 0 {
		return next(ctx, a.method, req)
	}
	if l.places.Load() > 1 { // this middleware may stand in the chain twice
		a.call = c
		if l.admitted(c) {
			return next(ctx, a.method, req)
		}
	}
	a.idle = call.IsIdle(ctx, a.tool)
	if err := l.admit(&a); err != nil {
		c.Refused("limit")
		return nil, err
	}
	if a.idle {
		l.release(&a)
	} else {
		defer l.release(&a)
	}
	return next(ctx, a.method, req)
}

const (
	maxLimits  = 8
	maxQueue   = 1024 // calls that wait
	maxOwn     = 16   // calls of one owner that wait
	maxBuckets = 1 << 20
)

// newLimiter checks the options and fills in the defaults.
func newLimiter(o Options) *limiter {
	if o.Limits == nil {
		o.Limits = []Limit{{Scope: PerOwner, Calls: 120, Running: 8}, {Scope: ForAll, Running: 64}}
	}
	if len(o.Limits) > maxLimits {
		panic(fmt.Sprintf("limit.New: Options.Limits has %d limits; give %d at most", len(o.Limits), maxLimits))
	}
	o.Wait = cmp.Or(o.Wait, 2*time.Second)
	l := &limiter{
		Options: o, owners: owner.Finder{Func: o.Owner, Option: "limit.Options.Owner", Logger: o.Logger},
		methods: map[string]uint8{}, tools: map[string]uint8{}, rules: make([]rule, len(o.Limits)),
		seed: maphash.MakeSeed(), epoch: time.Now(), held: map[*call.Call]hold{},
		remote: newGuard("the shared store of package limit", o.Logger),
	}
	l.table = table{most: maxBuckets, buckets: map[uint64]*bucket{}, named: map[uint64]int{}}
	for i, limit := range o.Limits {
		r := l.rule(i, limit)
		if slices.ContainsFunc(l.rules, func(other rule) bool { return other.Name == r.Name }) {
			panic(fmt.Sprintf("limit.New: Options.Limits[%d].Name is %q, as that of another limit; give each a name of its own", i, r.Name))
		}
		for _, method := range r.Methods {
			l.methods[method] |= r.bit
		}
		for _, tool := range r.Tools {
			l.tools[tool] |= r.bit
			l.methods[middleware.MethodCallTool] |= 0 // so that New does not pass its calls
		}
		if r.Calls > 0 {
			l.rated |= r.bit
		}
		l.rules[i] = r
		l.rules[i].common = bucket{rule: &l.rules[i], due: true}
	}
	return l
}

// ordinary are the methods of a limit that names none.
var ordinary = []string{middleware.MethodCallTool, middleware.MethodReadResource, middleware.MethodGetPrompt, middleware.MethodComplete}

// rule checks a Limit and makes it ready for use.
func (l *limiter) rule(i int, limit Limit) rule {
	wrong := func(format string, args ...any) {
		panic(fmt.Sprintf("limit.New: Options.Limits[%d]"+format, append([]any{i}, args...)...))
	}
	switch {
	case limit.Scope > ForAll:
		wrong(".Scope is none of PerOwner, PerTool, PerOwnerAndTool and ForAll")
	case limit.Calls == 0 && limit.Running == 0:
		wrong(" limits nothing; set Calls or Running, or a negative Calls to refuse every call")
	case limit.Running < 0:
		wrong(".Running is negative; give zero for no bound, or a negative Calls to refuse every call")
	case limit.Per < 0:
		wrong(".Per is negative; give a time, or zero for a minute")
	case limit.Burst < 0:
		wrong(".Burst is negative; give zero for that of Calls")
	case limit.Calls <= 0 && (limit.Burst > 0 || limit.Per > 0):
		wrong(" has a Burst or a Per without Calls; set Calls")
	case slices.Contains(limit.Tools, ""):
		wrong(".Tools has an empty name; give that of a tool")
	}
	for _, method := range limit.Methods {
		switch method {
		case "", call.MethodInitialize, call.MethodDiscover, call.MethodListen:
			wrong(".Methods names %q, which cannot have a limit; remove it", method)
		}
	}
	named := len(limit.Tools)+len(limit.Methods) > 0
	if limit.Name == "" {
		limit.Name = []string{"owner", "tool", "owner-and-tool", "all"}[limit.Scope]
		if named {
			limit.Name = fmt.Sprintf("%s-%d", limit.Name, i)
		}
	}
	if !named {
		limit.Methods = ordinary
	}
	r := rule{bit: 1 << i}
	if limit.Calls > 0 {
		limit.Per, limit.Burst = cmp.Or(limit.Per, time.Minute), cmp.Or(limit.Burst, limit.Calls)
		if r.interval = limit.Per / time.Duration(limit.Calls); r.interval <= 0 {
			wrong(".Calls is %d in %s, more than can be counted; leave the limit out", limit.Calls, limit.Per)
		}
		if r.interval > farFuture/time.Duration(limit.Burst) {
			wrong(" would not be full again within 100 years; give a shorter Per or a smaller Burst")
		}
		r.size = r.interval * time.Duration(limit.Burst)
	}
	r.Limit = limit
	return r
}
