package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/store"
)

const specKey = "io.modelcontextprotocol/idempotencyKey"

// A bank is a handler that counts its payments. One bank may stand behind several
// servers.
type bank struct {
	paid    atomic.Int64
	answer  func(ctx context.Context) (*mcp.CallToolResult, error)
	keySeen atomic.Value
}

// slowly returns a bank that takes its time.
func slowly(takes time.Duration, says string) *bank {
	return &bank{answer: func(context.Context) (*mcp.CallToolResult, error) {
		time.Sleep(takes)
		return text(says), nil
	}}
}

func (b *bank) handle(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
	n := b.paid.Add(1)
	b.keySeen.Store(replay.Key(ctx))
	if b.answer != nil {
		res, err := b.answer(ctx)
		if res == nil {
			return nil, err
		}
		return res, err
	}
	return text(fmt.Sprintf("payment %d", n)), nil
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func owned(opts replay.Options) *replay.Options {
	opts.Logger = slog.New(slog.DiscardHandler)
	if opts.Owner == nil {
		opts.Owner = func(_ context.Context, req mcp.Request) string {
			owner, _ := req.GetParams().GetMeta()["owner"].(string)
			return owner
		}
	}
	return &opts
}

func (b *bank) server(opts *replay.Options) mcp.MethodHandler { return replay.New(opts)(b.handle) }

// request is a call of the tool "pay" by alice.
func request(key, args string) *mcp.CallToolRequest {
	meta := mcp.Meta{"owner": "alice"}
	if key != "" {
		meta[specKey] = key
	}
	return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "pay", Arguments: json.RawMessage(args), Meta: meta}}
}

func as(owner string, req *mcp.CallToolRequest) *mcp.CallToolRequest {
	req.Params.Meta["owner"] = owner
	return req
}

func call(t testing.TB, server mcp.MethodHandler, req *mcp.CallToolRequest) *mcp.CallToolResult {
	t.Helper()
	res, err := server(t.Context(), "tools/call", req)
	require.NoError(t, err)
	tool, ok := res.(*mcp.CallToolResult)
	require.True(t, ok)
	return tool
}

func saysAs(t testing.TB, server mcp.MethodHandler, req *mcp.CallToolRequest) string {
	t.Helper()
	res := call(t, server, req)
	require.NotEmpty(t, res.Content)
	return res.Content[0].(*mcp.TextContent).Text
}

func says(t testing.TB, server mcp.MethodHandler, key, args string) string {
	t.Helper()
	return saysAs(t, server, request(key, args))
}

// refused returns the failure of a call, which stands alone: the first middleware
// renders it.
func refused(t testing.TB, server mcp.MethodHandler, req *mcp.CallToolRequest) *fault.Error {
	t.Helper()
	res := call(t, server, req)
	require.True(t, res.IsError, "%v", res.Content)
	f, ok := res.Meta["io.github.mcpchain/error"].(*fault.Error)
	require.True(t, ok)
	return f
}

func TestARepetitionGetsTheFirstAnswer(t *testing.T) {
	var b bank
	shared := store.NewMemory(nil)
	first, second := b.server(owned(replay.Options{Store: shared})), b.server(owned(replay.Options{Store: shared}))
	require.Equal(t, "payment 1", says(t, first, "k", `{"amount":1}`))
	require.Equal(t, "k", b.keySeen.Load())
	for range 3 {
		for _, server := range []mcp.MethodHandler{first, second} {
			require.Equal(t, "payment 1", says(t, server, "k", `{"amount":1}`))
			require.Equal(t, true, call(t, server, request("k", `{"amount":1}`)).Meta["io.github.mcpchain/replayed"])
		}
	}
	require.Equal(t, "payment 2", says(t, second, "other", `{"amount":1}`))
	require.Equal(t, "payment 3", says(t, first, "", `{"amount":1}`), "without a key")
	require.Equal(t, "payment 4", says(t, first, "", `{"amount":1}`))
	require.Empty(t, b.keySeen.Load())
}

