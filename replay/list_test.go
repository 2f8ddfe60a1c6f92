package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/store"
)

// A till has the tool pay, of which it notes the amounts, and two list forms of it.
type till struct {
	mu   sync.Mutex
	paid []string
	keys []string
	fail map[string]error

	owner  func(ctx context.Context, req mcp.Request) string // nil: alice
	slow   string                                            // a payment of this takes an hour
	run    *batch.RunOptions[json.RawMessage]                // nil: one after the other
	limits *limit.Options
}

func (l *till) serve(t *testing.T, opts *replay.Options) *harness.Session {
	opts.Owner = func(context.Context, mcp.Request) string { return "alice" }
	if l.owner != nil {
		opts.Owner = l.owner
	}
	var bound mcp.Middleware
	if l.limits != nil {
		bound = limit.New(l.limits)
	}
	run := &batch.RunOptions[json.RawMessage]{Concurrency: 1}
	if l.run != nil {
		run = l.run
	}
	return harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
		More: func(server *mcp.Server) {
			type in struct {
				Amount string `json:"amount"`
				To     string `json:"to,omitempty"`
			}
			mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(ctx context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.paid, l.keys = append(l.paid, in.Amount), append(l.keys, replay.Key(ctx))
				if l.slow == in.Amount {
					l.mu.Unlock()
					time.Sleep(time.Hour)
					l.mu.Lock()
				}
				if err := l.fail[in.Amount]; err != nil {
					return nil, nil, err
				}
				return text(fmt.Sprint("payment ", len(l.paid))), nil, nil
			})
		},
		Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{
			Logger: slog.New(slog.DiscardHandler), Replay: replay.New(opts), Limit: bound,
			Batch: batch.New(&batch.Options{Lists: []batch.List{
				{Tool: "pay", Item: "amount", As: "pay_all", Run: run}, {Tool: "pay", Item: "amount", As: "pay_each", Run: run},
			}}),
		})},
	})
}

// pay returns the text of an answer, and the amounts that were paid for it.
func (l *till) pay(t *testing.T, s *harness.Session, tool, key, args string) (*mcp.CallToolResult, string, []string) {
	t.Helper()
	l.payments() // an item of an earlier call may still run
	res, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args), Meta: mcp.Meta{specKey: key}})
	require.NoError(t, err)
	require.NotEmpty(t, res.Content)
	return res, res.Content[0].(*mcp.TextContent).Text, l.payments()
}

// payments returns the amounts that were paid since it was called last.
func (l *till) payments() (paid []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	paid, l.paid = l.paid, nil
	return paid
}

// TestNoKeyNamesAnItem: whatever a caller writes as a key, it is not that of an item of a list, nor
// are those of two lists one.
func TestNoKeyNamesAnItem(t *testing.T) {
	for name, key := range map[string]string{"as it once was": "invoice.0", "of two lists": "invoice.0.0", "the key": "invoice", "with a number": "invoice0", "a slash": "invoice/0", "another sign": "invoice#0"} {
		for _, listFirst := range []bool{true, false} {
			t.Run(fmt.Sprint(name, listFirst), func(t *testing.T) {
				var l till
				s := l.serve(t, owned(replay.Options{}))
				list := func() {
					_, _, paid := l.pay(t, s, "pay_all", "invoice", `{"amounts":["1","2"]}`)
					require.Equal(t, []string{"1", "2"}, paid)
				}
				one := func() {
					res, _, paid := l.pay(t, s, "pay", key, `{"amount":"1"}`)
					require.False(t, res.IsError)
					require.Equal(t, []string{"1"}, paid)
				}
				if listFirst {
					list()
					one()
				} else {
					one()
					list()
				}
				_, _, paid := l.pay(t, s, "pay_each", "invoice", `{"amounts":["1","2"]}`)
				require.Equal(t, []string{"1", "2"}, paid, "another list form of the tool")
				seen := map[string]bool{}
				for _, key := range l.keys {
					require.False(t, seen[key], "two effects with one key: %s", key)
					require.LessOrEqual(t, len(key), 255)
					seen[key] = true
				}
				for _, tool := range []string{"pay_all", "pay_each"} {
					_, _, paid = l.pay(t, s, tool, "invoice", `{"amounts":["1","2"]}`)
					require.Empty(t, paid, "it was paid")
				}
				_, _, paid = l.pay(t, s, "pay", key, `{"amount":"1"}`)
				require.Empty(t, paid)
			})
		}
	}
}

// TestAnotherListIsAConflict, as a whole and with the words of a call, and the same one is not.
func TestAnotherListIsAConflict(t *testing.T) {
	var l till
	opts := owned(replay.Options{Store: store.NewMemory(nil)})
	s := l.serve(t, opts)
	_, _, paid := l.pay(t, s, "pay", "one", `{"amount":"1"}`)
	require.Len(t, paid, 1)
	_, wanted, _ := l.pay(t, s, "pay", "one", `{"amount":"2"}`)
	require.Contains(t, wanted, "was used for a call with other arguments")

	_, first, paid := l.pay(t, s, "pay_all", "k", `{"amounts":["1","2"],"to":"bob"}`)
	require.Equal(t, []string{"1", "2"}, paid)
	for name, other := range map[string]string{
		"one more":       `{"amounts":["1","2","3"],"to":"bob"}`,
		"one less":       `{"amounts":["1"],"to":"bob"}`,
		"another order":  `{"amounts":["2","1"],"to":"bob"}`,
		"another one":    `{"amounts":["1","4"],"to":"bob"}`,
		"the rest":       `{"amounts":["1","2"],"to":"ann"}`,
		"without a part": `{"amounts":["1","2"]}`,
	} {
		res, said, paid := l.pay(t, s, "pay_all", "k", other)
		require.Empty(t, paid, name)
		require.True(t, res.IsError, name)
		require.Equal(t, wanted, said, name)
	}
	for _, same := range []string{`{"amounts":["1","2"],"to":"bob"}`, `{ "to":"bob", "amounts":["1", "\u0032"] }`} {
		_, again, paid := l.pay(t, s, "pay_all", "k", same)
		require.Empty(t, paid)
		require.Equal(t, first, again)
	}
	other := l.serve(t, opts)
	res, said, paid := l.pay(t, other, "pay_all", "k", `{"amounts":["1","2"],"to":"eve"}`)
	require.Empty(t, paid, "by another server")
	require.True(t, res.IsError)
	require.Equal(t, wanted, said)
}

