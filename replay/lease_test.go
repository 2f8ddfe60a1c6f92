package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/store"
)

// notDead fails for words that invite a second effect of a call that may still run.
func notDead(t *testing.T, f *fault.Error) {
	t.Helper()
	require.NotContains(t, f.Message(), "ended without")
	require.NotContains(t, f.Suggestion(), "call again with a new key")
	require.Contains(t, f.Message(), "not known")
	retry, _ := f.Retry()
	require.False(t, retry.ShouldRetry)
	require.Equal(t, fault.EffectUnknown, retry.Effect)
}

// TestTheStoreIsAwayForLongerThanALease, out of reach of a server whose handler runs: nobody reads that
// the call has ended, and it is its own again as soon as the store is back.
func TestTheStoreIsAwayForLongerThanALease(t *testing.T) {
	for name, away := range map[string]time.Duration{"a little longer": 16 * time.Second, "much longer": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := store.NewMemory(nil)
				cut := &severed{Store: shared}
				end := make(chan struct{})
				slow := bank{answer: func(context.Context) (*mcp.CallToolResult, error) { <-end; return text("paid"), nil }}
				first := slow.server(owned(replay.Options{Store: cut}))
				answered := make(chan string)
				go answer(t, first, answered)
				synctest.Wait()
				cut.cut.Store(true)
				time.Sleep(away)

				var b bank
				opts := owned(replay.Options{Store: shared, Wait: -1})
				other := b.server(opts)
				f := refused(t, other, request("k", `{}`))
				require.Equal(t, "KEY_UNKNOWN_END", f.Code())
				notDead(t, f)

				cut.cut.Store(false)
				time.Sleep(2 * time.Second)
				require.Equal(t, "KEY_IN_USE", refused(t, other, request("k", `{}`)).Code(), "it runs")
				time.Sleep(time.Minute)
				require.Equal(t, "KEY_IN_USE", refused(t, other, request("k", `{}`)).Code(), "it still runs")
				close(end)
				require.Equal(t, "paid", <-answered)
				require.Equal(t, "paid", says(t, other, "k", `{}`))
				require.Zero(t, b.paid.Load())
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestARecordThatTheStoreLost is written again while the handler runs.
func TestARecordThatTheStoreLost(t *testing.T) {
	for name, end := range map[string]struct {
		answer func() (*mcp.CallToolResult, error)
		runs   int64
	}{
		"answered":        {func() (*mcp.CallToolResult, error) { return text("payment 1"), nil }, 1},
		"changed nothing": {func() (*mcp.CallToolResult, error) { return nil, fault.Invalid("amount", 1, "more") }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lossy := &replaced{}
				lossy.now.Store(store.NewMemory(nil))
				var b bank
				b.answer = func(context.Context) (*mcp.CallToolResult, error) {
					if b.paid.Load() > 1 {
						return text("payment 2"), nil
					}
					time.Sleep(time.Minute)
					return end.answer()
				}
				server := b.server(owned(replay.Options{Store: lossy, Wait: -1}))
				done := make(chan string)
				go answer(t, server, done)
				time.Sleep(time.Second)
				lossy.now.Store(store.NewMemory(nil))
				time.Sleep(10 * time.Second)
				require.Equal(t, "KEY_IN_USE", refused(t, server, request("k", `{}`)).Code())
				<-done
				_ = call(t, server, request("k", `{}`))
				require.Equal(t, end.runs, b.paid.Load())
			})
		})
	}
}

