package state_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/state"
	"github.com/mcpchain/mcpchain/store"
)

type cart struct {
	Items []string       `json:"items,omitempty"`
	Count int            `json:"count,omitempty"`
	Notes map[string]int `json:"notes,omitempty"`
}

// do runs a function as the handler of a call.
func do(t testing.TB, mw mcp.Middleware, owner, handle string, handler func(context.Context) error) error {
	t.Helper()
	req := request(owner, handle)
	var inner error
	res, err := mw(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		if inner = handler(ctx); inner != nil {
			return nil, inner
		}
		return &mcp.CallToolResult{}, nil
	})(t.Context(), "tools/call", req)
	if inner != nil && err != nil { // which leaves as it came
		return middleware.Classify(err)
	}
	require.NoError(t, err, "a failure of a tool is a result")
	if tool := res.(*mcp.CallToolResult); tool.IsError {
		f, ok := tool.Meta["io.github.mcpchain/error"].(*fault.Error)
		require.True(t, ok)
		return f
	}
	require.NoError(t, inner)
	return nil
}

func request(owner, handle string) *mcp.CallToolRequest {
	args := `{}`
	if handle != "" {
		raw, _ := json.Marshal(map[string]string{"handle": handle})
		args = string(raw)
	}
	return &mcp.CallToolRequest{
		Params: &mcp.CallToolParamsRaw{Name: "t", Arguments: json.RawMessage(args)},
		Extra:  &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: owner}, Header: http.Header{}},
	}
}

func begin(t testing.TB, mw mcp.Middleware, owner string, value cart) (h string) {
	t.Helper()
	require.NoError(t, do(t, mw, owner, "", func(ctx context.Context) error {
		handle, err := state.Create(ctx, value)
		h = string(handle)
		return err
	}))
	return h
}

func look(t testing.TB, mw mcp.Middleware, owner, handle string) (value cart, err error) {
	t.Helper()
	err = do(t, mw, owner, handle, func(ctx context.Context) error {
		v, err := state.From[cart](ctx)
		if err == nil {
			value = *v
		}
		return err
	})
	return value, err
}

func mustLook(t testing.TB, mw mcp.Middleware, owner, handle string) cart {
	t.Helper()
	value, err := look(t, mw, owner, handle)
	require.NoError(t, err)
	return value
}

// raise counts once more in a value.
func raise(t testing.TB, mw mcp.Middleware, owner, handle string) error {
	t.Helper()
	return do(t, mw, owner, handle, func(ctx context.Context) error {
		return state.Update(ctx, func(c *cart) error { c.Count++; return nil })
	})
}

// put makes a value of a size.
func put(t testing.TB, mw mcp.Middleware, owner string, size int) error {
	t.Helper()
	return do(t, mw, owner, "", func(ctx context.Context) error {
		_, err := state.Create(ctx, cart{Items: []string{strings.Repeat("x", size)}})
		return err
	})
}

func kindOf(err error) fault.Kind {
	var f *fault.Error
	errors.As(err, &f)
	return f.Kind()
}

func TestAConversation(t *testing.T) {
	shared := store.NewMemory(nil)
	a, b := state.New(&state.Options{Store: shared}), state.New(&state.Options{Store: shared})
	h := begin(t, a, "alice", cart{Items: []string{"tea"}})
	require.Regexp(t, "^[a-z2-7]{26}-[0-9]{1,2}$", h)
	require.NoError(t, do(t, b, "alice", h, func(ctx context.Context) error {
		v, err := state.From[cart](ctx)
		require.NoError(t, err)
		v.Items = append(v.Items, "milk")
		again, err := state.From[cart](ctx)
		require.NoError(t, err)
		require.Same(t, v, again)
		_, err = state.From[int](ctx)
		require.ErrorContains(t, err, "was taken as a *state_test.cart")
		require.ErrorContains(t, state.Update(ctx, func(*cart) error { return nil }), "state.Update: the value was taken")
		return nil
	}))
	require.Equal(t, []string{"tea", "milk"}, mustLook(t, a, "alice", h).Items)
	require.NoError(t, do(t, a, "alice", h, func(ctx context.Context) error {
		return state.Update(ctx, func(c *cart) error { c.Count = 7; return nil })
	}))
	require.Equal(t, 7, mustLook(t, b, "alice", h).Count)
	require.NoError(t, do(t, b, "alice", h, state.Delete))
	_, err := look(t, a, "alice", h)
	require.Equal(t, fault.KindNotFound, kindOf(err))
	require.NoError(t, do(t, b, "alice", h, state.Delete), "again")
}

