package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
	inner "github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/store"
)

// What a caller sent, and what ran.
const (
	sent = `{"amount":"5"}`
	ran  = `{"amount":5}`
)

// mends has the handler of a bank run with the amount as a number, as package validate would.
func (b *bank) mends(answer func(ctx context.Context) (*mcp.CallToolResult, error)) *bank {
	b.answer = func(ctx context.Context) (*mcp.CallToolResult, error) {
		c := inner.FromContext(ctx)
		if string(inner.ArgumentsOf(c.Request())) == sent {
			c.NoteMended(json.RawMessage(ran), []wire.Change{{Argument: "amount", Kind: "text_to_number"}})
		}
		return answer(ctx)
	}
	return b
}

// TestMendedArgumentsAreThoseThatWereSent: either form gets the first answer, on each server, and a third
// one is a conflict.
func TestMendedArgumentsAreThoseThatWereSent(t *testing.T) {
	var b bank
	b.mends(func(context.Context) (*mcp.CallToolResult, error) { return text("paid"), nil })
	shared := store.NewMemory(nil)
	first, second := b.server(owned(replay.Options{Store: shared})), b.server(owned(replay.Options{Store: shared}))
	require.Equal(t, "paid", says(t, first, "k", sent))
	for _, args := range []string{ran, sent, `{ "amount" : 5.0 }`} {
		require.Equal(t, true, call(t, second, request("k", args)).Meta["io.github.mcpchain/replayed"])
	}
	require.Equal(t, "KEY_REUSED", refused(t, second, request("k", `{"amount":6}`)).Code())
	require.EqualValues(t, 1, b.paid.Load())

	require.Equal(t, "paid", says(t, first, "mended first", ran))
	require.Equal(t, "KEY_REUSED", refused(t, first, request("mended first", sent)).Code(), "nobody mended them yet")
	require.Equal(t, "paid", says(t, first, "mended first", ran))
}

// TestMendedArgumentsWhileTheCallRuns: a repetition with them waits.
func TestMendedArgumentsWhileTheCallRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bank
		b.mends(func(context.Context) (*mcp.CallToolResult, error) {
			time.Sleep(75 * time.Second)
			return text("paid"), nil
		})
		server := b.server(owned(replay.Options{}))
		var work sync.WaitGroup
		work.Go(func() { require.Equal(t, "paid", says(t, server, "k", sent)) })
		synctest.Wait()
		for _, args := range []string{ran, sent} {
			require.Equal(t, "KEY_IN_USE", refused(t, server, request("k", args)).Code())
		}
		work.Go(func() { require.Equal(t, "paid", says(t, server, "k", ran)) })
		work.Wait()
		require.EqualValues(t, 1, b.paid.Load())
	})
}

// TestMendedArgumentsAfterACrash: the next server knows both forms, and the one after it too, whichever ran again.
func TestMendedArgumentsAfterACrash(t *testing.T) {
	for _, again := range []bool{false, true} {
		for _, args := range []string{ran, sent} {
			t.Run(fmt.Sprint(again, args), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					shared := store.NewMemory(nil)
					dying := &severed{Store: shared}
					var dead, b bank
					dead.mends(func(context.Context) (*mcp.CallToolResult, error) {
						dying.cut.Store(true)
						time.Sleep(3 * time.Hour)
						return nil, errors.New("gone")
					})
					go func() {
						_, _ = dead.server(owned(replay.Options{Store: dying}))(t.Context(), "tools/call", request("k", sent))
					}()
					time.Sleep(time.Minute)
					server := b.server(owned(replay.Options{Store: shared, Rerun: func(string) bool { return again }}))
					require.Equal(t, "KEY_REUSED", refused(t, server, request("k", `{"amount":6}`)).Code())
					defer time.Sleep(4 * time.Hour)
					if !again {
						require.Equal(t, "KEY_UNKNOWN_END", refused(t, server, request("k", args)).Code())
						return
					}
					b.answer = func(context.Context) (*mcp.CallToolResult, error) { return text("again"), nil } // nothing is mended
					for _, either := range []string{args, sent, ran} {
						require.Equal(t, "again", says(t, server, "k", either))
					}
					require.EqualValues(t, 1, b.paid.Load())
				})
			})
		}
	}
}

// TestMendedArgumentsThatTheStoreDidNotTake are written with the answer, and the call is not held up for long.
func TestMendedArgumentsThatTheStoreDidNotTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		h := &hooked{Store: store.NewMemory(nil)}
		h.swap = func(string, store.Version, []byte) error {
			if away.Load() {
				return errSevered
			}
			return nil
		}
		var b bank
		b.mends(func(context.Context) (*mcp.CallToolResult, error) { away.Store(false); return text("paid"), nil })
		server := replay.New(owned(replay.Options{Store: h}))(func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			away.Store(true)
			return b.handle(ctx, method, req)
		})
		require.Equal(t, "paid", says(t, server, "k", sent))
		require.Equal(t, "paid", says(t, server, "k", ran))
		require.EqualValues(t, 1, b.paid.Load())
	})
}

// TestMendedArgumentsWithoutTheirAnswer, which found no room, are still those of the call.
func TestMendedArgumentsWithoutTheirAnswer(t *testing.T) {
	var b bank
	b.mends(func(context.Context) (*mcp.CallToolResult, error) { return text(strings.Repeat("x", 10_000)), nil })
	server := b.server(owned(replay.Options{Store: &tight{Store: store.NewMemory(nil), err: store.ErrFull}}))
	require.NotEmpty(t, says(t, server, "k", sent))
	for _, args := range []string{sent, ran} {
		require.Equal(t, "KEY_ANSWER_NOT_KEPT", refused(t, server, request("k", args)).Code())
	}
}

