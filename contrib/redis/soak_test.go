package redis_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/state"
)

// A ledger is the world outside: what it was told cannot be taken back.
type ledger struct {
	mu   sync.Mutex
	paid map[string]int // by owner and key
}

type payIn struct {
	Amount int    `json:"amount"`
	Handle string `json:"handle"`
	Op     string `json:"op"`
}

// tally counts the operations that were applied. It knows which they were, because a
// call whose answer was lost is made again.
type tally struct {
	N       int             `json:"n"`
	Applied map[string]bool `json:"applied"`
}

func ownerOf(_ context.Context, req mcp.Request) string {
	owner, _ := req.GetParams().GetMeta()["owner"].(string)
	return owner
}

// replica returns one of several servers.
func replica(l *ledger, client goredis.UniversalClient) *mcp.Server {
	shared := mcpredis.New(client, &mcpredis.Options{Timeout: time.Second})
	server := mcp.NewServer(&mcp.Implementation{Name: "bank"}, nil)
	object := map[string]any{"type": "object"}
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	server.AddTool(&mcp.Tool{Name: "pay", InputSchema: object}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		time.Sleep(time.Duration(rand.Int64N(int64(10 * time.Millisecond))))
		id := ownerOf(ctx, req) + "/" + replay.Key(ctx)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.paid[id]++
		return text("paid " + id), nil
	})
	server.AddTool(&mcp.Tool{Name: "count", InputSchema: object, Annotations: &mcp.ToolAnnotations{IdempotentHint: true}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in payIn
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		err := state.Update(ctx, func(t *tally) error {
			if t.Applied == nil {
				t.Applied = map[string]bool{}
			}
			if !t.Applied[in.Op] {
				t.Applied[in.Op] = true
				t.N++
			}
			return nil
		})
		return text("counted"), err
	})
	server.AddTool(&mcp.Tool{Name: "begin", InputSchema: object}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		handle, err := state.Create(ctx, tally{})
		return text(string(handle)), err
	})
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger:    slog.New(slog.DiscardHandler),
		Correlate: &correlate.Options{},
		Replay:    replay.New(&replay.Options{Store: shared, Owner: ownerOf, Limits: replay.Limits{KeysPerOwner: -1}}),
		State:     state.New(&state.Options{Store: shared, Owner: ownerOf, Limits: state.Limits{ValueBytes: 1 << 20}}),
	}))
	return server
}

// A caller makes calls until they are answered, over whatever connection it gets.
type caller struct {
	endpoint string
	client   *mcp.Client
	session  *mcp.ClientSession
	again    *atomic.Int64
}

func (c *caller) call(ctx context.Context, tool, owner, key string, args any) (string, error) {
	for ctx.Err() == nil {
		if c.session == nil {
			session, err := c.client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: c.endpoint, MaxRetries: -1, HTTPClient: &http.Client{Transport: &http.Transport{}}},
				speak.Version("2026-07-28"))
			if err != nil {
				time.Sleep(5 * time.Millisecond)
				continue
			}
			c.session = session
		}
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		res, err := c.session.CallTool(limited, &mcp.CallToolParams{
			Name: tool, Arguments: args, Meta: mcp.Meta{"owner": owner, "io.modelcontextprotocol/idempotencyKey": key},
		})
		cancel()
		switch {
		case err != nil:
			_ = c.session.Close()
			c.session = nil
		case res.IsError:
			said := res.Content[0].(*mcp.TextContent).Text
			if !strings.Contains(said, "Retry: yes") && !strings.Contains(said, "Service unavailable") {
				return "", fmt.Errorf("%s %s: %s", tool, key, said)
			}
		default:
			return res.Content[0].(*mcp.TextContent).Text, nil
		}
		c.again.Add(1)
		time.Sleep(time.Duration(rand.Int64N(int64(20 * time.Millisecond))))
	}
	return "", context.Cause(ctx)
}

// redisServer starts a real Redis that writes what it acknowledges to the disk before,
// and returns a function that kills it and starts it again.
func redisServer(t *testing.T) (addr string, restart func()) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil || os.Getenv("REDIS_ADDR") == "" {
		t.Skip("REDIS_ADDR is not set, or there is no redis-server to start")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr = listener.Addr().String()
	require.NoError(t, listener.Close())
	_, port, _ := net.SplitHostPort(addr)
	dir := t.TempDir()
	var cmd *exec.Cmd
	start := func() {
		cmd = exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "yes", "--appendfsync", "always")
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool {
			conn, err := net.Dial("tcp", addr)
			if err == nil {
				_ = conn.Close()
			}
			return err == nil
		}, 10*time.Second, 10*time.Millisecond)
	}
	kill := func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	start()
	t.Cleanup(kill)
	return addr, func() { kill(); time.Sleep(200 * time.Millisecond); start() }
}