// TestAHandleOfSomebodyElse proves that it is answered like one that never existed.
func TestAHandleOfSomebodyElse(t *testing.T) {
	mw := state.New(&state.Options{NewTool: "new_cart"})
	h := begin(t, mw, "alice", cart{Count: 1})
	var texts []string
	for _, handle := range []string{h, strings.Repeat("a", 26), "x", strings.Repeat("long", 10_000), "\x00", h + " ", strings.ToUpper(h)} {
		_, err := look(t, mw, "bob", handle)
		require.Error(t, err)
		texts = append(texts, err.Error())
		require.Error(t, raise(t, mw, "bob", handle))
		require.NoError(t, do(t, mw, "bob", handle, state.Delete))
	}
	for _, text := range texts {
		require.Equal(t, texts[0], text)
		require.Contains(t, text, "call new_cart")
		require.NotContains(t, text, h)
	}
	require.Equal(t, 1, mustLook(t, mw, "alice", h).Count)
}

// TestTheHandleBeforeInItsPlace proves that a handle, guessed or of a value that is gone, is
// not that of the value which stands in the same place now.
func TestTheHandleBeforeInItsPlace(t *testing.T) {
	mw := state.New(&state.Options{Limits: state.Limits{PerOwner: 1}})
	gone := begin(t, mw, "alice", cart{Count: 1})
	require.Equal(t, fault.KindConflict, kindOf(do(t, mw, "alice", gone, func(ctx context.Context) error {
		v, err := state.From[cart](ctx)
		require.NoError(t, err)
		v.Count++
		require.NoError(t, do(t, mw, "alice", gone, state.Delete))
		begin(t, mw, "alice", cart{Count: 7})
		return nil
	})))
	require.NoError(t, do(t, mw, "alice", gone, state.Delete), "and removes nothing")
	h := begin(t, mw, "bob", cart{Count: 7})
	for _, handle := range []string{strings.Repeat("a", 26) + h[26:], h[26:], "0"} {
		_, err := look(t, mw, "bob", handle)
		require.Equal(t, fault.KindNotFound, kindOf(err))
		require.Equal(t, fault.KindNotFound, kindOf(raise(t, mw, "bob", handle)))
		require.NoError(t, do(t, mw, "bob", handle, state.Delete))
	}
	require.Equal(t, 7, mustLook(t, mw, "bob", h).Count)
}

func TestHandlesAreNotLogged(t *testing.T) {
	h := state.Handle(strings.Repeat("abcd", 6))
	var b strings.Builder
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "handle", h, "short", state.Handle("ab"))
	require.Contains(t, b.String(), "handle=abcd... short=...")
	require.NotContains(t, b.String(), string(h))
	seen := map[string]bool{}
	mw := state.New(&state.Options{Limits: state.Limits{PerOwner: -1}})
	for range 1000 {
		h := begin(t, mw, "alice", cart{})
		require.False(t, seen[h])
		seen[h] = true
	}
}

// TestNamesInTheStore proves that the names and sizes in a store reveal no handle.
func TestNamesInTheStore(t *testing.T) {
	spy := &spy{Store: store.NewMemory(nil)}
	h := begin(t, state.New(&state.Options{Store: spy}), "alice", cart{})
	require.NotContains(t, spy.all.String(), h)
	require.NotContains(t, spy.all.String(), "alice")
}