// TestWhatAListRunsAgain: items with an answer keep it, items that changed nothing run again.
func TestWhatAListRunsAgain(t *testing.T) {
	l := till{fail: map[string]error{
		"2": fault.Unavailable("the bank").Because(errors.New("full")).WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone}),
		"3": fault.New(fault.KindServerError, "paid, but not noted").WithRetry(fault.Retry{Effect: fault.EffectCommitted}),
	}}
	s := l.serve(t, owned(replay.Options{}))
	const list = `{"amounts":["1","2","3","4"]}`
	_, _, paid := l.pay(t, s, "pay_all", "k", list)
	require.Equal(t, []string{"1", "2", "3", "4"}, paid)
	_, _, paid = l.pay(t, s, "pay_all", "k", list)
	require.Equal(t, []string{"2"}, paid)
	delete(l.fail, "2")
	_, _, paid = l.pay(t, s, "pay_all", "k", list)
	require.Equal(t, []string{"2"}, paid)
	_, _, paid = l.pay(t, s, "pay_all", "k", list)
	require.Empty(t, paid)
}

// TestItemsHaveTheOwnerOfTheirList: what names a tenant stands in the request of the list only.
func TestItemsHaveTheOwnerOfTheirList(t *testing.T) {
	l := till{owner: func(_ context.Context, req mcp.Request) string {
		tenant, _ := req.GetParams().GetMeta()["tenant"].(string)
		return "company/" + tenant
	}}
	s := l.serve(t, owned(replay.Options{}))
	pay := func(tenant string) []string {
		l.paid = nil
		_, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay_all", Arguments: json.RawMessage(`{"amounts":["1"]}`), Meta: mcp.Meta{specKey: "k", "tenant": tenant}})
		require.NoError(t, err)
		return l.paid
	}
	for _, tenant := range []string{"a", "b"} {
		require.Equal(t, []string{"1"}, pay(tenant), tenant)
		require.Empty(t, pay(tenant), tenant)
	}
}

// TestNoPartOfAListIsToBeSentUnderAnotherKey: whatever keeps an item from its answer now, an earlier call may
// have run it.
func TestNoPartOfAListIsToBeSentUnderAnotherKey(t *testing.T) {
	const list = `{"amounts":["1","2","3"]}`
	for name, tc := range map[string]struct {
		*till

		first, second []string // what is paid
	}{
		"it still runs":   {&till{slow: "2", run: &batch.RunOptions[json.RawMessage]{Concurrency: 1, Limit: time.Second}}, []string{"1", "2", "3"}, nil},
		"a limit":         {&till{limits: &limit.Options{Limits: []limit.Limit{{Scope: limit.PerTool, Tools: []string{"pay"}, Calls: 5}}, Wait: -1}}, []string{"1", "2", "3"}, nil},
		"it is not begun": {&till{fail: map[string]error{"1": fault.Unavailable("the bank")}, run: &batch.RunOptions[json.RawMessage]{Concurrency: 1, MaxFailures: 1}}, []string{"1"}, []string{"1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := tc.till
				s := l.serve(t, owned(replay.Options{Wait: -1}))
				_, _, paid := l.pay(t, s, "pay_all", "k", list)
				require.Equal(t, tc.first, paid)
				res, said, paid := l.pay(t, s, "pay_all", "k", list)
				require.Equal(t, tc.second, paid)
				require.Contains(t, said, "the same list again with the same idempotency key")
				require.NotContains(t, said, "retry_items")
				raw, err := json.Marshal(res.StructuredContent)
				require.NoError(t, err)
				require.NotContains(t, string(raw), "retry_items")
				time.Sleep(2 * time.Hour)
			})
		})
	}
	t.Run("without a key", func(t *testing.T) {
		l := till{fail: map[string]error{"2": fault.Unavailable("the bank")}}
		s := l.serve(t, owned(replay.Options{}))
		res, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay_all", Arguments: json.RawMessage(list)})
		require.NoError(t, err)
		require.Contains(t, res.Content[0].(*mcp.TextContent).Text, `Send again (retry_items): ["2"]`)
	})
}

// TestAListIsKeptAsLongAsItsItems: an item that ran late is no answer to another list, nor is that run.
func TestAListIsKeptAsLongAsItsItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := till{fail: map[string]error{"2": fault.Unavailable("the bank").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})}}
		s := l.serve(t, owned(replay.Options{Keep: 24 * time.Hour}))
		_, _, paid := l.pay(t, s, "pay_all", "k", `{"amounts":["1","2"]}`)
		require.Equal(t, []string{"1", "2"}, paid)
		time.Sleep(20 * time.Hour)
		delete(l.fail, "2")
		_, _, paid = l.pay(t, s, "pay_all", "k", `{"amounts":["1","2"]}`)
		require.Equal(t, []string{"2"}, paid)
		time.Sleep(20 * time.Hour)
		res, _, paid := l.pay(t, s, "pay_all", "k", `{"amounts":["3","2"]}`)
		require.Empty(t, paid)
		require.True(t, res.IsError)
	})
}