func TestAKeyBelongsToItsOwnerAndTool(t *testing.T) {
	var b bank
	server := b.server(owned(replay.Options{}))
	require.Equal(t, "payment 1", says(t, server, "k", ``))
	require.Equal(t, "payment 2", saysAs(t, server, as("bob", request("k", ``))))
	refund := request("k", ``)
	refund.Params.Name = "refund"
	require.Equal(t, "payment 3", saysAs(t, server, refund))
	require.Equal(t, "payment 1", says(t, server, "k", ``))
	require.Equal(t, "payment 2", saysAs(t, server, as("bob", request("k", ``))))

	// Names that would be equal when joined stay different.
	glued := as("alicep", request("k", ``))
	glued.Params.Name = "ay"
	require.Equal(t, "payment 4", saysAs(t, server, glued))
}

func TestWhereTheKeyComesFrom(t *testing.T) {
	var b bank
	server := b.server(owned(replay.Options{}))
	want := says(t, server, "k", `{"key":"ignored"}`)
	ours := request("", `{"key":"ignored"}`)
	ours.Params.Meta["io.github.mcpchain/idempotency_key"] = "k"
	require.Equal(t, want, saysAs(t, server, ours))

	want = says(t, server, "", `{"amount":1}`)
	require.NotEqual(t, want, says(t, server, "", `{"amount":1}`), "no key")

	header := func() *mcp.CallToolRequest {
		req := request("", `{}`)
		req.Extra = &mcp.RequestExtra{Header: http.Header{"Idempotency-Key": {"from-header"}}}
		return req
	}
	want = saysAs(t, server, header())
	require.Equal(t, want, saysAs(t, server, header()))
	require.EqualValues(t, 4, b.paid.Load())
}

func TestKeysThatCannotBeUsed(t *testing.T) {
	var b bank
	server := b.server(owned(replay.Options{}))
	for _, key := range []any{"", 7.0, nil, strings.Repeat("k", 256), "a\nb", "é", "\x7f", map[string]any{}} {
		req := request("", `{}`)
		req.Params.Meta[specKey] = key
		f := refused(t, server, req)
		require.Equal(t, fault.KindValidation, f.Kind(), "%v", key)
	}
	for _, header := range [][]string{{""}, {"a", "b"}, {"a", "a"}} {
		req := request("", `{}`)
		req.Extra = &mcp.RequestExtra{Header: http.Header{"Idempotency-Key": header}}
		require.Equal(t, fault.KindValidation, refused(t, server, req).Kind(), "%v", header)
	}
	require.Zero(t, b.paid.Load())
	require.Equal(t, "payment 1", says(t, server, strings.Repeat("k", 255), `{}`))
}

func TestOtherArgumentsAreAConflict(t *testing.T) {
	var b bank
	server := b.server(owned(replay.Options{}))
	require.Equal(t, "payment 1", says(t, server, "k", `{"amount":10,"to":{"name":"x","iban":"é"}}`))
	for _, same := range []string{
		`{ "to": {"iban":"\u00e9", "name":"x"}, "amount": 10.0 }`, `{"amount":1e1,"to":{"name":"x","iban":"é"}}`,
	} {
		require.Equal(t, "payment 1", says(t, server, "k", same))
	}
	for _, other := range []string{
		``, `{}`, `{"amount":11,"to":{"name":"x","iban":"é"}}`, `{"amount":"10","to":{"name":"x","iban":"é"}}`, `{"amount":10,"to":{"name":"x","iban":"é","more":null}}`,
	} {
		f := refused(t, server, request("k", other))
		require.Equal(t, fault.KindConflict, f.Kind())
		require.Equal(t, "KEY_REUSED", f.Code())
		retry, ok := f.Retry()
		require.True(t, ok)
		require.False(t, retry.ShouldRetry)
		require.Equal(t, fault.EffectNone, retry.Effect)
	}
	require.EqualValues(t, 1, b.paid.Load())
}