type spy struct {
	store.Store

	all    strings.Builder
	writes int
	fails  bool
}

func (s *spy) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	s.writes++
	s.all.WriteString(key)
	s.all.Write(value)
	if s.fails {
		return store.Item{}, false, errors.New("secret: connection refused")
	}
	return s.Store.Swap(ctx, key, old, value, ttl)
}

func TestOnlyWhatChangedIsSaved(t *testing.T) {
	spy := &spy{Store: store.NewMemory(nil)}
	mw := state.New(&state.Options{Store: spy})
	h := begin(t, mw, "alice", cart{Notes: map[string]int{"a": 1, "b": 2, "c": 3}})
	writes := spy.writes
	for range 10 {
		mustLook(t, mw, "alice", h)
	}
	require.Equal(t, writes, spy.writes)

	failed := errors.New("no")
	change := func(fail error) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			v, err := state.From[cart](ctx)
			require.NoError(t, err)
			v.Count++
			return fail
		}
	}
	require.Error(t, do(t, mw, "alice", h, change(failed)))
	require.Equal(t, writes, spy.writes, "nothing of a call that failed")
	require.NoError(t, do(t, mw, "alice", h, change(nil)))
	require.Equal(t, writes+1, spy.writes)
	require.Equal(t, 1, mustLook(t, mw, "alice", h).Count)

	spy.fails = true
	err := do(t, mw, "alice", h, change(nil))
	require.Equal(t, fault.KindServiceUnavailable, kindOf(err))
	require.NotContains(t, err.Error(), "secret")
}

func TestAConflictIsTold(t *testing.T) {
	mw := state.New(nil)
	h := begin(t, mw, "alice", cart{})
	err := do(t, mw, "alice", h, func(ctx context.Context) error {
		v, err := state.From[cart](ctx)
		require.NoError(t, err)
		v.Count = 100
		return do(t, mw, "alice", h, func(ctx context.Context) error {
			return state.Update(ctx, func(c *cart) error { c.Count = 1; return nil })
		})
	})
	require.Equal(t, fault.KindConflict, kindOf(err))
	require.Equal(t, 1, mustLook(t, mw, "alice", h).Count, "nobody's change is lost in silence")
}

func TestNoUpdateIsLost(t *testing.T) {
	shared := store.NewMemory(nil)
	h := begin(t, state.New(&state.Options{Store: shared}), "alice", cart{})
	var work sync.WaitGroup
	for range 8 {
		mw := state.New(&state.Options{Store: shared})
		work.Go(func() {
			for range 50 {
				require.NoError(t, raise(t, mw, "alice", h))
			}
		})
	}
	work.Wait()
	require.Equal(t, 400, mustLook(t, state.New(&state.Options{Store: shared}), "alice", h).Count)
}

func TestAnUpdateThatFailsChangesNothing(t *testing.T) {
	mw := state.New(nil)
	h := begin(t, mw, "alice", cart{Count: 1})
	full := fault.New(fault.KindPreconditionFailed, "the cart is full")
	err := do(t, mw, "alice", h, func(ctx context.Context) error {
		return state.Update(ctx, func(c *cart) error { c.Count = 9; return full })
	})
	require.ErrorIs(t, err, full)
	require.Equal(t, 1, mustLook(t, mw, "alice", h).Count)
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sliding := state.New(&state.Options{Expiry: time.Hour})
		h := begin(t, sliding, "alice", cart{})
		for range 5 {
			time.Sleep(10 * time.Minute)
			mustLook(t, sliding, "alice", h)
		}
		time.Sleep(10*time.Minute + time.Second)
		mustLook(t, sliding, "alice", h)
		time.Sleep(54 * time.Minute)
		mustLook(t, sliding, "alice", h)
		time.Sleep(61 * time.Minute)
		_, err := look(t, sliding, "alice", h)
		require.Equal(t, fault.KindNotFound, kindOf(err))
	})
}

