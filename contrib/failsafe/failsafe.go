// Package failsafe puts policies of github.com/failsafe-go/failsafe-go around tools or
// owners: circuit breakers, adaptive limits, bulkheads. Import it as mcpfailsafe.
//
//	guard := mcpfailsafe.New(&mcpfailsafe.Options{
//		Policies: func(tool string) []failsafe.Policy[mcp.Result] {
//			return []failsafe.Policy[mcp.Result]{
//				circuitbreaker.NewBuilder[mcp.Result]().WithFailureThreshold(5).WithDelay(30 * time.Second).Build(),
//			}
//		},
//	})
//	server.AddReceivingMiddleware(mcpchain.Standard(nil, guard))
//
// A policy counts a call as failed if the server, or a service that it needs, failed: a
// timeout, a connection, an unavailable service, a bug. It does not count mistakes of the
// caller, things that do not exist and refusals, so a model that explores opens no circuit.
// If a policy refuses a call, the handler does not run, and the caller reads:
//
//	Service unavailable: "search" failed too often and is not called for a while.
//	Suggestion: Do without it meanwhile.
//	Retry: yes, after 30 s. Nothing was changed by this call.
//
// Policies that run a handler again, such as retries and hedges, do not know what a tool
// changes: use retry.Server instead.
package failsafe

import (
	"container/list"
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	fs "github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
)

// Options configure [New].
type Options struct {
	// Policies returns the policies for a key, the first outermost. It is required, is
	// called once for each key, and may return nil for none. It must not block.
	Policies func(key string) []fs.Policy[mcp.Result]

	// Key returns the key under which a request is guarded, "" for none. It may be called
	// concurrently; if it panics, the request is not guarded. Nil means the name of the
	// tool. [ByOwner] guards by the authenticated user.
	Key func(ctx context.Context, req mcp.Request) string

	// MaxKeys is how many keys are remembered. Beyond that, the state of the least recently
	// used key is forgotten. Zero means 10,000.
	MaxKeys int
}

// ByTool is the default of Options.Key: the name of the tool that is called.
func ByTool(_ context.Context, req mcp.Request) string {
	if r, ok := req.(*mcp.CallToolRequest); ok && r != nil && r.Params != nil {
		return r.Params.Name
	}
	return ""
}

// ByOwner is an Options.Key: the authenticated user, for calls of tools, reads of
// resources, prompts and completions.
func ByOwner(_ context.Context, req mcp.Request) string {
	switch req.(type) {
	case *mcp.CallToolRequest, *mcp.ReadResourceRequest, *mcp.GetPromptRequest, *mcp.CompleteRequest:
		if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
			return extra.TokenInfo.UserID
		}
	}
	return ""
}

// New returns a middleware that runs calls under policies. It panics when Policies is
// missing.
func New(opts *Options) mcp.Middleware {
	if opts == nil || opts.Policies == nil {
		panic("failsafe.New: Options.Policies is nil; give a function that returns the policies for a tool")
	}
	g := &guard{Options: *opts, guards: map[string]*list.Element{}}
	if g.Key == nil {
		g.Key = ByTool
	}
	switch {
	case g.MaxKeys < 0:
		panic("failsafe.New: Options.MaxKeys is negative; give zero for the default")
	case g.MaxKeys == 0:
		g.MaxKeys = 10_000
	}
	guarding := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			key := g.key(ctx, req)
			if key == "" {
				return next(ctx, method, req)
			}
			policies := g.policies(key)
			if len(policies) == 0 {
				return next(ctx, method, req)
			}
			return run(ctx, method, req, next, key, policies)
		}
	}
	return middleware.Chain(middleware.Render(nil), guarding) // so that refusals are rendered without mcpchain.Standard too
}

// failed is the error that policies see for a failure that counts.
type failed struct {
	res mcp.Result
	err error
}

func (f *failed) Error() string { return "failsafe: the call failed" }

