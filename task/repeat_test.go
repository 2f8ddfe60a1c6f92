package task_test

import (
	"context"
	"encoding/json"
	"io"
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
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/store"
	"github.com/mcpchain/mcpchain/task"
	"github.com/mcpchain/mcpchain/transport"
)

// TestTheSameCallOverStdio: our transport tells the owner only to the middlewares, so a repetition is known inside.
func TestTheSameCallOverStdio(t *testing.T) {
	fromServer, out := io.Pipe()
	in, toServer := io.Pipe()
	var runs atomic.Int64
	goOn := make(chan struct{})
	server := mcp.NewServer(&mcp.Implementation{Name: "reports"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "report"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		runs.Add(1)
		<-goOn
		return nil, nil, nil
	})
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: slog.New(slog.DiscardHandler), Task: task.New(&task.Options{After: 10 * time.Millisecond}),
	}))
	ended := make(chan error, 1)
	go func() { ended <- server.Run(t.Context(), transport.Stdio(&transport.StdioOptions{In: in, Out: out})) }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "agent"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	require.NoError(t, err)
	var ids []string
	for range 2 {
		res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "report"})
		require.NoError(t, err)
		ids = append(ids, idOf(t, harness.Answer{Result: res}))
	}
	require.Equal(t, ids[0], ids[1])
	require.EqualValues(t, 1, runs.Load())
	close(goOn)
	require.NoError(t, client.Close())
	<-ended //nolint:errcheck // the client has gone
}

// TestTheSameCallCounts: a repetition is a call for limits, though it runs nothing.
func TestTheSameCallCounts(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.standard.Limit = limit.New(&limit.Options{Logger: slog.New(slog.DiscardHandler), Limits: []limit.Limit{{Calls: 3, Per: time.Hour}}, Wait: -1})
		s.report(t)
		id := s.handle(t, "report", "10m")
		for range 2 {
			require.Equal(t, id, s.handle(t, "report", "10m"))
		}
		require.Contains(t, s.CallTool(t.Context(), "report", map[string]any{"word": "10m"}).Text(), "Rate limited")
		require.EqualValues(t, 1, s.runs.Load())
		time.Sleep(time.Hour)
	})
}

// TestTwoBeforeTheHandle: of two same calls that run, the first keeps its promise, and the second makes none.
func TestTwoBeforeTheHandle(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.report(t)
		var first string
		var one sync.WaitGroup
		one.Go(func() { first = s.handle(t, "report", "10m") })
		time.Sleep(5 * time.Second)
		second := s.CallTool(t.Context(), "report", map[string]any{"word": "10m"})
		one.Wait()
		require.Contains(t, second.Text(), "a second call may do the work twice")
		require.NotEqual(t, first, idOf(t, second))
		require.Equal(t, first, s.handle(t, "report", "10m"))
		require.EqualValues(t, 2, s.runs.Load())
		time.Sleep(time.Hour)
	})
}

// TestCancelAndCallAgain: while a handler cleans up, nothing says that it goes on, and the same call runs anew.
func TestCancelAndCallAgain(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.more = func(server *mcp.Server) {
			mcp.AddTool(server, &mcp.Tool{Name: "report"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
				s.runs.Add(1)
				<-ctx.Done()
				time.Sleep(5 * time.Minute)
				return nil, nil, ctx.Err()
			})
		}
		s.start(t, nil)
		id := idOf(t, s.CallTool(t.Context(), "report", nil))
		s.ask(t, "task_cancel", id)
		require.Contains(t, s.ask(t, "task_result", id).Text(), "has not finished after 40 s. It was told to stop.\n")
		other := idOf(t, s.CallTool(t.Context(), "report", nil))
		require.NotEqual(t, id, other)
		require.EqualValues(t, 2, s.runs.Load())
		require.Contains(t, s.result(t, id).Text(), "Cancelled")
		s.ask(t, "task_cancel", other)
		s.result(t, other)
	})
}