// TestNoClockOfAnotherServer decides when a value ends: what another one wrote is put off when it is
// used, however old it says it is.
func TestNoClockOfAnotherServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := store.NewMemory(nil)
		server := func() mcp.Middleware { return state.New(&state.Options{Store: memory}) }
		a, b := server(), server()
		h := begin(t, a, "alice", cart{})
		time.Sleep(3 * time.Minute)
		mustLook(t, b, "alice", h)
		time.Sleep(59 * time.Minute)
		mustLook(t, a, "alice", h)
		time.Sleep(59 * time.Minute)
		mustLook(t, b, "alice", h)
	})
}

// TestPuttingOffTheEndIsNoChange proves that a call which only looks does not make
// another one fail.
func TestPuttingOffTheEndIsNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mw := state.New(nil)
		h := begin(t, mw, "alice", cart{})
		require.NoError(t, do(t, mw, "alice", h, func(ctx context.Context) error {
			v, err := state.From[cart](ctx)
			require.NoError(t, err)
			time.Sleep(30 * time.Minute)
			mustLook(t, mw, "alice", h)
			v.Count = 5
			return nil
		}))
		require.Equal(t, 5, mustLook(t, mw, "alice", h).Count)
	})
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mw := state.New(&state.Options{Limits: state.Limits{PerOwner: 3, ValueBytes: 100}})
		handles := []string{begin(t, mw, "alice", cart{}), begin(t, mw, "alice", cart{}), begin(t, mw, "alice", cart{})}
		more := func(owner string) error {
			return do(t, mw, owner, "", func(ctx context.Context) error { _, err := state.Create(ctx, cart{}); return err })
		}
		require.Equal(t, fault.KindRateLimited, kindOf(more("alice")))
		require.NoError(t, more("bob"))
		require.NoError(t, do(t, mw, "alice", handles[0], state.Delete))
		require.NoError(t, more("alice"))
		require.Error(t, more("alice"))
		time.Sleep(2 * time.Hour)
		require.NoError(t, more("alice"), "the others have expired")

		h := begin(t, mw, "carol", cart{})
		large := func(ctx context.Context) error {
			return state.Update(ctx, func(c *cart) error { c.Items = []string{strings.Repeat("x", 100)}; return nil })
		}
		require.Equal(t, fault.KindPreconditionFailed, kindOf(do(t, mw, "carol", h, large)))
		require.Equal(t, fault.KindPreconditionFailed, kindOf(put(t, mw, "carol", 100)))
		require.Empty(t, mustLook(t, mw, "carol", h).Items)
	})
}

// retryOf returns what the answer says about another try.
func retryOf(t testing.TB, err error) fault.Retry {
	t.Helper()
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	retry, ok := f.Retry()
	require.True(t, ok)
	return retry
}