// TestARecordThatAnotherAttemptHasTaken, which it does where a second run does no harm, stays with that one.
func TestARecordThatAnotherAttemptHasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := store.NewMemory(nil)
		cut := &severed{Store: shared}
		slow := slowly(2*time.Minute, "first")
		again := replay.Options{Rerun: func(string) bool { return true }, Wait: -1}
		again.Store = cut
		first := slow.server(owned(again))
		answered := make(chan string)
		go answer(t, first, answered)
		synctest.Wait()
		cut.cut.Store(true)
		time.Sleep(20 * time.Second)

		again.Store = shared
		quick := slowly(20*time.Second, "second")
		second := quick.server(owned(again))
		go answer(t, second, answered)
		synctest.Wait()
		cut.cut.Store(false)
		time.Sleep(10 * time.Second)
		require.Equal(t, "KEY_IN_USE", refused(t, first, request("k", `{}`)).Code())
		require.Equal(t, "second", <-answered)
		require.Equal(t, "second", says(t, first, "k", `{}`))
		require.Equal(t, "first", <-answered)
		for _, server := range []mcp.MethodHandler{first, second} {
			require.Equal(t, "second", says(t, server, "k", `{}`), "it is not written over")
		}
		require.EqualValues(t, 1, slow.paid.Load())
		require.EqualValues(t, 1, quick.paid.Load())
		time.Sleep(time.Minute)
	})
}

// TestAnAnswerOfTheStoreThatIsLostWhileTheLeaseIsTakenAgain: the next try finds what the first one did.
func TestAnAnswerOfTheStoreThatIsLostWhileTheLeaseIsTakenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &replaced{}
		shared.now.Store(store.NewMemory(nil))
		h := &hooked{Store: shared}
		var lose atomic.Int32
		h.swap = func(key string, old store.Version, value []byte) error {
			if lose.Load() > 0 && lose.Add(-1) >= 0 {
				_, _, _ = shared.Swap(t.Context(), key, old, value, 15*time.Second)
				return errSevered
			}
			return nil
		}
		var b bank
		b.answer = func(context.Context) (*mcp.CallToolResult, error) { time.Sleep(time.Minute); return text("paid"), nil }
		server := b.server(owned(replay.Options{Store: h, Wait: -1}))
		answered := make(chan string)
		go answer(t, server, answered)
		synctest.Wait()
		shared.now.Store(store.NewMemory(nil)) // all is lost, and so are the next answers
		lose.Store(2)
		time.Sleep(20 * time.Second)
		require.Equal(t, "KEY_IN_USE", refused(t, server, request("k", `{}`)).Code())
		require.Equal(t, "paid", <-answered)
		require.Equal(t, "paid", says(t, server, "k", `{}`))
		require.EqualValues(t, 1, b.paid.Load())
	})
}