// TestWhatIsKept goes through the ways in which a handler may end.
func TestWhatIsKept(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(context.Context) (*mcp.CallToolResult, error)
		runs int64 // of two calls with the key
		code string
	}{
		{"success", nil, 1, ""},
		{"the tool's own failure", func(context.Context) (*mcp.CallToolResult, error) {
			res := text("the account is closed")
			res.IsError = true
			return res, nil
		}, 1, ""},
		{"a failure that changed something", func(context.Context) (*mcp.CallToolResult, error) {
			return nil, fault.New(fault.KindServerError, "paid, but the receipt was not sent").WithRetry(fault.Retry{Effect: fault.EffectCommitted})
		}, 1, ""},
		{"a failure of which nobody knows", func(context.Context) (*mcp.CallToolResult, error) { return nil, errors.New("secret") }, 1, ""},
		// What such an error proves of the step that failed, it does not prove of the steps before.
		{"a step that was refused", func(context.Context) (*mcp.CallToolResult, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		}, 1, ""},
		{"a step that found nothing", func(context.Context) (*mcp.CallToolResult, error) { return nil, fs.ErrNotExist }, 1, ""},
		{"a step that was not allowed", func(context.Context) (*mcp.CallToolResult, error) { return nil, fs.ErrPermission }, 1, ""},
		{"a protocol error", func(context.Context) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: 409, Message: "taken"}
		}, 1, ""},
		{"wrong arguments", func(context.Context) (*mcp.CallToolResult, error) {
			return nil, fault.Invalid("amount", -1, "a positive number")
		}, 2, ""},
		{"denied", func(context.Context) (*mcp.CallToolResult, error) {
			return nil, fault.Generic(fault.KindPermissionDenied)
		}, 2, ""},
		{"rate limited", func(context.Context) (*mcp.CallToolResult, error) {
			return nil, fault.RateLimited("the bank", time.Second)
		}, 2, ""},
		{"nothing was changed", func(context.Context) (*mcp.CallToolResult, error) {
			return nil, fault.Unavailable("the bank").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})
		}, 2, ""},
		{"a request for input", func(context.Context) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{Message: "sure?"}}}, nil
		}, 2, ""},
		{"a failure after which to call again", func(context.Context) (*mcp.CallToolResult, error) {
			return nil, fault.New(fault.KindConflict, "a deployment is running").After(time.Second)
		}, 2, ""},
		{"the same around an error", func(context.Context) (*mcp.CallToolResult, error) {
			return nil, fault.Unavailable("the bank").Because(errors.New("EOF")).After(time.Second)
		}, 1, ""},
		{"a kind alone", func(context.Context) (*mcp.CallToolResult, error) {
			return nil, fault.New(fault.KindServerError, "the answer was lost")
		}, 1, ""},
		{"cancelled", func(context.Context) (*mcp.CallToolResult, error) { return nil, context.Canceled }, 1, "KEY_UNKNOWN_END"},
		{"too large", func(context.Context) (*mcp.CallToolResult, error) { return text(strings.Repeat("x", 300<<10)), nil }, 1, "KEY_ANSWER_NOT_KEPT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bank{answer: c.end}
			server := b.server(owned(replay.Options{}))
			first, firstErr := server(t.Context(), "tools/call", request("k", `{}`))
			again, againErr := server(t.Context(), "tools/call", request("k", `{}`))
			require.Equal(t, c.runs, b.paid.Load())
			if c.code != "" {
				require.Equal(t, c.code, refused(t, server, request("k", `{}`)).Code())
				return
			}
			if public := (*fault.Error)(nil); c.runs == 1 && firstErr != nil && !errors.As(firstErr, &public) && !errors.As(firstErr, new(*jsonrpc.Error)) {
				require.NoError(t, againErr)
				require.NotContains(t, contents(again.(*mcp.CallToolResult))[0], firstErr.Error(), "what nobody worded is not kept")
				return
			}
			require.Equal(t, firstErr, againErr)
			if firstErr == nil {
				a, b := first.(*mcp.CallToolResult), again.(*mcp.CallToolResult)
				require.Equal(t, a.IsError, b.IsError)
				require.Equal(t, contents(a), contents(b))
			}
		})
	}
}