// TestBytesOfAnOwnerAreBounded fills the share of one owner with values of handles, and of many
// sessions. Other owners are not affected.
func TestBytesOfAnOwnerAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := store.NewMemory(nil)
		opts := &state.Options{Store: shared, Limits: state.Limits{OwnerBytes: 100_000}}
		servers := []mcp.Middleware{state.New(opts), state.New(opts)}
		create := func(owner string, size int) error {
			return put(t, servers[size%2], owner, size)
		}
		h := begin(t, servers[0], "alice", cart{})
		n := 0
		var err error
		for ; n < 20; n++ {
			if err = create("alice", 10_000+n); err != nil {
				break
			}
			time.Sleep(time.Minute)
		}
		require.Equal(t, 9, n)
		require.Equal(t, fault.KindRateLimited, kindOf(err))
		require.ErrorContains(t, err, "the open conversations take all the room that one caller has")
		told := retryOf(t, err)
		require.True(t, told.ShouldRetry)
		require.Equal(t, fault.EffectUnknown, told.Effect)
		require.InDelta(t, (51 * time.Minute).Seconds(), told.RetryAfterSeconds, 0, "the first large one was made nine minutes ago")

		// What is there can be read and made smaller, but not larger.
		change := func(size int) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				return state.Update(ctx, func(c *cart) error { c.Items = []string{strings.Repeat("x", size)}; return nil })
			}
		}
		require.Equal(t, fault.KindRateLimited, kindOf(do(t, servers[0], "alice", h, change(10_000))))
		require.NoError(t, do(t, servers[0], "alice", h, change(100)))
		require.NoError(t, do(t, servers[0], "alice", h, change(50)))
		require.Equal(t, strings.Repeat("x", 50), mustLook(t, servers[1], "alice", h).Items[0])
		err = do(t, servers[0], "alice", h, func(ctx context.Context) error {
			v, err := state.From[cart](ctx)
			require.NoError(t, err)
			v.Items = []string{strings.Repeat("x", 10_000)}
			return nil
		})
		require.ErrorContains(t, err, "what this call changed in this one was not saved")
		require.Equal(t, fault.EffectUnknown, retryOf(t, err).Effect, "the handler has run")

		for range 9 {
			require.NoError(t, create("bob", 10_000), "nobody else notices")
		}
		time.Sleep(time.Duration(told.RetryAfterSeconds*float64(time.Second)) - time.Second)
		require.Error(t, create("alice", 10_000))
		time.Sleep(time.Second)
		require.NoError(t, create("alice", 10_000), "the wait is true")
	})
}

// TestOneOwnerDoesNotFillTheDefaultStore has one owner, and then many, keep what they can.
func TestOneOwnerDoesNotFillTheDefaultStore(t *testing.T) {
	mw := state.New(&state.Options{Limits: state.Limits{PerOwner: -1}})
	fill := func(owner string) (n int) {
		for ; n < 2000; n++ {
			if put(t, mw, owner, 60_000) != nil {
				break
			}
		}
		return n
	}
	require.InDelta(t, (8<<20)/60_000, fill("alice"), 2)
	for i := range 30 {
		fill(fmt.Sprint("sock puppet ", i))
	}
	begin(t, mw, "bob", cart{Items: []string{strings.Repeat("x", 1000)}})
}

// TestWhatAStoreThatFailsMayHaveDone: a handler that asks for the store may have changed something before, whatever
// became of its question.
func TestWhatAStoreThatFailsMayHaveDone(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		effect fault.Effect
		kind   fault.Kind
		after  float64
	}{
		"full":      {&store.RoomError{Reason: store.ErrFull, After: 90 * time.Second}, fault.EffectUnknown, fault.KindServiceUnavailable, 90},
		"refused":   {fmt.Errorf("dial: %w", store.ErrRefused), fault.EffectUnknown, fault.KindServiceUnavailable, 0},
		"a fault":   {fault.Unavailable("x").After(7 * time.Second).Because(errors.New("EOF")), fault.EffectUnknown, fault.KindServiceUnavailable, 7},
		"too large": {store.ErrTooLarge, "", fault.KindPreconditionFailed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			broken := &failing{Store: store.NewMemory(nil)}
			mw := state.New(&state.Options{Store: broken})
			h := begin(t, mw, "alice", cart{})
			broken.err = c.err
			check := func(handle string, handler func(ctx context.Context) error) {
				t.Helper()
				err := do(t, mw, "alice", handle, handler)
				require.Equal(t, c.kind, kindOf(err))
				if c.effect != "" {
					require.Equal(t, c.effect, retryOf(t, err).Effect)
					require.InDelta(t, c.after, retryOf(t, err).RetryAfterSeconds, 0)
				}
			}
			check("", func(ctx context.Context) error { _, err := state.Create(ctx, cart{}); return err })
			check(h, func(ctx context.Context) error {
				return state.Update(ctx, func(c *cart) error { c.Count++; return nil })
			})
			check(h, func(ctx context.Context) error {
				v, err := state.From[cart](ctx)
				if err == nil {
					v.Count++
				}
				return err
			})
		})
	}
}