// TestAHandlerThatWasLeftBehind, or a part of one, has not ended, although its call was answered.
func TestAHandlerThatWasLeftBehind(t *testing.T) {
	hang := func() (int, error) { time.Sleep(time.Hour); return 1, nil }
	limit := deadline.New(&deadline.Options{Limit: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	for name, tc := range map[string]struct {
		grace time.Duration
		mw    []mcp.Middleware
		run   func(ctx context.Context) error
	}{
		"by its client":          {-1, []mcp.Middleware{limit}, func(context.Context) error { _, err := hang(); return err }},
		"by a middleware inside": {0, []mcp.Middleware{ending, limit}, func(context.Context) error { _, err := hang(); return err }},
		"a part of an answer inside": {0, []mcp.Middleware{ending}, func(ctx context.Context) error {
			_, err := degrade.Run(ctx, degrade.Required("bank", new(int), func(context.Context) (int, error) { return hang() }).Write())
			return errors.Join(ctx.Err(), err)
		}},
		"an item inside": {0, []mcp.Middleware{ending}, func(ctx context.Context) error {
			batch.Run(ctx, []int{1}, func(context.Context, int) (int, error) { return hang() }, nil)
			return ctx.Err()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := bank{answer: func(ctx context.Context) (*mcp.CallToolResult, error) { return nil, tc.run(ctx) }}
				server := middleware.Chain(append([]mcp.Middleware{replay.New(owned(replay.Options{Grace: tc.grace}))}, tc.mw...)...)(b.handle)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				_, _ = server(ctx, "tools/call", request("k", `{}`))
				f := refused(t, server, request("k", `{}`))
				require.Equal(t, "KEY_UNKNOWN_END", f.Code())
				notDead(t, f)
				require.EqualValues(t, 1, b.paid.Load())
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// ending ends the context of a call after a second.
func ending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Second, cancel)
		return next(ctx, method, req)
	}
}

// TestWhatIsSaidOfACall: of one without an answer that nobody knows whether it has ended, and of none that
// it changed nothing.
func TestWhatIsSaidOfACall(t *testing.T) {
	idempotent := &mcp.ToolAnnotations{IdempotentHint: true}
	down := func(context.Context) error { return errors.New("the upstream broke the connection") }
	for name, tc := range map[string]struct {
		annotations *mcp.ToolAnnotations
		run         func(ctx context.Context) error
		status      string
		says, not   string
	}{
		"answered":              {nil, func(context.Context) error { return nil }, "done", "get the answer", "new key"},
		"cancelled":             {nil, func(context.Context) error { return context.Canceled }, "unknown_end", "not known whether the call has ended", "call again with a new key"},
		"idempotent, failed":    {idempotent, down, "unknown_end", "The call was made, and no answer of it was kept", "new key"},
		"idempotent, cancelled": {idempotent, func(context.Context) error { return context.Canceled }, "unknown_end", "The call was made", "new key"},
		"idempotent, refused":   {idempotent, func(context.Context) error { return fault.Invalid("a", 1, "2") }, "not_found", "Check whether", "changed nothing"},
		"reads, failed":         {&mcp.ToolAnnotations{ReadOnlyHint: true}, down, "not_found", "Check whether", "changed nothing"},
		"too long to keep":      {nil, nil, "done", "too large to keep", "get the answer"},
		"idempotent, and said it wrote": {idempotent, func(context.Context) error {
			return fault.New(fault.KindServerError, "written, but not noted").WithRetry(fault.Retry{Effect: fault.EffectCommitted})
		}, "unknown_end", "The call was made", "changed nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := &replay.Options{Store: store.NewMemory(nil), Limits: replay.Limits{AnswerBytes: 500}}
			runs := 0
			s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
				Middleware: []mcp.Middleware{replay.New(opts)},
				More: func(server *mcp.Server) {
					replay.AddStatusTool(server, opts)
					server.AddTool(&mcp.Tool{Name: "it", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: tc.annotations}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						runs++
						if tc.run == nil {
							return text(string(make([]byte, 1000))), nil
						}
						return text("fine"), tc.run(ctx)
					})
				},
			})
			_, _ = s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "it", Meta: mcp.Meta{specKey: "k"}})
			res := s.CallTool(t.Context(), "call_status", map[string]any{"tool": "it", "key": "k"}).Tool()
			require.False(t, res.IsError)
			raw, err := json.Marshal(res.StructuredContent)
			require.NoError(t, err)
			var out struct{ Status, Advice string }
			require.NoError(t, json.Unmarshal(raw, &out))
			require.Equal(t, tc.status, out.Status)
			require.Contains(t, out.Advice, tc.says)
			require.NotContains(t, out.Advice, tc.not)
			require.NotContains(t, out.Advice, "changed nothing")
			_, _ = s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "it", Meta: mcp.Meta{specKey: "k"}})
			if tc.annotations != nil {
				require.Equal(t, 2, runs, "a second run does no harm")
			} else {
				require.Equal(t, 1, runs)
			}
		})
	}
}

// answer sends the text of the answer to a call under the key, or its error.
func answer(t testing.TB, server mcp.MethodHandler, to chan<- string) {
	t.Helper()
	res, err := server(t.Context(), "tools/call", request("k", `{}`))
	if tool, ok := res.(*mcp.CallToolResult); ok && len(tool.Content) > 0 {
		to <- tool.Content[0].(*mcp.TextContent).Text
		return
	}
	to <- fmt.Sprint(err)
}