func contents(res *mcp.CallToolResult) (all []string) {
	for _, c := range res.Content {
		raw, _ := c.MarshalJSON()
		line, _, _ := strings.Cut(string(raw), "Reference")
		all = append(all, line)
	}
	return all
}

func TestStructuredAnswersComeBackWhole(t *testing.T) {
	b := bank{answer: func(context.Context) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Meta:              mcp.Meta{"theirs": "kept"},
			Content:           []mcp.Content{&mcp.TextContent{Text: "a"}, &mcp.ImageContent{Data: []byte{0, 1, 255}, MIMEType: "image/png"}},
			StructuredContent: map[string]any{"n": 1.5, "list": []any{"x"}},
		}, nil
	}}
	server := b.server(owned(replay.Options{}))
	first := call(t, server, request("k", `{}`))
	for range 3 {
		again := call(t, server, request("k", `{}`))
		require.Equal(t, "kept", again.Meta["theirs"])
		delete(again.Meta, "io.github.mcpchain/replayed")
		want, err := json.Marshal(first)
		require.NoError(t, err)
		got, err := json.Marshal(again)
		require.NoError(t, err)
		require.JSONEq(t, strings.Replace(string(want), `"resultType":"complete",`, "", 1), strings.Replace(string(got), `"resultType":"complete",`, "", 1))
		again.Content[0].(*mcp.TextContent).Text = "changed by a middleware outside"
		again.Meta["more"] = true
	}
}

func TestDuplicatesJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := slowly(20*time.Second, "paid")
		shared := store.NewMemory(nil)
		servers := []mcp.MethodHandler{b.server(owned(replay.Options{Store: shared})), b.server(owned(replay.Options{Store: shared}))}
		var work sync.WaitGroup
		for i := range 20 {
			work.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				require.Equal(t, "paid", says(t, servers[i%2], "k", `{}`))
			})
		}
		work.Wait()
		require.EqualValues(t, 1, b.paid.Load())
	})
}

func TestDuplicatesAreToldToComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := slowly(time.Minute, "paid")
		shared := store.NewMemory(nil)
		first := b.server(owned(replay.Options{Store: shared}))
		for name, c := range map[string]struct {
			opts replay.Options
			wait time.Duration
		}{"at once": {replay.Options{Wait: -1}, 0}, "after a while": {replay.Options{Wait: 5 * time.Second}, 5 * time.Second}} {
			go func() { _, _ = first(t.Context(), "tools/call", request(name, `{}`)) }()
			synctest.Wait()
			c.opts.Store = shared
			began := time.Now()
			f := refused(t, b.server(owned(c.opts)), request(name, `{}`))
			require.Equal(t, "KEY_IN_USE", f.Code())
			retry, _ := f.Retry()
			require.True(t, retry.ShouldRetry)
			require.InDelta(t, c.wait, time.Since(began), float64(time.Millisecond))
			time.Sleep(2 * time.Minute)
			require.Equal(t, "paid", says(t, first, name, `{}`))
		}
		require.EqualValues(t, 2, b.paid.Load())
	})
}

// TestADuplicateThatWaitedRunsWhatWasForgotten proves that a repetition that waited for a
// call that changed nothing runs the handler itself.
func TestADuplicateThatWaitedRunsWhatWasForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bank
		b.answer = func(context.Context) (*mcp.CallToolResult, error) {
			time.Sleep(time.Second)
			if b.paid.Load() == 1 {
				return nil, fault.RateLimited("the bank", time.Second)
			}
			return text("paid"), nil
		}
		server := b.server(owned(replay.Options{}))
		go func() { _, _ = server(t.Context(), "tools/call", request("k", `{}`)) }()
		synctest.Wait()
		require.Equal(t, "paid", says(t, server, "k", `{}`))
		require.EqualValues(t, 2, b.paid.Load())
	})
}

func TestACallGoesOnWhenItsCallerIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		b := bank{answer: func(ctx context.Context) (*mcp.CallToolResult, error) {
			select {
			case <-time.After(time.Minute):
				return text("paid"), nil
			case <-ctx.Done():
				ended <- context.Cause(ctx)
				return nil, ctx.Err()
			}
		}}
		gone := errors.New("the connection broke")
		leave := func(server mcp.MethodHandler, key string) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(gone) })
			_, _ = server(ctx, "tools/call", request(key, `{}`))
		}
		server := b.server(owned(replay.Options{}))
		leave(server, "goes on")
		require.Equal(t, "paid", says(t, server, "goes on", `{}`))
		require.EqualValues(t, 1, b.paid.Load())

		began := time.Now()
		leave(b.server(owned(replay.Options{Grace: 10 * time.Second})), "limited")
		require.ErrorIs(t, <-ended, gone)
		require.Equal(t, 11*time.Second, time.Since(began))

		began = time.Now()
		leave(b.server(owned(replay.Options{Grace: -1})), "ends with its caller")
		require.ErrorIs(t, <-ended, gone)
		require.Equal(t, time.Second, time.Since(began))
	})
}

// TestAServerThatDies proves what a repetition gets when it is unknown how far the handler
// came.
func TestAServerThatDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := store.NewMemory(nil)
		dying := &severed{Store: shared}
		dead := bank{answer: func(context.Context) (*mcp.CallToolResult, error) {
			dying.cut.Store(true) // from now on nothing that this server does arrives
			time.Sleep(time.Hour)
			return text("nobody hears this"), nil
		}}
		opts := replay.Options{Store: dying}
		for _, key := range []string{"writes", "harmless"} {
			dying.cut.Store(false)
			go func() { _, _ = dead.server(owned(opts))(t.Context(), "tools/call", request(key, `{}`)) }()
			synctest.Wait()
		}
		var b bank
		writes := b.server(owned(replay.Options{Store: shared}))
		began := time.Now()
		f := refused(t, writes, request("writes", `{}`))
		require.Equal(t, "KEY_UNKNOWN_END", f.Code())
		require.InDelta(t, 15*time.Second, time.Since(began), float64(time.Second), "the lease")
		retry, _ := f.Retry()
		require.False(t, retry.ShouldRetry)
		require.Equal(t, fault.EffectUnknown, retry.Effect)
		require.Zero(t, b.paid.Load())

		harmless := b.server(owned(replay.Options{Store: shared, Rerun: func(tool string) bool { return tool == "pay" }}))
		require.Equal(t, "payment 1", says(t, harmless, "harmless", `{}`))
		require.Equal(t, "payment 1", says(t, harmless, "harmless", `{}`))
		time.Sleep(2 * time.Hour)
	})
}

// severed is a store that may be cut off.
type severed struct {
	store.Store

	cut   atomic.Bool
	after atomic.Int64 // cut off after so many calls, if positive
	calls atomic.Int64
	wrote atomic.Bool // what is cut off is the answer, not the call
}

var errSevered = errors.New("connection refused: redis://secret@10.0.0.1")

func (s *severed) gone() bool {
	n := s.calls.Add(1)
	return s.cut.Load() || (s.after.Load() > 0 && n > s.after.Load())
}

func (s *severed) Get(ctx context.Context, key string) (store.Item, error) {
	if s.gone() {
		return store.Item{}, errSevered
	}
	return s.Store.Get(ctx, key)
}

func (s *severed) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	if s.gone() {
		if s.wrote.Load() {
			_, _, _ = s.Store.Swap(ctx, key, old, value, ttl)
		}
		return store.Item{}, false, errSevered
	}
	return s.Store.Swap(ctx, key, old, value, ttl)
}

func (s *severed) Delete(ctx context.Context, key string, old store.Version) (bool, error) {
	if s.gone() {
		return false, errSevered
	}
	return s.Store.Delete(ctx, key, old)
}

func (s *severed) Add(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	if s.gone() {
		return 0, errSevered
	}
	return s.Store.Add(ctx, key, delta, ttl)
}

