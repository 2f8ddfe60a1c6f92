package retry_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/store"
)

// watched is a store that remembers what it was given, and can be made to fail.
type watched struct {
	store.Store
	mu    sync.Mutex
	seen  []string
	asked int
	fail  func(ctx context.Context) error
}

func (w *watched) Get(ctx context.Context, key string) (store.Item, error) {
	w.mu.Lock()
	w.asked++
	w.seen = append(w.seen, key)
	fail := w.fail
	w.mu.Unlock()
	if fail != nil {
		if err := fail(ctx); err != nil {
			return store.Item{}, err
		}
	}
	return w.Store.Get(ctx, key)
}

func (w *watched) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	w.mu.Lock()
	w.seen = append(w.seen, key, string(value))
	w.mu.Unlock()
	return w.Store.Swap(ctx, key, old, value, ttl)
}

// replica is one of several servers.
type replica struct {
	run  int
	err  error
	call func(user, args string) error
}

func newReplica(s store.Store) *replica {
	r := &replica{err: errors.New("broken")}
	h := retry.New(&retry.Options{Store: s, InitialInterval: time.Millisecond})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		r.run++
		if r.err == nil {
			return &mcp.CallToolResult{}, nil
		}
		return nil, r.err
	})
	r.call = func(user, args string) error {
		res, err := h(context.Background(), call.MethodCallTool, &mcp.CallToolRequest{
			Extra:  &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: user}},
			Params: &mcp.CallToolParamsRaw{Name: "it", Arguments: []byte(args)},
		})
		return failureOf(res, err)
	}
	return r
}

func failureOf(res mcp.Result, err error) error {
	if failure, failed := failure.FaultOf(res, err); failed {
		return failure
	}
	return nil
}

func refused(err error) bool { return errors.Is(err, fault.KindRepeatedFailure) }

// A caller who fails on one server is known on the next, and only that caller, with
// that call; when it works again on one, it does on the other.
func TestServersShareWhatTheyKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &watched{Store: store.NewMemory(nil)}
		a, b := newReplica(s), newReplica(s)
		for i := range 3 { // the default refuses after 6
			require.False(t, refused(a.call("ann-canary", `{"x":"canary-argument","y":1}`)), i)
			require.False(t, refused(b.call("ann-canary", `{"y":1.0, "x":"canary-argument"}`)), i)
		}
		require.True(t, refused(a.call("ann-canary", `{"x":"canary-argument","y":1}`)))
		require.True(t, refused(b.call("ann-canary", `{"x":"canary-argument","y":1}`)))
		require.Equal(t, 6, a.run+b.run)
		require.False(t, refused(b.call("ann-canary", `{"x":"other"}`)))
		require.False(t, refused(b.call("bob", `{"x":"canary-argument","y":1}`)))
		require.False(t, refused(newReplica(store.NewMemory(nil)).call("ann-canary", `{"x":"canary-argument","y":1}`)))

		time.Sleep(2 * time.Second) // one of them probes
		require.False(t, refused(a.call("ann-canary", `{"x":"canary-argument","y":1}`)))
		require.True(t, refused(b.call("ann-canary", `{"x":"canary-argument","y":1}`)))
		time.Sleep(2 * time.Second)
		b.err = nil
		require.NoError(t, b.call("ann-canary", `{"x":"canary-argument","y":1}`))
		require.False(t, refused(a.call("ann-canary", `{"x":"canary-argument","y":1}`)))
		for _, text := range s.seen {
			require.NotContains(t, text, "canary")
			require.LessOrEqual(t, len(text), 64<<10)
		}
	})
}

// Failures are forgotten in the store, too, and what is no value of ours stands for
// nothing.
func TestSharedForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &watched{Store: store.NewMemory(nil)}
		a, b := newReplica(s), newReplica(s)
		for range 6 {
			require.False(t, refused(a.call("ann", `{}`)))
		}
		require.True(t, refused(b.call("ann", `{}`)))
		item, err := s.Get(t.Context(), s.seen[0])
		require.NoError(t, err)
		_, ok, err := s.Store.Swap(t.Context(), s.seen[0], item.Version, []byte("{not ours"), time.Hour)
		require.NoError(t, err)
		require.True(t, ok)
		for range 6 {
			require.False(t, refused(b.call("ann", `{}`)))
		}
		require.True(t, refused(a.call("ann", `{}`)))
		time.Sleep(time.Hour)
		require.False(t, refused(a.call("ann", `{}`)))
	})
}

