package replay_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/store"
)

// payTo is a call with a key, after which the caller gets nil or is refused.
func payTo(t testing.TB, server mcp.MethodHandler, owner, key string) *fault.Error {
	t.Helper()
	res := call(t, server, as(owner, request(key, `{}`)))
	if !res.IsError {
		return nil
	}
	f, ok := res.Meta["io.github.mcpchain/error"].(*fault.Error)
	require.True(t, ok)
	return f
}

// waitOf returns the wait of a refusal, which says that nothing was changed.
func waitOf(t testing.TB, f *fault.Error) time.Duration {
	t.Helper()
	retry, ok := f.Retry()
	require.True(t, ok)
	require.True(t, retry.ShouldRetry)
	require.Equal(t, fault.EffectNone, retry.Effect)
	return time.Duration(retry.RetryAfterSeconds * float64(time.Second))
}

func largeAnswers(size int) *bank {
	return &bank{answer: func(context.Context) (*mcp.CallToolResult, error) { return text(strings.Repeat("x", size)), nil }}
}

// TestOneOwnerDoesNotFillTheStoreOfAll has an owner whose answers are large, on two servers with the
// default store: its calls are refused with a wait that is true, and other owners are not affected.
func TestOneOwnerDoesNotFillTheStoreOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := largeAnswers(255_000)
		shared := store.NewMemory(nil)
		servers := []mcp.MethodHandler{b.server(owned(replay.Options{Store: shared})), b.server(owned(replay.Options{Store: shared}))}
		var told *fault.Error
		kept := 0
		for told == nil {
			require.Less(t, kept, 40)
			if told = payTo(t, servers[kept%2], "alice", fmt.Sprint(kept)); told == nil {
				kept++
			}
			time.Sleep(time.Minute)
		}
		require.InDelta(t, (8<<20)/255_500, kept, 1)
		require.EqualValues(t, kept, b.paid.Load(), "the refused call did not run")
		require.Equal(t, fault.KindRateLimited, told.Kind())
		require.Equal(t, "TOO_MANY_BYTES", told.Code())
		require.Contains(t, told.Error(), "the kept answers to earlier calls with idempotency keys take all the room that one caller has")
		wait := waitOf(t, told)
		require.Equal(t, 24*time.Hour-time.Duration(kept)*time.Minute, wait, "until the first of them ends")

		require.Nil(t, payTo(t, servers[0], "alice", "0"), "those that are kept are repeated")
		require.EqualValues(t, kept, b.paid.Load())
		for i := range 20 {
			require.Nil(t, payTo(t, servers[i%2], "bob", fmt.Sprint(i)))
		}
		time.Sleep(wait - time.Minute - time.Second)
		require.Equal(t, time.Second, waitOf(t, payTo(t, servers[0], "alice", "more")))
		time.Sleep(time.Second)
		require.Nil(t, payTo(t, servers[1], "alice", "more"))
	})
}

// TestBytesOfAnOwnerHoldForCallsAtTheSameTime begins many calls before one of them ends: of an
// answer without room, only that the call was made is kept.
func TestBytesOfAnOwnerHoldForCallsAtTheSameTime(t *testing.T) {
	const calls, size, most = 40, 10_000, 100_000
	begun := make(chan struct{}, calls)
	goOn := make(chan struct{})
	b := bank{answer: func(context.Context) (*mcp.CallToolResult, error) {
		begun <- struct{}{}
		<-goOn
		return text(strings.Repeat("x", size)), nil
	}}
	weighed := &weighed{Store: store.NewMemory(nil), sizes: map[string]int{}}
	opts := owned(replay.Options{Store: weighed, Limits: replay.Limits{OwnerBytes: most}})
	server := b.server(opts)
	var work sync.WaitGroup
	for i := range calls {
		work.Go(func() { require.Nil(t, payTo(t, server, "alice", fmt.Sprint(i)), "its caller gets the answer") })
	}
	for range calls {
		<-begun
	}
	close(goOn)
	work.Wait()
	require.LessOrEqual(t, weighed.most, most)
	kept := 0
	for i := range calls {
		f := payTo(t, server, "alice", fmt.Sprint(i))
		if f == nil {
			kept++
			continue
		}
		require.Equal(t, "KEY_ANSWER_NOT_KEPT", f.Code())
	}
	require.Positive(t, kept)
	require.Less(t, kept, calls)
	require.EqualValues(t, calls, b.paid.Load(), "each ran once")
}

// weighed notes how much stands under the keys of answers.
type weighed struct {
	store.Store

	mu    sync.Mutex
	sizes map[string]int
	most  int
}

func (w *weighed) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	item, ok, err := w.Store.Swap(ctx, key, old, value, ttl)
	if ok && !strings.HasSuffix(key, "/live") {
		w.sizes[key] = store.Overhead + len(key) + len(value)
		sum := 0
		for _, size := range w.sizes {
			sum += size
		}
		w.most = max(w.most, sum)
	}
	return item, ok, err
}