// TestTheStoreFails cuts the store off before, in the middle of and after each step
// that the middleware makes with it, with and without losing only the answers.
func TestTheStoreFails(t *testing.T) {
	for _, wrote := range []bool{false, true} {
		for steps := range 8 {
			t.Run(fmt.Sprintf("after %d calls, written %v", steps, wrote), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var b bank
					s := &severed{Store: store.NewMemory(nil)}
					s.wrote.Store(wrote)
					s.cut.Store(steps == 0)
					s.after.Store(int64(steps))
					server := b.server(owned(replay.Options{Store: s}))
					res := call(t, server, request("k", `{}`))
					if res.IsError {
						require.Zero(t, b.paid.Load(), "closed: nothing runs without protection")
						raw, _ := json.Marshal(res)
						require.NotContains(t, string(raw), "secret")
						f := refused(t, server, request("k", `{}`))
						require.Equal(t, fault.KindServiceUnavailable, f.Kind())
						retry, _ := f.Retry()
						require.True(t, retry.ShouldRetry)
						require.Equal(t, fault.EffectNone, retry.Effect)
					} else {
						require.EqualValues(t, 1, b.paid.Load())
					}
					time.Sleep(5 * time.Second)
					s.cut.Store(false)
					s.after.Store(0)
					time.Sleep(20 * time.Second) // what was late has arrived, what was lost has expired
					require.Equal(t, "payment 1", says(t, server, "k", `{}`))
					require.Equal(t, "payment 1", says(t, server, "k", `{}`))
					require.EqualValues(t, 1, b.paid.Load())
					time.Sleep(2 * time.Minute)
				})
			})
		}
	}
}

// tardy is a store to which some writes come late, after they returned an error to their
// callers.
type tardy struct {
	store.Store

	late atomic.Int32
}

func (s *tardy) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	if !strings.HasSuffix(key, "/live") && s.late.Add(-1) >= 0 {
		time.AfterFunc(10*time.Second, func() { _, _, _ = s.Store.Swap(context.WithoutCancel(ctx), key, old, value, ttl) })
		return store.Item{}, false, errSevered
	}
	return s.Store.Swap(ctx, key, old, value, ttl)
}

// TestAWriteThatComesLate proves that a record which arrives after its attempt has
// failed is not taken for a call that ran.
func TestAWriteThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, wait := range []time.Duration{time.Second, 20 * time.Second} {
			var b bank
			s := &tardy{Store: store.NewMemory(nil)}
			s.late.Store(1)
			server := b.server(owned(replay.Options{Store: s}))
			require.Equal(t, fault.KindServiceUnavailable, refused(t, server, request("k", `{}`)).Kind())
			time.Sleep(wait)
			require.Equal(t, "payment 1", says(t, server, "k", `{}`))
			time.Sleep(20 * time.Second)
			require.Equal(t, "payment 1", says(t, server, "k", `{}`))
			require.EqualValues(t, 1, b.paid.Load())
		}
	})
}

func TestWithoutStoreIsTheUsersChoice(t *testing.T) {
	var b bank
	s := &severed{}
	s.cut.Store(true)
	server := b.server(owned(replay.Options{Store: s, WithoutStore: true}))
	require.Equal(t, "payment 1", says(t, server, "k", `{}`))
	require.Equal(t, "payment 2", says(t, server, "k", `{}`))
}

// A lock is a cipher that opens what its own secret has sealed.
type lock struct{ secret byte }

func (l *lock) Seal(_ string, text []byte) ([]byte, error) {
	return append([]byte{l.secret}, text...), nil
}

func (l *lock) Open(_ string, sealed []byte) ([]byte, error) {
	if sealed[0] != l.secret {
		return nil, errors.New("another secret")
	}
	return sealed[1:], nil
}

// TestARecordThatCannotBeRead proves that the key was used: nothing runs under it, although calls would run
// without the store.
func TestARecordThatCannotBeRead(t *testing.T) {
	for name, secret := range map[string]byte{"another secret": 2, "no JSON": 1} {
		t.Run(name, func(t *testing.T) {
			var b bank
			h := &hooked{Store: store.NewMemory(nil)}
			cipher := &lock{1}
			server := b.server(owned(replay.Options{Store: h, Cipher: cipher, WithoutStore: true}))
			require.Equal(t, "payment 1", says(t, server, "k", `{}`))
			if cipher.secret = secret; secret == 1 {
				h.Store = torn{h.Store}
			}
			for _, blind := range []int32{0, 1} { // it is found by the look, or when the call begins
				h.blind.Store(blind)
				require.Equal(t, fault.KindServiceUnavailable, refused(t, server, request("k", `{}`)).Kind())
			}
			require.EqualValues(t, 1, b.paid.Load())
		})
	}
}

