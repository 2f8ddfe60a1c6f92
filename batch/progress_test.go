package batch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
)

// progress keeps the notifications that a client gets.
type progress struct {
	mu   sync.Mutex
	told []*mcp.ProgressNotificationParams
}

func (p *progress) take(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, req.Params)
}

func (p *progress) all() []*mcp.ProgressNotificationParams {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*mcp.ProgressNotificationParams(nil), p.told...)
}

func (p *progress) last() string {
	if all := p.all(); len(all) > 0 {
		return all[len(all)-1].Message
	}
	return ""
}

// check wants what the protocol does: the caller's token, and an increasing value.
func (p *progress) check(t *testing.T, token any, total float64) {
	t.Helper()
	before := 0.0
	for _, n := range p.all() {
		require.Equal(t, token, n.ProgressToken)
		require.InDelta(t, total, n.Total, 0)
		require.Greater(t, n.Progress, before)
		before = n.Progress
	}
	require.InDelta(t, total, before, 0)
}

// TestNotifications are sent of a list form and of a batch in a handler alike.
func TestNotifications(t *testing.T) {
	for _, era := range eras {
		for _, tool := range []string{"get_users", "own"} {
			t.Run(fmt.Sprint(era, " ", tool), func(t *testing.T) {
				var told progress
				s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
					Client:     &mcp.ClientOptions{ProgressNotificationHandler: told.take},
					Middleware: []mcp.Middleware{mask.New(nil), batch.New(&batch.Options{Lists: []batch.List{userList}})},
					More: func(s *mcp.Server) {
						mcp.AddTool(s, &mcp.Tool{Name: "get_user"}, getUser)
						mcp.AddTool(s, &mcp.Tool{Name: "own"}, func(ctx context.Context, _ *mcp.CallToolRequest, in struct {
							IDs []string `json:"user_ids"`
						}) (*mcp.CallToolResult, batch.Output[string], error) {
							return batch.Run(ctx, in.IDs, func(context.Context, string) (string, error) { return "x", nil }, nil).Output()
						})
					},
				})
				names := make([]any, 50)
				for i := range names {
					names[i] = fmt.Sprint("user", i)
				}
				call := func(token any) {
					params := &mcp.CallToolParams{Name: tool, Arguments: ids(names...)}
					if token != nil {
						params.SetProgressToken(token)
					}
					res, err := s.Client.CallTool(t.Context(), params)
					require.NoError(t, err)
					require.False(t, res.IsError)
				}
				call(nil)
				call("t")
				harness.Eventually(t, func() bool { return told.last() == "50 of 50 items" })
				told.check(t, "t", 50)
				require.Less(t, len(told.all()), 20, "four a second")
			})
		}
	}
}

// TestNotificationRate looks at what is sent when, with a clock of its own.
func TestNotificationRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var sent []string
		_ = batch.RunTelling(t.Context(), make([]int, 10), func(context.Context, int) (int, error) {
			time.Sleep(110 * time.Millisecond)
			return 0, nil
		}, &batch.RunOptions[int]{Concurrency: 1}, func(_, _ int, message string) error {
			sent = append(sent, fmt.Sprint(time.Since(start), ": ", message))
			return nil
		})
		require.Equal(t, []string{"250ms: 2 of 10 items", "500ms: 4 of 10 items", "750ms: 6 of 10 items", "1s: 9 of 10 items", "1.1s: 10 of 10 items"}, sent)
	})
}

// TestNotificationsThatCannotBeSent harm no batch.
func TestNotificationsThatCannotBeSent(t *testing.T) {
	for name, send := range map[string]func() error{
		"fails":  func() error { return errors.New("closed") },
		"panics": func() error { panic("closed") },
		"exits":  func() error { runtime.Goexit(); return nil },
		"stuck":  func() error { time.Sleep(time.Hour); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				start := time.Now()
				r := batch.RunTelling(t.Context(), make([]int, 10), func(context.Context, int) (int, error) {
					time.Sleep(time.Second)
					return 0, nil
				}, &batch.RunOptions[int]{Concurrency: 1}, func(int, int, string) error { calls.Add(1); return send() })
				require.Equal(t, 10, r.Succeeded)
				require.EqualValues(t, 1, calls.Load())
				require.Equal(t, 10*time.Second, time.Since(start), "the answer does not wait for what was given up before")
				time.Sleep(2 * time.Hour)
			})
		})
	}
}