// failing is a store whose writes fail.
type failing struct {
	store.Store

	err error
}

func (f *failing) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	if f.err != nil {
		return store.Item{}, false, f.err
	}
	return f.Store.Swap(ctx, key, old, value, ttl)
}

// TestAValueThatExpiresDuringFrom: it is nobody's change, and one that was deleted is.
func TestAValueThatExpiresDuringFrom(t *testing.T) {
	for name, c := range map[string]struct {
		opts  state.Options
		begin time.Duration // before the call
		runs  time.Duration
		other func(t *testing.T, mw mcp.Middleware, h string)
		kind  fault.Kind
		says  string
	}{
		"expired": {runs: time.Hour, kind: fault.KindNotFound, says: "this conversation expired while the call ran"},
		"put off": {begin: 50 * time.Minute, runs: 59 * time.Minute},
		"its place is another's": {opts: state.Options{Limits: state.Limits{PerOwner: 1}}, runs: time.Hour, other: func(t *testing.T, mw mcp.Middleware, _ string) {
			t.Helper()
			begin(t, mw, "alice", cart{})
		}, kind: fault.KindNotFound, says: "this conversation expired while the call ran"},
		"put off, and deleted": {begin: 50 * time.Minute, runs: 30 * time.Minute, other: func(t *testing.T, mw mcp.Middleware, h string) {
			t.Helper()
			require.NoError(t, do(t, mw, "alice", h, state.Delete))
		}, kind: fault.KindConflict, says: "another call has changed"},
		"deleted": {runs: 30 * time.Minute, other: func(t *testing.T, mw mcp.Middleware, h string) {
			t.Helper()
			require.NoError(t, do(t, mw, "alice", h, state.Delete))
		}, kind: fault.KindConflict, says: "another call has changed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.opts.NewTool = "new_cart"
				mw := state.New(&c.opts)
				h := begin(t, mw, "alice", cart{})
				time.Sleep(c.begin)
				err := do(t, mw, "alice", h, func(ctx context.Context) error {
					v, err := state.From[cart](ctx)
					require.NoError(t, err)
					time.Sleep(c.runs)
					if c.other != nil {
						c.other(t, mw, h)
					}
					v.Count++
					return nil
				})
				if c.says == "" {
					require.NoError(t, err)
					require.Equal(t, 1, mustLook(t, mw, "alice", h).Count)
					return
				}
				require.Equal(t, c.kind, kindOf(err))
				require.ErrorContains(t, err, c.says)
				require.Equal(t, fault.EffectUnknown, retryOf(t, err).Effect)
				if c.kind == fault.KindNotFound {
					require.ErrorContains(t, err, "new_cart")
				}
			})
		})
	}
}

// TestAnUpdateOfWhatIsDeletedMeanwhile does not bring it back.
func TestAnUpdateOfWhatIsDeletedMeanwhile(t *testing.T) {
	mw := state.New(nil)
	h := begin(t, mw, "alice", cart{})
	tries := 0
	require.Equal(t, fault.KindNotFound, kindOf(do(t, mw, "alice", h, func(ctx context.Context) error {
		return state.Update(ctx, func(c *cart) error {
			tries++
			require.NoError(t, do(t, mw, "alice", h, state.Delete))
			c.Count++
			return nil
		})
	})))
	require.Equal(t, 1, tries)
	_, err := look(t, mw, "alice", h)
	require.Equal(t, fault.KindNotFound, kindOf(err))
}

// TestTheLargestValue is one that is as large as it may be, as it is written.
func TestTheLargestValue(t *testing.T) {
	mw := state.New(&state.Options{Limits: state.Limits{ValueBytes: 100}})
	frame := len(`{"items":[""]}`)
	for size, fits := range map[int]bool{100: true, 101: false} {
		err := put(t, mw, "alice", size-frame)
		require.Equal(t, fits, err == nil, size)
	}
}

