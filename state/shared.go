package state

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/sink"
)

// ShareOptions configure [Share]. The zero value is the recommended default.
type ShareOptions struct {
	// Limit is how long each try to open the resource may take. Zero means 30 s, and a
	// negative one no limit.
	Limit time.Duration

	// Logger gets a record of each failure to open. Nil means [slog.Default] at the
	// time of the record.
	Logger *slog.Logger
}

// A Shared is a resource that all calls of a server share, such as a pool of
// connections: opened before the first call, closed at the end. If it cannot be opened, the
// next try comes after a second at the earliest, and then after twice the time, up to a
// minute. All methods may be called concurrently.
//
//	db := state.Share(nil, openPool, closePool)
//	defer db.Close()
//	server.AddReceivingMiddleware(db.Middleware())
//	// In a handler:
//	pool, err := db.Get(ctx)
type Shared[T any] struct {
	opts    ShareOptions
	open    func(context.Context) (T, error)
	closing func(T) error

	mu      sync.Mutex
	value   *T            // nil while it is not open
	opening chan struct{} // closed when the current try has ended; nil if there is none
	failure error         // of the last try
	wait    time.Duration // between the last try and the next
	again   time.Time     // when another try may be made
	closed  bool
}

// notRun adds that nothing was done to the failure of a resource that was needed before the handler.
func notRun(err error) error {
	f, ok := err.(*fault.Error) //nolint:errorlint // Get wraps none
	if !ok {
		return err
	}
	retry, _ := f.Retry()
	retry.Effect = fault.EffectNone
	return f.WithRetry(retry)
}

// A handler that asks for the resource may have changed something before.
var errClosed = fault.Unavailable("a resource that this server needs").
	WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1, Effect: fault.EffectUnknown}).
	Because(errors.New("state: the shared resource was closed"))

// Share returns a resource that is opened when the first client connects or calls.
// opts may be nil, and so may closing.
func Share[T any](opts *ShareOptions, open func(context.Context) (T, error), closing func(T) error) *Shared[T] {
	if open == nil {
		panic("state.Share: open is nil; give the function that opens the resource")
	}
	var o ShareOptions
	if opts != nil {
		o = *opts
	}
	o.Limit = cmp.Or(o.Limit, 30*time.Second)
	return &Shared[T]{opts: o, open: open, closing: closing}
}

// Middleware returns a middleware that opens the resource before the server answers
// initialize, server/discover or a call. While it cannot be opened, they fail as
// service_unavailable, with the time of the next try.
func (s *Shared[T]) Middleware() mcp.Middleware {
	return call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		switch c.Method() {
		case call.MethodInitialize, call.MethodDiscover, call.MethodCallTool, call.MethodReadResource, call.MethodGetPrompt, call.MethodComplete:
			if _, err := s.Get(ctx); err != nil {
				return nil, notRun(err)
			}
		}
		return next(ctx, c.Method(), req)
	})
}

// Get returns the resource, and opens it if it is not open. Several callers at the same
// time wait for one try.
func (s *Shared[T]) Get(ctx context.Context) (value T, err error) {
	for {
		have, opening, err := s.start(ctx)
		switch {
		case err != nil:
			return value, err
		case have != nil:
			return *have, nil
		}
		select {
		case <-opening:
		case <-ctx.Done():
			return value, context.Cause(ctx)
		}
	}
}

// start returns the resource, or else a channel that is closed when the try to open it has
// ended. It begins one unless one is under way or it is too early.
func (s *Shared[T]) start(ctx context.Context) (have *T, opening <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, nil, errClosed
	case s.value != nil || s.opening != nil:
		return s.value, s.opening, nil
	}
	if wait := time.Until(s.again); wait > 0 { // the clock is read only while the resource is not open
		return nil, nil, fault.Unavailable("a resource that this server needs").
			WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: wait.Seconds(), Effect: fault.EffectUnknown}).
			Because(s.failure)
	}
	s.opening = make(chan struct{})
	go s.try(context.WithoutCancel(ctx)) // the first caller may go away
	return nil, s.opening, nil
}

// try opens the resource once.
func (s *Shared[T]) try(ctx context.Context) {
	var value T
	err := errors.New("state: open did not return")
	defer func() {
		if p := recover(); p != nil {
			err = fault.Panicked(p, 1)
		}
		s.ended(value, err)
	}()
	if s.opts.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.opts.Limit)
		defer cancel()
	}
	value, err = s.open(ctx)
}

func (s *Shared[T]) ended(value T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.opening)
	s.opening = nil
	logger := s.opts.Logger
	if logger == nil {
		logger = slog.Default()
	}
	switch {
	case err != nil:
		s.wait = min(time.Minute, max(time.Second, 2*s.wait))
		s.failure, s.again = err, time.Now().Add(s.wait)
		sink.Log(context.Background(), logger, slog.LevelError, "mcp shared resource cannot be opened", slog.Any("error", err), slog.Duration("next_try_in", s.wait))
	case s.closed:
		if err := s.closeValue(value); err != nil {
			sink.Log(context.Background(), logger, slog.LevelError, "mcp shared resource cannot be closed", slog.Any("error", err))
		}
	default:
		s.value = &value
	}
}

// Close closes the resource if it is open. It cannot be opened again. Call it when no call
// runs any longer.
func (s *Shared[T]) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.value
	s.closed, s.value = true, nil
	if have == nil {
		return nil
	}
	return s.closeValue(*have)
}

func (s *Shared[T]) closeValue(value T) error {
	if s.closing == nil {
		return nil
	}
	return s.closing(value)
}
