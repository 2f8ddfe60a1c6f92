package retry_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/validate"
)

// inOrder starts a server with a raw tool "it", that has these annotations, and the
// middlewares in this order.
func inOrder(t *testing.T, a *mcp.ToolAnnotations, h harness.Handler, mw ...mcp.Middleware) *harness.Session {
	t.Helper()
	return harness.Start(t, rawAt, harness.Setup{
		Middleware: mw,
		More: func(s *mcp.Server) {
			s.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}, Annotations: a},
				func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					res, err := h(ctx, req)
					tool, _ := res.(*mcp.CallToolResult)
					return tool, err
				})
		},
	})
}

var quiet = slog.New(slog.DiscardHandler)

// within limits the time of calls, and how many handlers may be stuck.
func within(limit time.Duration, maxStuck int) mcp.Middleware {
	return deadline.New(&deadline.Options{Limit: limit, MaxStuck: maxStuck, Logger: quiet})
}

// Wrong arguments are explained first; who repeats them is told so, and then refused
// until it corrects them.
func TestGuidanceAndValidation(t *testing.T) {
	type in struct {
		Width int `json:"width"`
	}
	runs := 0
	s := harness.Start(t, rawAt, harness.Setup{
		Middleware: []mcp.Middleware{mask.New(&mask.Options{Logger: quiet}), retry.New(nil), validate.New(nil), retry.Server(nil)},
		More: func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "it", Annotations: readOnly},
				func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
					runs++
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, nil, nil
				})
		},
	})
	wrong := map[string]any{"widht": 4}
	const explained = "Argument 'widht' is unknown, and 'width' is missing. Did you mean 'width'?"
	for range 2 {
		require.Contains(t, s.CallTool(t.Context(), "it", wrong).Text(), explained+"\nRetry: only with corrected arguments.")
	}
	for range 4 {
		text := s.CallTool(t.Context(), "it", wrong).Text()
		require.Contains(t, text, explained)
		require.Contains(t, text, "with the same error. Compare the arguments with what is expected")
	}
	require.Contains(t, s.CallTool(t.Context(), "it", wrong).Text(), "so it is not made for the next 30 s")
	require.Equal(t, "fine", s.CallTool(t.Context(), "it", map[string]any{"width": 4}).Text())
	require.Equal(t, 1, runs)
}

// The attempts inside of the server share one limit: no wait begins that would end
// after it, nothing is run after it, and no goroutine is left (else the bubble would not end).
func TestServerAndLimit(t *testing.T) {
	answer := func(status int, header ...string) error {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return retry.FromResponse(&http.Response{StatusCode: status, Header: h, Body: http.NoBody})
	}
	slow := func(ctx context.Context, err error) (mcp.Result, error) {
		select {
		case <-time.After(3 * time.Second):
			return nil, err
		case <-ctx.Done():
			return nil, fmt.Errorf("get: %w", ctx.Err())
		}
	}
	for _, tc := range []struct {
		name string
		tool *mcp.ToolAnnotations
		run  func(ctx context.Context, req mcp.Request, n int32) (mcp.Result, error)
		runs int32
		took time.Duration // at most
		want string
	}{
		{"waits that fit", readOnly, func(_ context.Context, req mcp.Request, n int32) (mcp.Result, error) {
			if n == 1 {
				return nil, answer(http.StatusTooManyRequests, "Retry-After", "2")
			}
			return harness.Success(req), nil
		}, 2, 2 * time.Second, "fine"},
		{"a wait beyond the limit", readOnly, func(context.Context, mcp.Request, int32) (mcp.Result, error) {
			return nil, answer(http.StatusTooManyRequests, "Retry-After", "9")
		}, 1, 0, "Retry: yes, after 9 s (attempt 2)."},
		{"slow attempts", readOnly, func(ctx context.Context, _ mcp.Request, _ int32) (mcp.Result, error) {
			return slow(ctx, answer(http.StatusServiceUnavailable))
		}, 3, 8100 * time.Millisecond, "Timeout: the tool did not finish within 8 s. It was told to stop, and did."},
		{"stuck in the second attempt", readOnly, func(_ context.Context, req mcp.Request, n int32) (mcp.Result, error) {
			if n == 1 {
				return nil, errRefused
			}
			time.Sleep(time.Hour)
			return harness.Success(req), nil
		}, 2, 8100 * time.Millisecond, "It was told to stop, but is still running"},
		{"stuck in the second attempt, and failing late", readOnly, func(_ context.Context, _ mcp.Request, n int32) (mcp.Result, error) {
			if n > 1 {
				time.Sleep(time.Hour)
			}
			return nil, errRefused
		}, 2, 8100 * time.Millisecond, "It was told to stop, but is still running"},
		{"a write", nil, func(ctx context.Context, _ mcp.Request, _ int32) (mcp.Result, error) {
			return slow(ctx, errReset)
		}, 1, 3 * time.Second, "Connection failed: a service that is needed could not be reached."},
		{"a write that is stuck", nil, func(_ context.Context, _ mcp.Request, _ int32) (mcp.Result, error) {
			time.Sleep(time.Hour)
			return nil, fault.Unavailable("the bank").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})
		}, 1, 8100 * time.Millisecond, "not the same call: it is still running after 8 s. It may still take effect."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs atomic.Int32
				s := inOrder(t, tc.tool, func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
					return tc.run(ctx, req, runs.Add(1))
				}, mask.New(&mask.Options{Logger: quiet}), retry.New(nil), within(8*time.Second, 0), retry.Server(nil))
				begin := time.Now()
				require.Contains(t, s.Call(t, "it").Text(), tc.want)
				require.LessOrEqual(t, time.Since(begin), tc.took)
				time.Sleep(3 * time.Hour)
				synctest.Wait()
				require.Equal(t, tc.runs, runs.Load(), "after the limit nothing is run")
			})
		})
	}
}

// A client that goes while the server waits for its next attempt is not waited for.
func TestServerAndLimitWithoutACaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		s := inOrder(t, readOnly, func(context.Context, mcp.Request) (mcp.Result, error) {
			runs.Add(1)
			return nil, fault.RateLimited("the API", 5*time.Second)
		}, retry.New(nil), within(8*time.Second, 0), retry.Server(nil))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.CallContext(ctx, "it")
		time.Sleep(time.Hour)
		require.EqualValues(t, 1, runs.Load())
		require.Contains(t, s.Call(t, "it").Text(), second, "a call that nobody waited for is not counted")
	})
}