// run runs a call under policies.
func run(ctx context.Context, method string, req mcp.Request, next mcp.MethodHandler, key string, policies []fs.Policy[mcp.Result]) (mcp.Result, error) {
	type panicked struct{ value any }
	var panics panicked
	var mu sync.Mutex
	var ran atomic.Bool // a policy may refuse the second run of a handler
	res, err := fs.With(policies...).WithContext(ctx).GetWithExecution(func(exec fs.Execution[mcp.Result]) (res mcp.Result, err error) {
		// A panic that passed through a policy would not be counted by it.
		defer func() {
			if p := recover(); p != nil {
				mu.Lock()
				defer mu.Unlock()
				panics = panicked{p}
				res, err = nil, &failed{}
			}
		}()
		ran.Store(true)
		res, err = next(exec.Context(), method, req)
		if f, ok := middleware.FaultOf(res, err); ok && counts(f.Kind()) {
			return nil, &failed{res, err}
		} else if ok && err != nil {
			return uncounted{res, err}, nil // a success to the policies
		}
		return res, err
	})
	mu.Lock()
	p := panics.value
	mu.Unlock()
	if p != nil {
		panic(p)
	}
	if u, ok := res.(uncounted); ok {
		return u.Result, u.err
	}
	if f := (*failed)(nil); errors.As(err, &f) {
		return f.res, f.err
	}
	if err != nil {
		return nil, refusal(key, err, policies, ran.Load())
	}
	return res, nil
}

// uncounted hides an error from policies that should not count it.
type uncounted struct {
	mcp.Result

	err error
}

// counts reports whether a failure is the fault of the server or of a service that it
// needs.
func counts(kind fault.Kind) bool {
	switch kind {
	case fault.KindTimeout, fault.KindConnectionFailed, fault.KindServiceUnavailable, fault.KindServerError, fault.KindInternal:
		return true
	default:
		return false
	}
}

// refusal returns the failure that a caller gets for the error of a policy. ran reports whether the
// handler has run.
func refusal(key string, err error, policies []fs.Policy[mcp.Result], ran bool) error {
	name := strconv.Quote(key)
	retry := fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1, Effect: fault.EffectNone}
	if ran {
		retry.Effect = fault.EffectUnknown
	}
	switch {
	case errors.Is(err, circuitbreaker.ErrOpen):
		delay := opens(policies)
		if delay <= 0 {
			return fault.New(fault.KindServiceUnavailable, name+" failed too often; whether it works again is being tried").WithRetry(retry)
		}
		retry.RetryAfterSeconds = math.Ceil(delay.Seconds()*1000) / 1000
		return fault.New(fault.KindServiceUnavailable, name+" failed too often and is not called for a while").
			Suggest("Do without it meanwhile.").WithRetry(retry)
	case errors.Is(err, bulkhead.ErrFull), errors.Is(err, adaptivelimiter.ErrExceeded),
		errors.Is(err, adaptivethrottler.ErrExceeded), errors.Is(err, ratelimiter.ErrExceeded):
		return fault.New(fault.KindRateLimited, name+" accepts no more calls now").
			Suggest("Make fewer calls in parallel.").WithRetry(retry)
	case errors.Is(err, timeout.ErrExceeded):
		return fault.New(fault.KindTimeout, name+" did not finish in time").Because(err)
	default:
		return err
	}
}

// opens returns how long an open breaker still refuses all calls, zero or less if none is
// open, because a call tests whether the breaker may close.
func opens(policies []fs.Policy[mcp.Result]) (delay time.Duration) {
	for _, p := range policies {
		if breaker, ok := p.(circuitbreaker.CircuitBreaker[mcp.Result]); ok && breaker.IsOpen() {
			delay = max(delay, breaker.RemainingDelay())
		}
	}
	return delay
}

// A guard remembers the policies of each key, the most recently used first.
type guard struct {
	Options

	mu     sync.Mutex
	guards map[string]*list.Element
	recent list.List
}

type guarded struct {
	key      string
	policies []fs.Policy[mcp.Result]
}

func (g *guard) key(ctx context.Context, req mcp.Request) (key string) {
	defer func() {
		if recover() != nil {
			key = ""
		}
	}()
	return g.Key(ctx, req)
}

func (g *guard) policies(key string) []fs.Policy[mcp.Result] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e, ok := g.guards[key]; ok {
		g.recent.MoveToFront(e)
		return e.Value.(*guarded).policies //nolint:forcetypeassert // nothing else is put in
	}
	if len(g.guards) >= g.MaxKeys {
		oldest := g.recent.Back()
		delete(g.guards, oldest.Value.(*guarded).key) //nolint:forcetypeassert // nothing else is put in
		g.recent.Remove(oldest)
	}
	made := &guarded{key, g.Policies(key)}
	g.guards[key] = g.recent.PushFront(made)
	return made.policies
}
