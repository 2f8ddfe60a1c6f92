package client

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// calling makes a call that fails, of which nobody knows whether a second one does
// harm, and answers look-ups with list.
func calling(o *Options, list mcp.MethodHandler) (calls int, took time.Duration) {
	handler := New(o)(func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == call.MethodListTools {
			return list(ctx, method, req)
		}
		calls++
		return nil, &jsonrpc.Error{Code: 503, Message: "busy"}
	})
	began := time.Now()
	_, _ = handler(context.Background(), call.MethodCallTool, &mcp.ClientRequest[mcp.Params]{Params: &mcp.CallToolParams{Name: "it"}})
	return calls, time.Since(began)
}

// A look-up has a time of its own inside of the budget, whether the server or what
// stands in between heeds the context or not.
func TestALookUpThatIsNeverAnswered(t *testing.T) {
	for name, list := range map[string]mcp.MethodHandler{
		"heeds the context": func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"does not": func(context.Context, string, mcp.Request) (mcp.Result, error) {
			time.Sleep(time.Hour)
			return nil, context.Canceled
		},
		"panics": func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("own") },
	} {
		for budget, most := range map[time.Duration]time.Duration{0: lookUpTime, 2 * time.Second: 2 * time.Second} {
			t.Run(fmt.Sprint(name, " ", budget), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					calls, took := calling(&Options{Budget: budget}, list)
					require.Equal(t, 1, calls)
					require.LessOrEqual(t, took, most)
					time.Sleep(2 * time.Hour)
				})
			})
		}
	}
}

// Where a look-up hangs for good, later calls do not wait for it.
func TestALookUpThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := New(nil)(func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
			if method == call.MethodListTools {
				time.Sleep(time.Hour)
			}
			return nil, &jsonrpc.Error{Code: 503, Message: "busy"}
		})
		for _, most := range []time.Duration{lookUpTime, 0, 0} {
			began := time.Now()
			_, err := handler(t.Context(), call.MethodCallTool, &mcp.ClientRequest[mcp.Params]{Params: &mcp.CallToolParams{Name: "it"}})
			require.Error(t, err)
			require.LessOrEqual(t, time.Since(began), most)
			time.Sleep(2 * time.Minute)
		}
		time.Sleep(2 * time.Hour)
	})
}

// A server that invents cursors is not followed for long.
func TestALookUpWithoutEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		tools  int
		cursor func(n int) string
		pages  int
	}{
		"cursors":      {1, func(n int) string { return fmt.Sprint(n) }, maxPages},
		"tools":        {maxTools / 2, func(n int) string { return fmt.Sprint(n) }, 2},
		"long cursors": {1, func(n int) string { return fmt.Sprintf("%*d", maxCursor+1, n) }, 1},
		"one cursor":   {1, func(int) string { return "same" }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			pages := 0
			calls, _ := calling(nil, func(context.Context, string, mcp.Request) (mcp.Result, error) {
				pages++
				page := &mcp.ListToolsResult{NextCursor: tc.cursor(pages)}
				for i := range tc.tools {
					page.Tools = append(page.Tools, &mcp.Tool{Name: fmt.Sprint(pages, " ", i)})
				}
				return page, nil
			})
			require.Equal(t, 1, calls, "a tool that is not found is not called twice")
			require.Equal(t, tc.pages, pages)
		})
	}
}

func TestCallbacksThatPanic(t *testing.T) {
	boom := func(string) bool { panic("own") }
	reads := func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "it", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}}}, nil
	}
	for name, tc := range map[string]struct {
		o     Options
		calls int
	}{
		"Tools": {Options{Tools: boom}, 1}, "Repeatable": {Options{Repeatable: boom}, 1},
		"OnRetry": {Options{OnRetry: func(context.Context, Attempt) { panic("own") }}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, _ := calling(&tc.o, reads)
				require.Equal(t, tc.calls, calls)
			})
		})
	}
}

// A call that carries on from a number that its caller gave counts from there; a number
// that is not under our key is somebody else's.
func TestWhoseNumberItIs(t *testing.T) {
	for key, want := range map[string][]any{wire.AttemptKey: {2, 3, 4}, "attempt": {nil, 2, 3}} {
		synctest.Test(t, func(t *testing.T) {
			var got []any
			handler := New(nil)(func(_ context.Context, _ string, req mcp.Request) (mcp.Result, error) {
				got = append(got, req.GetParams().GetMeta()[wire.AttemptKey])
				return nil, fault.RateLimited("it", time.Second)
			})
			_, err := handler(t.Context(), call.MethodReadResource, &mcp.ClientRequest[mcp.Params]{Params: &mcp.ReadResourceParams{URI: "x:y", Meta: mcp.Meta{key: 2}}})
			require.ErrorIs(t, err, fault.KindRateLimited)
			require.Equal(t, want, got)
		})
	}
}
