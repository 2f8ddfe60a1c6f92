package limit_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/middleware"
)

// TestRatesAsPeopleSayThem: each sentence is true, and names the burst where it is another number.
func TestRatesAsPeopleSayThem(t *testing.T) {
	for want, l := range map[string]limit.Limit{
		"at most 60 calls in 1 min for each caller":                             {Calls: 60},
		"at most 5 calls in 1 h for each caller, of this tool":                  {Scope: limit.PerOwnerAndTool, Calls: 5, Per: time.Hour},
		"at most 1 call in 1 s for this tool":                                   {Scope: limit.PerTool, Calls: 1, Per: time.Second},
		"at most 7 calls in 90 s for all callers together":                      {Scope: limit.ForAll, Calls: 7, Per: 90 * time.Second},
		"at most 1000 calls in 24 h for each caller":                            {Calls: 1000, Per: 24 * time.Hour},
		"at most 2 calls in 0.5 s for each caller":                              {Calls: 2, Per: 500 * time.Millisecond},
		"at most 36 calls an hour, 10 at once, for each caller":                 {Calls: 1, Per: 100 * time.Second, Burst: 10},
		"at most 86400 calls a day, 5000 at once, for each caller":              {Calls: 60, Burst: 5000},
		"at most 100 calls a second, 20 at once, for each caller, of this tool": {Scope: limit.PerOwnerAndTool, Calls: 10, Per: 100 * time.Millisecond, Burst: 20},
		"at most 60 calls in 1 min, 10 at once, for each caller":                {Calls: 60, Burst: 10},
		"at most 1 call in 7 s, 2 at once, for each caller":                     {Calls: 1, Per: 7 * time.Second, Burst: 2},
		"at most 1 call in 48 h, 2 at once, for each caller":                    {Calls: 1, Per: 48 * time.Hour, Burst: 2},
		"at most 1 call may run at once for each caller":                        {Running: 1},
		"at most 2 calls may run at once for each caller, of this tool":         {Scope: limit.PerOwnerAndTool, Running: 2},
		"at most 1 call may run at once for this tool":                          {Scope: limit.PerTool, Running: 1},
		"at most 1 call may run at once for all callers together":               {Scope: limit.ForAll, Running: 1},
		"no calls are allowed here":                                             {Calls: -1},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := limit.New(&limit.Options{Limits: []limit.Limit{l}, Wait: -1})(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
				if l.Running > 0 {
					<-ctx.Done()
				}
				return fine, nil
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for range max(l.Calls, l.Burst, l.Running, 0) {
				go func() { _, _ = h(ctx, middleware.MethodCallTool, request("ada", "a")) }()
			}
			synctest.Wait()
			f := ask(h, "ada", "a")
			require.NotNil(t, f, want)
			require.Equal(t, want, f.Message())
			require.Equal(t, "LIMIT_REACHED", f.Code())
			require.NotContains(t, f.Text(), "Details")
			require.NotEmpty(t, f.Data().Details["limit"])
		})
	}
}

// TestWhatIsLimitedIsNamed as what it is.
func TestWhatIsLimitedIsNamed(t *testing.T) {
	for what, c := range map[string]struct {
		method string
		req    mcp.Request
	}{
		"tool":     {middleware.MethodCallTool, request("", "a")},
		"resource": {middleware.MethodReadResource, &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: "a://b"}}},
		"prompt":   {middleware.MethodGetPrompt, &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{Name: "a"}}},
		"method":   {"tools/list", &mcp.ListToolsRequest{}},
	} {
		h := limit.New(&limit.Options{Limits: []limit.Limit{{Scope: limit.PerTool, Methods: []string{c.method}, Calls: 1}}, Wait: -1})(succeed)
		_, err := h(t.Context(), c.method, c.req)
		require.NoError(t, err)
		f, _ := middleware.FaultOf(h(t.Context(), c.method, c.req))
		require.Equal(t, "at most 1 call in 1 min for this "+what, f.Message())
	}
}

// TestWhenThereIsNoRoom counts those together for whom there is none, says so, and tells them
// a wait that is true.
func TestWhenThereIsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := limit.NewSeen(new(limit.Seen), 3, &limit.Options{Limits: []limit.Limit{{Calls: 2, Per: time.Hour}}, Wait: -1})(succeed)
		for _, owner := range []string{"ada", "bob", "cyd", "dan", "eve"} {
			require.Nil(t, ask(h, owner, "a"))
		}
		f := ask(h, "fay", "a")
		require.Equal(t, "at most 2 calls in 1 h for all calls together that are not counted apart", f.Message())
		require.Equal(t, 30*time.Minute, waitOf(f))
		require.NotNil(t, ask(h, "dan", "a"))
		require.Nil(t, ask(h, "ada", "a"), "who has a bucket has it for itself")
		require.Equal(t, "at most 2 calls in 1 h for each caller", ask(h, "ada", "a").Message())
		time.Sleep(30 * time.Minute)
		require.Nil(t, ask(h, "fay", "a"), "bob's is full again, and goes")
		require.Nil(t, ask(h, "fay", "a"))
		require.Equal(t, "at most 2 calls in 1 h for each caller", ask(h, "fay", "a").Message())
	})
}

// TestNamesAreTheCallersOwn: who gives many names fills a quarter, and counts the rest together.
func TestNamesAreTheCallersOwn(t *testing.T) {
	for name, scope := range map[string]limit.Scope{"owner and tool": limit.PerOwnerAndTool, "tool": limit.PerTool} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stats limit.Seen
				h := limit.NewSeen(&stats, 16, &limit.Options{Limits: []limit.Limit{{Scope: scope, Calls: 1, Per: time.Hour}}, Wait: -1})(succeed)
				for i := range 5 {
					require.Nil(t, ask(h, "eve", fmt.Sprint(i)))
				}
				for i := range 5 {
					require.Equal(t, fault.KindRateLimited, ask(h, "eve", fmt.Sprint(i)).Kind())
				}
				for i := range 100 {
					require.Equal(t, "at most 1 call in 1 h for all calls together that are not counted apart", ask(h, "eve", fmt.Sprint("more", i)).Message())
				}
				require.Equal(t, 4, stats.Buckets())
				require.Nil(t, ask(h, "ada", "a"))
				require.Nil(t, ask(h, "ada", "b"))
				require.Equal(t, fault.KindRateLimited, ask(h, "ada", "a").Kind())
				time.Sleep(time.Hour)
				for i := range 4 {
					require.Nil(t, ask(h, "eve", fmt.Sprint("new", i)), "her share is free again")
				}
			})
		})
	}
}