// TestOnlyAMendedCallPays: without a change of its arguments, nothing more is written.
func TestOnlyAMendedCallPays(t *testing.T) {
	writes := map[string]int{}
	h := &hooked{Store: store.NewMemory(nil)}
	h.swap = func(key string, _ store.Version, _ []byte) error {
		if !isLive(key) {
			writes[key]++
		}
		return nil
	}
	var b bank
	server := b.mends(func(context.Context) (*mcp.CallToolResult, error) { return text("paid"), nil }).server(owned(replay.Options{Store: h}))
	for want, args := range map[int]string{2: ran, 3: sent} {
		clear(writes)
		require.Equal(t, "paid", says(t, server, args, args))
		require.Len(t, writes, 1)
		for _, n := range writes {
			require.Equal(t, want, n)
		}
	}
}

// TestMendedItemsOfAList: the list may be repeated as it was sent and as it ran, and each item is compared exactly.
func TestMendedItemsOfAList(t *testing.T) {
	var mu sync.Mutex
	var paid []string
	fail := true
	mend := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			r, ok := req.(*mcp.CallToolRequest)
			if !ok || r.Params.Name != "pay" {
				return next(ctx, method, req)
			}
			if args := string(r.Params.Arguments); strings.Contains(args, `"5"`) {
				cp, params := *r, *r.Params
				cp.Params, params.Arguments = &params, json.RawMessage(strings.Replace(args, `"5"`, `5`, 1))
				inner.FromContext(ctx).NoteMended(params.Arguments, []wire.Change{{Argument: "amount", Kind: "text_to_number"}})
				req = &cp
			}
			return next(ctx, method, req)
		}
	}
	s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
		More: func(server *mcp.Server) {
			type in struct {
				Amount any `json:"amount"`
			}
			mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
				mu.Lock()
				defer mu.Unlock()
				paid = append(paid, fmt.Sprintf("%T %v", in.Amount, in.Amount))
				if in.Amount == 7.0 && fail {
					return nil, nil, fault.Unavailable("the bank").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})
				}
				return text("paid"), nil, nil
			})
		},
		Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{
			Logger: slog.New(slog.DiscardHandler),
			Replay: replay.New(owned(replay.Options{Owner: func(context.Context, mcp.Request) string { return "alice" }})),
			Batch:  batch.New(&batch.Options{Lists: []batch.List{{Tool: "pay", Item: "amount", As: "pay_all", Run: &batch.RunOptions[json.RawMessage]{Concurrency: 1}}}}),
		}, mend)},
	})
	pay := func(args string) (said string, now []string) {
		t.Helper()
		paid = nil
		res, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay_all", Arguments: json.RawMessage(args), Meta: mcp.Meta{specKey: "k"}})
		require.NoError(t, err)
		return res.Content[0].(*mcp.TextContent).Text, paid
	}
	_, now := pay(`{"amounts":["5",6,7]}`)
	require.Equal(t, []string{"float64 5", "float64 6", "float64 7"}, now)
	_, now = pay(`{"amounts":["5",6,7]}`)
	require.Equal(t, []string{"float64 7"}, now, "it changed nothing")
	_, now = pay(`{"amounts":[5,6,7]}`)
	require.Equal(t, []string{"float64 7"}, now)
	fail = false
	said, now := pay(`{"amounts":[5,"6",7]}`)
	require.Equal(t, []string{"float64 7"}, now)
	require.Contains(t, said, "was used for a call with other arguments", "the second item was not mended")
	_, now = pay(`{"amounts":[5,6,7]}`)
	require.Empty(t, now)
	said, now = pay(`{"amounts":[5,6,8]}`)
	require.Empty(t, now)
	require.Contains(t, said, "was used for a call with other arguments")
}

// TestListsThatDifferAsMendedOnesDo may be equal, and no others.
func TestListsThatDifferAsMendedOnesDo(t *testing.T) {
	of := func(args string) string {
		hash, ok := replay.LooseHashOf(json.RawMessage(args))
		require.True(t, ok)
		return hash
	}
	for mended, sent := range map[string][]string{
		`{"l":[5]}`:          {`{"l":["5"]}`, `{"l":"[5]"}`, `{"l":"[\"5\"]"}`, `{ "l":[5.0], "x":null}`},
		`{"l":[{"a":true}]}`: {`{"l":[{"a":"true"}]}`, `{"l":["{\"a\":true}"]}`, `{"l":[{"a":true,"b":null}]}`},
		`{"l":["00713"]}`:    {`{"l":["00713"]}`},
	} {
		for _, args := range sent {
			require.Equal(t, of(mended), of(args), args)
		}
	}
	other := map[string]bool{}
	for _, args := range []string{`{"l":[5]}`, `{"l":[6]}`, `{"l":[5,6]}`, `{"l":[6,5]}`, `{"l":[5,null]}`, `{"l":"five"}`, `{"l":["00713"]}`, `{"l":[713]}`, `{"l":[1e999]}`} {
		require.False(t, other[of(args)], args)
		other[of(args)] = true
	}
	_, ok := replay.LooseHashOf(json.RawMessage(`{"a":1,"a":2}`))
	require.False(t, ok)
}
