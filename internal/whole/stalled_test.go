package whole_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/internal/harness"
)

// A stalled handler passes nothing on until it is released, as a pipe that nobody reads.
type stalled struct {
	slog.Handler

	release <-chan struct{}
}

func (s stalled) Handle(ctx context.Context, r slog.Record) error {
	<-s.release
	return s.Handler.Handle(ctx, r)
}

// TestAStalledLogStopsNoCall: 2,000 calls fail on a log that does not return. The first answer waits for 250 ms and no other
// one. When the log is back, it has 1,001 records, each once and under the reference of its answer, and the number of the
// others. Calls whose time is over, whose records are others, do not wait either.
func TestAStalledLogStopsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		log, other := harness.NewLog(slog.LevelInfo), harness.NewLog(slog.LevelInfo)
		before := slog.Default()
		slog.SetDefault(other.Logger())
		defer slog.SetDefault(before)
		logger := slog.New(correlate.Handler(stalled{log.Handler(), release}))
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "fail"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			N int `json:"n"`
		}) (*mcp.CallToolResult, any, error) {
			return nil, nil, fmt.Errorf("failure %d", in.N)
		})
		mcp.AddTool(server, &mcp.Tool{Name: "stuck"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			<-release
			return nil, nil, errors.New("released")
		})
		server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: logger, Deadline: deadline.New(&deadline.Options{Limit: time.Second, Grace: 100 * time.Millisecond})}))
		here, there := mcp.NewInMemoryTransports()
		ss, err := server.Connect(t.Context(), here, nil)
		require.NoError(t, err)
		client, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), there, nil)
		require.NoError(t, err)
		began := time.Now()
		const calls = 2000
		var references []any
		for i := range calls {
			res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "fail", Arguments: map[string]int{"n": i}})
			require.NoError(t, err)
			references = append(references, res.Meta["io.github.mcpchain/error"].(map[string]any)["reference_id"])
		}
		require.Equal(t, 250*time.Millisecond, time.Since(began))
		began = time.Now()
		res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "stuck"})
		require.NoError(t, err)
		require.True(t, res.IsError)
		require.Equal(t, 1100*time.Millisecond, time.Since(began), "its limit, and the time that it has to stop")
		require.Empty(t, log.Records())

		close(release)
		synctest.Wait()
		records := log.Records()
		for i := range 1001 {
			require.NotEmpty(t, references[i])
			require.Equal(t, references[i], records[i]["reference"])
		}
		dropped := slices.IndexFunc(records, func(r harness.Record) bool {
			return strings.Contains(fmt.Sprint(r["msg"]), "records were dropped, because the log did not return")
		})
		require.GreaterOrEqual(t, dropped, 1001)
		require.Equal(t, "WARN", records[dropped]["level"])
		require.Empty(t, other.Records(), "nothing is written twice")
		require.NoError(t, client.Close())
		require.NoError(t, ss.Wait())
	})
}

// TestRecordsThatWaitHoldNoArguments: what a client sent can be collected as soon as it is answered.
func TestRecordsThatWaitHoldNoArguments(t *testing.T) {
	release := make(chan struct{})
	log := harness.NewLog(slog.LevelInfo)
	logger := slog.New(stalled{log.Handler(), release})
	fail := mcpchain.Standard(&mcpchain.Options{Logger: logger})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return nil, errors.New("no such row")
	})
	const calls = 20
	var freed sync.WaitGroup
	freed.Add(calls - 1)
	for i := range calls {
		req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "fail", Arguments: []byte(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)}}
		if i > 0 { // the first one is in the hands of the log
			runtime.AddCleanup(req, func(struct{}) { freed.Done() }, struct{}{})
		}
		_, _ = fail(t.Context(), "tools/call", req)
	}
	done := make(chan struct{})
	go func() { freed.Wait(); close(done) }()
	require.Eventually(t, func() bool {
		runtime.GC()
		select {
		case <-done:
			return true
		default:
			return false
		}
	}, time.Minute, 10*time.Millisecond)
	close(release)
	require.Eventually(t, func() bool { return len(log.Records()) >= calls }, time.Minute, time.Millisecond)
}