// TestASessionHasAValue proves that each session over HTTP of before 2026-07-28 has its own, also
// of one owner.
func TestASessionHasAValue(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	server.AddTool(&mcp.Tool{Name: "count", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var n int
		err := state.Update(ctx, func(c *cart) error { c.Count++; n = c.Count; return nil })
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(n)}}}, err
	})
	server.AddReceivingMiddleware(state.New(&state.Options{Owner: func(context.Context, mcp.Request) string { return "alice" }}))
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	var sessions [2]*mcp.ClientSession
	for i := range sessions {
		s, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: web.URL}, speak.Version("2025-11-25"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = s.Close() })
		sessions[i] = s
	}
	for _, c := range []struct {
		session int
		want    string
	}{{0, "1"}, {0, "2"}, {1, "1"}, {0, "3"}, {1, "2"}} {
		res, err := sessions[c.session].CallTool(t.Context(), &mcp.CallToolParams{Name: "count"})
		require.NoError(t, err)
		require.Equal(t, c.want, res.Content[0].(*mcp.TextContent).Text)
	}
}

func TestWithoutAHandle(t *testing.T) {
	mw := state.New(&state.Options{NewTool: "new_cart"})
	_, err := look(t, mw, "alice", "")
	require.Equal(t, fault.KindValidation, kindOf(err))
	require.ErrorContains(t, err, "call new_cart")
	for _, args := range []string{`{"handle":7}`, `{"handle":["x"]}`} {
		req := request("alice", "")
		req.Params.Arguments = json.RawMessage(args)
		res, err := mw(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			_, err := state.From[cart](ctx)
			require.Equal(t, fault.KindValidation, kindOf(err))
			return nil, err
		})(t.Context(), "tools/call", req)
		require.NoError(t, err)
		require.True(t, res.(*mcp.CallToolResult).IsError)
	}

	// Nobody is authenticated, and there is no session: what to configure stands in the
	// cause, which is for the log.
	var inner error
	req := request("", "x")
	res, err := mw(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		_, inner = state.From[cart](ctx)
		return nil, inner
	})(t.Context(), "tools/call", req)
	require.NoError(t, err)
	require.True(t, res.(*mcp.CallToolResult).IsError)
	require.ErrorContains(t, errors.Unwrap(inner), "set Options.Owner")
	require.NotContains(t, inner.Error(), "Options.Owner")

	_, err = state.From[cart](t.Context())
	require.ErrorContains(t, err, "state.From: the context does not come from a call that passed the middleware of state.New")
}

// TestAConnectionHasAValue proves that a server over a pipe needs no handle, and that
// two connections have nothing in common.
func TestAConnectionHasAValue(t *testing.T) {
	shared := store.NewMemory(nil)
	count := func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		var n int
		err := state.Update(ctx, func(c *cart) error { c.Count++; n = c.Count; return nil })
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(n)}}}, err
	}
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		start := func() *harness.Session {
			return harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
				Handlers: map[string]harness.Handler{"count": count}, Middleware: []mcp.Middleware{state.New(&state.Options{Store: shared})},
			})
		}
		a, b := start(), start()
		require.Equal(t, "1", a.Call(t, "count").Text())
		require.Equal(t, "2", a.Call(t, "count").Text())
		require.Equal(t, "1", b.Call(t, "count").Text())
		require.Equal(t, "3", a.Call(t, "count").Text())
	}
}

func TestProgrammersErrors(t *testing.T) {
	for want, wrong := range map[string]func(){
		"state.New: Options.Expiry is negative; leave it zero for the default":            func() { state.New(&state.Options{Expiry: -1}) },
		"state.New: Options.Limits.ValueBytes is negative; leave it zero for the default": func() { state.New(&state.Options{Limits: state.Limits{ValueBytes: -1}}) },
	} {
		require.PanicsWithValue(t, want, wrong)
	}
}