// torn is a store whose records are cut off.
type torn struct{ store.Store }

func (s torn) Get(ctx context.Context, key string) (store.Item, error) {
	item, err := s.Store.Get(ctx, key)
	item.Value = item.Value[:min(len(item.Value), 9)]
	return item, err
}

func (s torn) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	item, ok, err := s.Store.Swap(ctx, key, old, value, ttl)
	item.Value = item.Value[:min(len(item.Value), 9)]
	return item, ok, err
}

func TestTheStoreLosesEverything(t *testing.T) {
	var b bank
	shared := store.NewMemory(nil)
	lossy := &replaced{}
	lossy.now.Store(shared)
	b.answer = func(context.Context) (*mcp.CallToolResult, error) {
		lossy.now.Store(store.NewMemory(nil)) // restarted, with nothing
		return text("paid"), nil
	}
	server := b.server(owned(replay.Options{Store: lossy}))
	require.Equal(t, "paid", says(t, server, "k", `{}`))
	require.Equal(t, "paid", says(t, server, "k", `{}`))
	require.EqualValues(t, 1, b.paid.Load(), "the answer is kept though its record was lost")
}

// replaced is a store that may be replaced by another one.
type replaced struct{ now atomic.Pointer[store.Memory] }

func (r *replaced) Get(ctx context.Context, key string) (store.Item, error) {
	return r.now.Load().Get(ctx, key)
}

func (r *replaced) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	return r.now.Load().Swap(ctx, key, old, value, ttl)
}

func (r *replaced) Delete(ctx context.Context, key string, old store.Version) (bool, error) {
	return r.now.Load().Delete(ctx, key, old)
}

func (r *replaced) Add(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	return r.now.Load().Add(ctx, key, delta, ttl)
}

func TestPanicsAndGoexit(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("secret") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			b := bank{answer: func(context.Context) (*mcp.CallToolResult, error) { end(); return nil, nil }}
			server := b.server(owned(replay.Options{}))
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				_, _ = server(t.Context(), "tools/call", request("k", `{}`))
			}()
			<-done
			f := refused(t, server, request("k", `{}`))
			require.Equal(t, "KEY_UNKNOWN_END", f.Code())
			require.EqualValues(t, 1, b.paid.Load())
		})
	}
}

func TestOwners(t *testing.T) {
	var b bank
	server := b.server(nil)
	anonymous := func() *mcp.CallToolRequest {
		req := request("k", `{}`)
		req.Extra = &mcp.RequestExtra{Header: http.Header{}}
		return req
	}
	f := refused(t, server, anonymous())
	require.Equal(t, fault.KindPreconditionFailed, f.Kind())
	require.NotContains(t, f.Error(), "Options")
	require.Zero(t, b.paid.Load())

	user := func(id string) *mcp.CallToolRequest {
		req := anonymous()
		req.Extra.TokenInfo = &auth.TokenInfo{UserID: id}
		return req
	}
	require.Equal(t, "payment 1", saysAs(t, server, user("alice")))
	require.Equal(t, "payment 1", saysAs(t, server, user("alice")))
	require.Equal(t, "payment 2", saysAs(t, server, user("bob")))

	broken := b.server(&replay.Options{Owner: func(context.Context, mcp.Request) string { panic("theirs") }})
	require.Equal(t, fault.KindPreconditionFailed, refused(t, broken, user("alice")).Kind())
}

func TestAnswersExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bank
		server := b.server(owned(replay.Options{Keep: time.Hour}))
		require.Equal(t, "payment 1", says(t, server, "k", `{}`))
		time.Sleep(time.Hour - time.Second)
		require.Equal(t, "payment 1", says(t, server, "k", `{}`))
		time.Sleep(time.Second)
		for range 3 {
			require.Equal(t, "payment 2", says(t, server, "k", `{}`), "the answer before is forgotten in the process, too")
		}
	})
}

// xor is a cipher for tests.
type xor struct{ fails atomic.Bool }

func (x *xor) Seal(name string, text []byte) ([]byte, error) {
	if x.fails.Load() {
		return nil, errSevered
	}
	out := append([]byte(name), text...)
	for i := range out {
		out[i] ^= 0x5a
	}
	return out, nil
}

func (x *xor) Open(name string, sealed []byte) ([]byte, error) {
	out := append([]byte(nil), sealed...)
	for i := range out {
		out[i] ^= 0x5a
	}
	rest, ok := strings.CutPrefix(string(out), name)
	if !ok {
		return nil, errors.New("not of this place")
	}
	return []byte(rest), nil
}

func TestCipher(t *testing.T) {
	b := bank{answer: func(context.Context) (*mcp.CallToolResult, error) { return text("canary"), nil }}
	spy := &spy{Store: store.NewMemory(nil)}
	cipher := &xor{}
	server := b.server(owned(replay.Options{Store: spy, Cipher: cipher}))
	require.Equal(t, "canary", says(t, server, "canary", `{"canary":1}`))
	require.Equal(t, "canary", says(t, server, "canary", `{"canary":1}`))
	require.NotEmpty(t, spy.seen.String())
	require.NotContains(t, spy.seen.String(), "canary")

	cipher.fails.Store(true)
	require.Equal(t, fault.KindServiceUnavailable, refused(t, server, request("new", `{}`)).Kind())
	require.EqualValues(t, 1, b.paid.Load())
}

// TestNothingOfAKeyIsInNames proves that the names in a store reveal neither owners nor
// keys.
func TestNothingOfAKeyIsInNames(t *testing.T) {
	var b bank
	spy := &spy{Store: store.NewMemory(nil)}
	server := b.server(owned(replay.Options{Store: spy}))
	says(t, server, "canary-key", `{"canary":1}`)
	require.NotContains(t, spy.names.String(), "canary")
	require.NotContains(t, spy.names.String(), "alice")
}

// spy notes what is stored.
type spy struct {
	store.Store

	seen, names strings.Builder
}

func (s *spy) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	s.seen.Write(value)
	s.names.WriteString(key)
	return s.Store.Swap(ctx, key, old, value, ttl)
}

func TestInstalledTwice(t *testing.T) {
	var b bank
	server := replay.New(owned(replay.Options{}))(replay.New(owned(replay.Options{}))(b.handle))
	require.Equal(t, "payment 1", says(t, server, "k", `{}`))
	require.Equal(t, "payment 1", says(t, server, "k", `{}`))
}

func TestProgrammersErrors(t *testing.T) {
	for want, opts := range map[string]replay.Options{
		"replay.New: Options.Keep is negative; leave it zero for the default":               {Keep: -1},
		"replay.New: Options.Limits.AnswerBytes is negative; leave it zero for the default": {Limits: replay.Limits{AnswerBytes: -1}},
	} {
		require.PanicsWithValue(t, want, func() { replay.New(&opts) })
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	require.Panics(t, func() { replay.AddStatusTool(server, nil) })
}

// TestRerunThatPanics: a function of the program's that panics does not have the handler run again.
func TestRerunThatPanics(t *testing.T) {
	for _, panics := range []bool{false, true} {
		b := bank{answer: func(context.Context) (*mcp.CallToolResult, error) { return nil, errors.New("secret") }}
		server := b.server(owned(replay.Options{Rerun: func(string) bool {
			if panics {
				panic("no tools yet")
			}
			return true
		}}))
		for range 2 {
			res, err := server(t.Context(), "tools/call", request("k", `{}`))
			_, failed := middleware.FaultOf(res, err)
			require.True(t, failed)
		}
		require.Equal(t, map[bool]int64{false: 2, true: 1}[panics], b.paid.Load())
	}
}