// TestExactNumbers: a fetched answer has the numbers of the handler, which the SDK would round.
func TestExactNumbers(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.more = func(server *mcp.Server) {
			server.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				time.Sleep(30 * time.Second)
				return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"id":9007199254740993,"amount":1.10}`), Meta: mcp.Meta{"n": int64(9007199254740993)}}, nil
			})
		}
		s.start(t, nil)
		s.result(t, idOf(t, s.CallTool(t.Context(), "raw", nil)))
		require.Contains(t, s.Sent(), `"structuredContent":{"id":9007199254740993,"amount":1.10}`)
		require.Contains(t, s.Sent(), `"n":9007199254740993`)
	})
}

// panicking is a store, a cipher and a choice of tools that panic.
type panicking struct {
	store.Store
	on *atomic.Bool
}

func (p panicking) may() {
	if p.on.Load() {
		panic(harness.Canary)
	}
}

func (p panicking) Get(ctx context.Context, key string) (store.Item, error) {
	p.may()
	return p.Store.Get(ctx, key)
}

func (p panicking) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	p.may()
	return p.Store.Swap(ctx, key, old, value, ttl)
}

func (p panicking) Delete(ctx context.Context, key string, old store.Version) (bool, error) {
	p.may()
	return p.Store.Delete(ctx, key, old)
}

func (p panicking) Seal(_ string, text []byte) ([]byte, error) { p.may(); return text, nil }
func (p panicking) Open(_ string, text []byte) ([]byte, error) { p.may(); return text, nil }

// TestPanicsOfOptions: what the program gives may panic at any time, and the process lives on.
func TestPanicsOfOptions(t *testing.T) {
	for name, give := range map[string]func(*task.Options, panicking){
		"store":  func(o *task.Options, p panicking) { o.Store = p },
		"cipher": func(o *task.Options, p panicking) { o.Cipher = p },
		"tools":  func(o *task.Options, p panicking) { o.Tools = func(string) bool { p.may(); return true } },
	} {
		for _, early := range []bool{true, false} {
			inStandard(t, func(t *testing.T, s *server) {
				p := panicking{store.NewMemory(nil), &atomic.Bool{}}
				give(&s.opts, p)
				s.report(t)
				p.on.Store(early)
				got := s.CallTool(t.Context(), "report", map[string]any{"word": "40s"})
				p.on.Store(true)
				if early {
					require.Equal(t, "fine", got.Text(), name)
				}
				s.ask(t, "task_result", "BTGBDNSAGDJVU5KKPN7M6IGCS5")
				time.Sleep(time.Minute)
				p.on.Store(false)
				time.Sleep(5 * time.Minute)
				require.NotContains(t, s.Sent(), harness.Canary)
			})
		}
	}
}

// TestRoomForAll: a call gets a handle only if the answers of all that run will find room.
func TestRoomForAll(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.opts.Limits = task.Limits{AnswerBytes: 20_000, OwnerBytes: 200_000}
		s.start(t, map[string]harness.Handler{"report": harness.Return(func() *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 19_000)}}}
		})})
		var mu sync.Mutex
		handles := 0
		var all sync.WaitGroup
		for i := range 14 {
			all.Go(func() {
				got := s.CallTool(t.Context(), "report", map[string]any{"word": time.Duration(60e9 + i).String()})
				if id, ok := metaOf(got)["id"].(string); ok {
					mu.Lock()
					handles++
					mu.Unlock()
					got = s.result(t, id)
				}
				if len(got.Text()) != 19_000 {
					t.Error(got.Text())
				}
			})
		}
		all.Wait()
		require.Less(t, handles, 11)
		require.Greater(t, handles, 5)
	})
}

// TestDrainOfAChainThatIsTwiceThere: a call that ended holds up nothing.
func TestDrainOfAChainThatIsTwiceThere(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		calls := &drain.Drain{}
		s.standard.Drain = drain.New(&drain.Options{Drain: calls})
		s.inner = []mcp.Middleware{task.New(nil)}
		s.report(t)
		s.handle(t, "report", "1m")
		time.Sleep(5 * time.Minute)
		began := time.Now()
		require.NoError(t, calls.Shutdown(t.Context()))
		require.Less(t, time.Since(began), time.Minute)
	})
}

// TestNotificationsToOthers: what a handler behind a handle tells another session is sent.
func TestNotificationsToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int64
		var other *mcp.ServerSession
		server := mcp.NewServer(&mcp.Implementation{Name: "reports"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "report"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			time.Sleep(time.Minute)
			return nil, nil, other.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "x", Progress: 2})
		})
		server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler), Task: task.New(nil)}))
		server.AddSendingMiddleware(task.Sending())
		var clients []*mcp.ClientSession
		for range 2 {
			ours, theirs := mcp.NewInMemoryTransports()
			session, err := server.Connect(t.Context(), theirs, nil)
			require.NoError(t, err)
			if other == nil {
				other = session
			}
			client, err := mcp.NewClient(&mcp.Implementation{Name: "agent"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { told.Add(1) },
			}).Connect(t.Context(), ours, nil)
			require.NoError(t, err)
			clients = append(clients, client)
		}
		_, err := clients[1].CallTool(t.Context(), &mcp.CallToolParams{Name: "report"})
		require.NoError(t, err)
		time.Sleep(2 * time.Minute)
		require.EqualValues(t, 1, told.Load())
		for _, client := range clients {
			require.NoError(t, client.Close())
		}
	})
}