// TestKeysOfCallsThatRanNothing: they do not count, and the wait for those that do is true.
func TestKeysOfCallsThatRanNothing(t *testing.T) {
	ends := map[string]func(context.Context) (*mcp.CallToolResult, error){
		"rate limited": func(context.Context) (*mcp.CallToolResult, error) {
			return nil, fault.RateLimited("the bank", time.Second)
		},
		"a request for input": func(context.Context) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{Message: "sure?"}}}, nil
		},
	}
	for name, end := range ends {
		for _, keep := range []time.Duration{10 * time.Minute, 48 * time.Hour} {
			t.Run(fmt.Sprint(name, " ", keep), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := bank{answer: end}
					server := b.server(owned(replay.Options{Keep: keep, Limits: replay.Limits{KeysPerOwner: 3, OwnerBytes: 30_000}}))
					for i := range 100 {
						_, err := server(t.Context(), "tools/call", request(fmt.Sprint("nothing", i), `{}`))
						require.NoError(t, err)
					}
					require.EqualValues(t, 100, b.paid.Load(), "none was refused")
					b.answer = nil
					for i := range 3 {
						require.Nil(t, payTo(t, server, "alice", fmt.Sprint(i)))
						time.Sleep(time.Minute)
					}
					f := payTo(t, server, "alice", "more")
					require.Equal(t, "TOO_MANY_KEYS", f.Code())
					wait := waitOf(t, f)
					require.Equal(t, keep-3*time.Minute, wait)
					time.Sleep(wait - time.Second)
					require.Equal(t, time.Second, waitOf(t, payTo(t, server, "alice", "more")))
					time.Sleep(time.Second)
					require.Nil(t, payTo(t, server, "alice", "more"))
					require.Equal(t, "TOO_MANY_KEYS", payTo(t, server, "alice", "again").Code(), "the second one stands for a minute more")
				})
			})
		}
	}
}

// TestAStoreThatIsFull says when there will be room.
func TestAStoreThatIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bank
		shared := store.NewMemory(&store.MemoryOptions{MaxBytes: 40_000})
		for i := range 4 {
			_, ok, err := shared.Swap(t.Context(), fmt.Sprint(i), 0, make([]byte, 9600), time.Duration(i+1)*10*time.Minute)
			require.NoError(t, err)
			require.True(t, ok)
		}
		server := b.server(owned(replay.Options{Store: shared}))
		f := payTo(t, server, "alice", "k")
		require.Equal(t, fault.KindServiceUnavailable, f.Kind())
		require.Contains(t, f.Error(), "the store of idempotency keys is full")
		wait := waitOf(t, f)
		require.Equal(t, 10*time.Minute, wait)
		time.Sleep(wait)
		require.Nil(t, payTo(t, server, "alice", "k"))
		require.EqualValues(t, 1, b.paid.Load())
	})
}

// TestAStoreThatIsFullWhenTheHandlerHasEnded keeps that the call was made, and nothing more.
func TestAStoreThatIsFullWhenTheHandlerHasEnded(t *testing.T) {
	for _, why := range []error{store.ErrFull, store.ErrManyBytes, store.ErrTooLarge} {
		b := largeAnswers(10_000)
		tight := &tight{Store: store.NewMemory(nil), err: why}
		server := b.server(owned(replay.Options{Store: tight}))
		require.Nil(t, payTo(t, server, "alice", "k"))
		f := payTo(t, server, "alice", "k")
		require.Equal(t, "KEY_ANSWER_NOT_KEPT", f.Code())
		require.Contains(t, f.Error(), "its answer was too large to keep")
		require.EqualValues(t, 1, b.paid.Load())
	}
}

// tight has no room for what is large, until it is open.
type tight struct {
	store.Store

	err  error
	open atomic.Bool
}

func (s *tight) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	if len(value) > 5000 && !s.open.Load() {
		return store.Item{}, false, s.err
	}
	return s.Store.Swap(ctx, key, old, value, ttl)
}

// TestAWithdrawnRecordIsNone proves that a key whose call ran nothing, because the store did not say
// whether its record was written, may be used with other arguments.
func TestAWithdrawnRecordIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, wait := range []time.Duration{5 * time.Second, 2 * time.Minute} { // the withdrawn record stands for a minute
			var b bank
			s := &severed{Store: store.NewMemory(nil)}
			s.wrote.Store(true)
			s.after.Store(2) // the look and the lease; then the record is written, and the answer lost
			server := b.server(owned(replay.Options{Store: s}))
			require.Equal(t, fault.KindServiceUnavailable, refused(t, server, request("k", `{"amount":1}`)).Kind())
			s.after.Store(0)
			time.Sleep(wait)
			require.Equal(t, "payment 1", says(t, server, "k", `{"amount":2}`))
			require.Equal(t, "KEY_REUSED", refused(t, server, request("k", `{"amount":1}`)).Code(), "and then it is used")
			require.Equal(t, "payment 1", says(t, server, "k", `{"amount":2}`))
			time.Sleep(2 * time.Minute)
		}
	})
}

// TestAWithdrawalLeavesAnothersRecord: a server that wrote nothing, and comes back after its lease is
// over, does not take away the record of the one that runs the call meanwhile.
func TestAWithdrawalLeavesAnothersRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := slowly(time.Minute, "paid")
		shared := store.NewMemory(nil)
		cut := &severed{Store: shared}
		cut.after.Store(2)
		slow := b.server(owned(replay.Options{Store: cut}))
		require.Equal(t, fault.KindServiceUnavailable, refused(t, slow, request("k", `{}`)).Kind())

		var work sync.WaitGroup
		other := b.server(owned(replay.Options{Store: shared}))
		work.Go(func() { require.Equal(t, "paid", says(t, other, "k", `{}`)) })
		time.Sleep(20 * time.Second) // the lease of the first is over, and the other one runs the call
		require.EqualValues(t, 1, b.paid.Load())
		cut.after.Store(0)
		time.Sleep(10 * time.Second) // the first withdraws
		work.Wait()
		require.Equal(t, "paid", says(t, other, "k", `{}`))
		require.EqualValues(t, 1, b.paid.Load(), "once")
		time.Sleep(2 * time.Minute)
		require.Equal(t, "paid", says(t, other, "k", `{}`), "nor later")
		require.EqualValues(t, 1, b.paid.Load())
	})
}
