package redis_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/task"
	"github.com/mcpchain/mcpchain/transport"
)

// reports returns a server of calls that last. Its user is "ada".
func reports(client goredis.UniversalClient, prefix string) http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "reports"}, nil)
	report := func(ctx context.Context, _ *mcp.CallToolRequest, in struct {
		For time.Duration `json:"for"`
	}) (*mcp.CallToolResult, any, error) {
		task.Report(ctx, "30 of 100")
		select {
		case <-time.After(in.For):
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the report"}}}, nil, nil
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	mcp.AddTool(server, &mcp.Tool{Name: "write"}, report)
	mcp.AddTool(server, &mcp.Tool{Name: "read", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, report)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: slog.New(slog.DiscardHandler),
		Task:   task.New(&task.Options{After: 10 * time.Millisecond, Wait: 100 * time.Millisecond, Store: mcpredis.New(client, &mcpredis.Options{Prefix: prefix, Timeout: time.Second})}),
	}))
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	return auth.RequireBearerToken(func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}, nil)(transport.HTTP(handler, nil))
}

// childEnv makes this test a server of its own process: it has the address of the Redis, and the prefix.
const childEnv = "MCPCHAIN_TEST_TASKS"

// TestServeReports is the process that is killed.
func TestServeReports(t *testing.T) {
	var addr, prefix string
	if n, _ := fmt.Sscan(os.Getenv(childEnv), &addr, &prefix); n != 2 {
		t.Skip("it runs as a process of its own")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, _ = fmt.Fprintln(os.Stdout, "listens at", listener.Addr())
	client := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true})
	require.ErrorIs(t, http.Serve(listener, reports(client, prefix)), http.ErrServerClosed)
}

// startReports starts the process.
func startReports(t *testing.T, addr, prefix string) (url string, kill func()) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(program, "-test.run=^TestServeReports$")
	cmd.Env = append(os.Environ(), childEnv+"="+addr+" "+prefix)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(kill)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if n, _ := fmt.Sscanf(lines.Text(), "listens at %s", &url); n == 1 {
			return "http://" + url, kill
		}
	}
	require.Fail(t, "it did not start")
	return "", nil
}

// A user calls the tools of one server.
type user struct {
	url, name string
}

func (u user) call(t *testing.T, tool string, args any) *mcp.CallToolResult {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: u.url, MaxRetries: -1, HTTPClient: &http.Client{Transport: u},
	}, nil)
	require.NoError(t, err)
	defer func() { _ = session.Close() }()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	require.NoError(t, err)
	return res
}

// begin returns the ID of a call that lasts.
func (u user) begin(t *testing.T, tool string, lasts time.Duration) map[string]any {
	t.Helper()
	handle, _ := u.call(t, tool, map[string]any{"for": lasts}).Meta["io.github.mcpchain/task"].(map[string]any)
	require.Equal(t, "running", handle["status"])
	return map[string]any{"id": handle["id"]}
}

// code returns the code of the failure that a user reads, "" for none.
func (u user) code(t *testing.T, tool string, id map[string]any) string {
	t.Helper()
	f, failed := middleware.FaultOf(u.call(t, tool, id), nil)
	if !failed {
		return ""
	}
	if f.Code() == "" {
		return string(f.Kind())
	}
	return f.Code()
}

func (u user) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+u.name)
	return http.DefaultTransport.RoundTrip(req)
}

// TestTasksOfAServerThatIsKilled: two processes have one Redis. One of them runs the calls and is killed with kill -9; the
// other one answers for it.
func TestTasksOfAServerThatIsKilled(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		single, ok := p.client.(*goredis.Client)
		if !ok {
			t.Skip("of a cluster the process would need all addresses")
		}
		t.Parallel()
		prefix := prefix()
		firstURL, kill := startReports(t, single.Options().Addr, prefix)
		secondURL, _ := startReports(t, single.Options().Addr, prefix)
		first, second, other := user{firstURL, "ada"}, user{secondURL, "ada"}, user{secondURL, "bob"}

		done := first.begin(t, "write", 200*time.Millisecond)
		cancelled, writes, reads := first.begin(t, "write", time.Hour), first.begin(t, "write", 61*time.Minute), first.begin(t, "read", time.Hour)
		eventually := func(holds func() bool) {
			t.Helper()
			require.Eventually(t, holds, 2*time.Minute, 100*time.Millisecond)
		}
		text := func(res *mcp.CallToolResult) string { return res.Content[0].(*mcp.TextContent).Text }
		eventually(func() bool { return text(second.call(t, "task_result", done)) == "the report" })
		require.Equal(t, "TASK_NOT_FOUND", other.code(t, "task_result", writes))
		require.Equal(t, "TASK_NOT_FOUND", other.code(t, "task_cancel", writes))
		require.Empty(t, second.code(t, "task_cancel", cancelled))
		eventually(func() bool { return second.code(t, "task_result", cancelled) == "cancelled" })
		eventually(func() bool {
			return strings.Contains(text(second.call(t, "task_result", writes)), "Its last progress: 30 of 100.")
		})

		kill()
		require.Empty(t, second.code(t, "task_result", writes), "it may be about to come back")
		if p.advance != nil {
			p.advance(15 * time.Second)
			require.Equal(t, "TASK_UNKNOWN_END", second.code(t, "task_result", writes))
		}
		eventually(func() bool { return second.code(t, "task_result", writes) == "TASK_UNKNOWN_END" })
		eventually(func() bool { return second.code(t, "task_result", reads) == "TASK_LOST" })
		require.Equal(t, "TASK_UNKNOWN_END", second.code(t, "task_cancel", writes))
		require.Equal(t, "the report", text(second.call(t, "task_result", done)), "its answers are still there")
		second.begin(t, "write", 61*time.Minute) // which is not the same call: nobody runs that one
	})
}

// TestTasksWhenRedisIsGone: a call that lasts is answered when it ends, and an answer can be fetched when Redis is back.
func TestTasksWhenRedisIsGone(t *testing.T) {
	t.Parallel()
	p := embedded(t)
	url, _ := startReports(t, p.mini.Addr(), prefix())
	ada := user{url, "ada"}
	id := ada.begin(t, "write", time.Second)
	p.mini.Close()
	require.Eventually(t, func() bool { // while it runs, its own server knows it
		return ada.code(t, "task_result", id) == "service_unavailable"
	}, time.Minute, 100*time.Millisecond)
	res := ada.call(t, "write", map[string]any{"for": 100 * time.Millisecond})
	require.Nil(t, res.Meta["io.github.mcpchain/task"])
	require.Equal(t, "the report", res.Content[0].(*mcp.TextContent).Text)
	require.NoError(t, p.mini.Restart())
	require.Eventually(t, func() bool {
		res := ada.call(t, "task_result", id)
		return !res.IsError && res.Content[0].(*mcp.TextContent).Text == "the report"
	}, time.Minute, 100*time.Millisecond)
}
