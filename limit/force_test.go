package limit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/limit"
)

// TestBucketsAreBoundedWhileEarlyCallsRun: the buckets of eight calls that run are the oldest,
// and ten thousand other callers come.
func TestBucketsAreBoundedWhileEarlyCallsRun(t *testing.T) {
	for name, l := range map[string]limit.Limit{"rate": {Calls: 1 << 20, Per: time.Hour, Running: 1}, "running": {Running: 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stats limit.Seen
				end := make(chan struct{})
				h := limit.NewSeen(&stats, 100, &limit.Options{Limits: []limit.Limit{l}, Wait: -1})(func(_ context.Context, _ string, req mcp.Request) (mcp.Result, error) {
					if req.(*mcp.CallToolRequest).Params.Name == "early" {
						<-end
					}
					return fine, nil
				})
				var early sync.WaitGroup
				for i := range 8 {
					early.Go(func() { require.Nil(t, ask(h, fmt.Sprint("early", i), "early")) })
				}
				synctest.Wait()
				for i := range 10_000 {
					require.Nil(t, ask(h, fmt.Sprint(i), "a"))
					require.LessOrEqual(t, stats.Buckets(), 100)
				}
				for i := range 8 {
					require.NotNil(t, ask(h, fmt.Sprint("early", i), "a"), "it still runs one")
				}
				close(end)
				early.Wait()
				for i := range 8 {
					require.Nil(t, ask(h, fmt.Sprint("early", i), "a"))
				}
			})
		})
	}
}

// TestAUsedUpLimitIsNeverForgotten whoever else calls, how often, and however long its caller
// is idle: until it is full again.
func TestAUsedUpLimitIsNeverForgotten(t *testing.T) {
	for name, others := range map[string]func(h mcp.MethodHandler, i int){
		"nobody":                     func(mcp.MethodHandler, int) {},
		"other owners":               func(h mcp.MethodHandler, i int) { _ = ask(h, fmt.Sprint(i), "a") },
		"names of a refused caller":  func(h mcp.MethodHandler, i int) { _ = ask(h, "eve", fmt.Sprint(i)) },
		"names of callers who pass":  func(h mcp.MethodHandler, i int) { _ = ask(h, fmt.Sprint("eve", i), fmt.Sprint(i)) },
		"names that nobody may call": func(h mcp.MethodHandler, i int) { _ = ask(h, "eve", "closed") },
		"names of unknown owners":    func(h mcp.MethodHandler, i int) { _ = ask(h, "", fmt.Sprint(i)) },
		"one owner with names, idle": func(h mcp.MethodHandler, i int) { _ = ask(h, "eve", fmt.Sprint(i)); time.Sleep(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stats limit.Seen
				h := limit.NewSeen(&stats, 50, &limit.Options{
					Limits: []limit.Limit{
						{Scope: limit.PerOwnerAndTool, Calls: 1, Per: time.Hour},
						{Calls: 3, Per: time.Hour},
						{Name: "closed", Tools: []string{"closed"}, Calls: -1},
					},
					Wait: -1,
				})(succeed)
				start := time.Now()
				require.Nil(t, ask(h, "ada", "a"))
				for i := range 1000 {
					others(h, i)
					require.LessOrEqual(t, stats.Buckets(), 50)
				}
				time.Sleep(time.Hour - time.Since(start) - time.Second)
				for i := range 100 {
					others(h, i)
				}
				if left := time.Hour - time.Since(start); left > 0 {
					require.Equal(t, left, waitOf(ask(h, "ada", "a")))
					time.Sleep(left)
				}
				require.Nil(t, ask(h, "ada", "a"), "it is full again")
			})
		})
	}
}