// A store that is gone, slow or broken fails no call and is not asked each time; each
// server counts for itself meanwhile. It is said once a minute.
func TestSharedFailsOpen(t *testing.T) {
	for name, fail := range map[string]func(context.Context) error{
		"gone":   func(context.Context) error { return errors.New("connection refused") },
		"slow":   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"panics": func(context.Context) error { panic("own") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				old := slog.Default()
				slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
				defer slog.SetDefault(old)
				s := &watched{Store: store.NewMemory(nil), fail: fail}
				a, began := newReplica(s), time.Now()
				for range 6 {
					require.False(t, refused(a.call("ann", `{}`)))
				}
				require.True(t, refused(a.call("ann", `{}`)), "what this server knows itself")
				require.LessOrEqual(t, time.Since(began), 300*time.Millisecond)
				require.Equal(t, 1, s.asked)
				for range 3 {
					time.Sleep(6 * time.Second)
					_ = a.call("ann", `{}`)
				}
				require.Equal(t, 4, s.asked)
				require.Equal(t, 1, strings.Count(log.String(), "does not answer"), log.String())
				time.Sleep(time.Minute)
				_ = a.call("ann", `{}`)
				require.Equal(t, 2, strings.Count(log.String(), "does not answer"))

				s.fail = nil
				time.Sleep(6 * time.Second)
				for range 6 {
					require.False(t, refused(a.call("bob", `{}`)))
				}
				require.True(t, refused(newReplica(s).call("bob", `{}`)), "it is asked again")
			})
		})
	}
}

// A connection belongs to one server: the store is not asked about it.
func TestSharedLeavesConnectionsOut(t *testing.T) {
	s := &watched{Store: store.NewMemory(nil)}
	h := retry.New(&retry.Options{Store: s})(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, errors.New("broken") })
	req := &mcp.CallToolRequest{Session: &mcp.ServerSession{}, Params: &mcp.CallToolParamsRaw{Name: "it"}}
	for range 6 {
		require.False(t, refused(failureOf(h(t.Context(), call.MethodCallTool, req))))
	}
	require.True(t, refused(failureOf(h(t.Context(), call.MethodCallTool, req))))
	require.Zero(t, s.asked)
}

// TestWhatWasReadBeforeProvesNothing: what another server wrote while a handler ran counts, and is not written over,
// although this one does not read it again before it writes.
func TestWhatWasReadBeforeProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &watched{Store: store.NewMemory(nil)}
		a, b := newReplica(s), newReplica(s)
		gets := func(call func() error) (int, error) {
			before := s.asked
			err := call()
			return s.asked - before, err
		}
		const args = `{"x":1}`
		var during func()
		h := retry.New(&retry.Options{Store: s, InitialInterval: time.Millisecond})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
			if during != nil {
				during()
			}
			return nil, a.err
		})
		slow := func() error {
			return failureOf(h(t.Context(), call.MethodCallTool, &mcp.CallToolRequest{
				Extra: &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: "ann"}}, Params: &mcp.CallToolParamsRaw{Name: "it", Arguments: []byte(args)},
			}))
		}
		n, err := gets(slow)
		require.Equal(t, 1, n, "the look before the handler")
		require.False(t, refused(err))
		during = func() { require.False(t, refused(b.call("ann", args))) }
		for range 2 {
			n, err = gets(slow)
			require.Equal(t, 2, n, "a look of each, and none to count")
			require.False(t, refused(err))
		}
		during = nil
		for range 3 { // those that ran at the same time were one try: with the first, three
			require.False(t, refused(b.call("ann", args)))
		}
		require.True(t, refused(b.call("ann", args)), "six, none of them lost")
		require.True(t, refused(a.call("ann", args)))
	})
}