// TestSoak lets clients call two servers behind a proxy that breaks connections, while
// Redis is restarted. Every key is executed once, no update is lost, and no answer
// goes to the wrong owner. SOAK=1m lets it run for longer, with 100 clients.
func TestSoak(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		mini := miniredis.RunT(t)
		soak(t, 20, mini.Addr(), func() { mini.Close(); time.Sleep(200 * time.Millisecond); require.NoError(t, mini.Restart()) })
	})
	t.Run("server", func(t *testing.T) {
		addr, restart := redisServer(t)
		soak(t, 100, addr, restart)
	})
}

func soak(t *testing.T, most int, redisAddr string, restart func()) {
	t.Helper()
	clients, length := 20, 2*time.Second
	if given := os.Getenv("SOAK"); given != "" {
		var err error
		length, err = time.ParseDuration(given)
		require.NoError(t, err)
		clients = most // the embedded Redis is slow
	}
	toRedis := newProxy(t, redisAddr)
	l := &ledger{paid: map[string]int{}}
	var addrs []string
	for range 2 {
		client := goredis.NewClient(&goredis.Options{Addr: toRedis.addr, ContextTimeoutEnabled: true})
		server := replica(l, client)
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
		t.Cleanup(func() { web.Close(); _ = client.Close() })
		addrs = append(addrs, strings.TrimPrefix(web.URL, "http://"))
	}
	toServers := newProxy(t, addrs...)

	ctx, cancel := context.WithTimeout(t.Context(), length+time.Minute)
	defer cancel()
	var again atomic.Int64
	newCaller := func() *caller {
		return &caller{endpoint: "http://" + toServers.addr, client: mcp.NewClient(&mcp.Implementation{Name: "c"}, nil), again: &again}
	}
	const groups = 10
	var handles [groups]string
	for g := range handles {
		var err error
		handles[g], err = newCaller().call(ctx, "begin", fmt.Sprint("group", g), fmt.Sprint("begin", g), nil)
		require.NoError(t, err)
	}

	toServers.cutBefore.Store(10)
	toServers.cutAfter.Store(30)
	toRedis.cutBefore.Store(1)
	toRedis.cutAfter.Store(2)
	ending := time.Now().Add(length)
	var calls, counted [groups]atomic.Int64
	var work sync.WaitGroup
	for i := range clients {
		work.Go(func() {
			c, g := newCaller(), i%groups
			owner := fmt.Sprint("group", g)
			for n := 0; time.Now().Before(ending); n++ {
				key := fmt.Sprintf("%d-%d", i, n)
				if n%4 == 3 {
					if _, err := c.call(ctx, "count", owner, "count"+key, payIn{Handle: handles[g], Op: key}); err != nil {
						t.Errorf("client %d: %v", i, err)
						return
					}
					counted[g].Add(1)
					continue
				}
				said, err := c.call(ctx, "pay", owner, key, payIn{Amount: n})
				if want := "paid " + owner + "/" + key; err != nil || said != want {
					t.Errorf("client %d: got %q, want %q: %v", i, said, want, err)
					return
				}
				calls[g].Add(1)
			}
			if c.session != nil {
				_ = c.session.Close()
			}
		})
	}
	time.Sleep(length / 2)
	restart()
	work.Wait()

	toServers.cutBefore.Store(0)
	toServers.cutAfter.Store(0)
	toRedis.cutBefore.Store(0)
	toRedis.cutAfter.Store(0)
	var paid, updates int64
	l.mu.Lock()
	for id, n := range l.paid {
		require.Equal(t, 1, n, "the payment %s was made %d times", id, n)
	}
	executed := int64(len(l.paid))
	l.mu.Unlock()
	direct := goredis.NewClient(&goredis.Options{Addr: redisAddr, ContextTimeoutEnabled: true})
	defer func() { _ = direct.Close() }()
	var kept *tally
	look := state.New(&state.Options{Store: mcpredis.New(direct, nil), Owner: ownerOf, Limits: state.Limits{ValueBytes: 1 << 20}})(
		func(ctx context.Context, _ string, _ mcp.Request) (_ mcp.Result, err error) {
			kept, err = state.From[tally](ctx)
			return &mcp.CallToolResult{}, err
		})
	for g := range groups {
		paid += calls[g].Load()
		updates += counted[g].Load()
		_, err := look(ctx, "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
			Meta: mcp.Meta{"owner": fmt.Sprint("group", g)}, Name: "look", Arguments: json.RawMessage(`{"handle":"` + handles[g] + `"}`),
		}})
		require.NoError(t, err)
		require.EqualValues(t, counted[g].Load(), kept.N)
	}
	require.Equal(t, executed, paid, "each payment was made, and none that nobody heard of")
	t.Logf("%d payments and %d updates, %d repetitions", paid, updates, again.Load())
	require.Positive(t, again.Load())
	require.Positive(t, paid)
}
