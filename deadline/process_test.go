package deadline_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/middleware"
)

// serveEnv holds the transport of a server process, which is this test binary.
const serveEnv = "MCPCHAIN_DEADLINE_SERVER"

// serve is the server process. It ends when its standard input ends.
func serve(transport string) int {
	time.AfterFunc(5*time.Minute, func() { os.Exit(3) }) // the test forgot it
	logger := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	slog.SetDefault(logger)
	server := mcp.NewServer(&mcp.Implementation{Name: "stuck"}, nil)
	g := gate{make(chan struct{})}
	open := sync.OnceFunc(func() { close(g.open) })
	for name, h := range map[string]harness.Handler{
		"fine":   harness.Succeed(),
		"panics": harness.Panic(harness.Canary),
		"exits":  func(context.Context, mcp.Request) (mcp.Result, error) { runtime.Goexit(); return nil, nil },
		"open":   func(_ context.Context, req mcp.Request) (mcp.Result, error) { open(); return harness.Success(req), nil },
		"stuck": func(context.Context, mcp.Request) (mcp.Result, error) {
			<-g.open
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: harness.Canary}}}, nil
		},
		"talks": func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
			<-g.open
			err := req.GetSession().(*mcp.ServerSession).NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "t", Message: harness.Canary})
			logger.Info("talked", slog.Bool("refused", err != nil))
			return nil, err
		},
	} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res, err := h(ctx, req)
			r, _ := res.(*mcp.CallToolResult)
			return r, err
		})
	}
	server.AddReceivingMiddleware(deadline.New(&deadline.Options{
		Limit: time.Minute, Grace: 10 * time.Millisecond, MaxStuck: 2,
		Tools: map[string]time.Duration{"stuck": 100 * time.Millisecond, "talks": 100 * time.Millisecond},
	}))
	if transport == "stdio" {
		if server.Run(context.Background(), &mcp.StdioTransport{}) != nil {
			return 1
		}
		return 0
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: transport == "stateless"})
	go func() { _ = http.Serve(listener, handler) }()
	fmt.Println("http://" + listener.Addr().String())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// TestProcess calls tools that never return, in a process of its own, which must
// answer, survive, and end when it is told to.
func TestProcess(t *testing.T) {
	for _, transport := range []string{"stdio", "stateful", "stateless"} {
		for _, era := range []harness.Era{harness.Current, harness.Older} {
			t.Run(transport+"/"+string(era), func(t *testing.T) {
				t.Parallel()
				s, wire, errs, stop := startProcess(t, transport, era)
				call := func(name string) (string, *fault.Error) {
					t.Helper()
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Meta: mcp.Meta{"progressToken": "t"}})
					require.NoError(t, err)
					f, _ := middleware.FaultOf(res, err)
					return res.Content[0].(*mcp.TextContent).Text, f
				}
				for range 2 {
					text, f := call("stuck")
					require.Equal(t, fault.KindTimeout, f.Kind())
					require.Contains(t, text, "Timeout: the tool did not finish within 100 ms. It was told to stop, but is still running.\n")
				}
				_, f := call("stuck")
				require.Equal(t, fault.KindServiceUnavailable, f.Kind())
				_, f = call("talks")
				require.Equal(t, fault.KindTimeout, f.Kind())
				for _, name := range []string{"panics", "exits"} {
					_, f = call(name)
					require.Equal(t, fault.KindInternal, f.Kind(), name)
				}
				text, _ := call("fine")
				require.Equal(t, "fine", text)
				_, f = call("open")
				require.Nil(t, f)
				harness.Eventually(t, func() bool { return strings.Count(errs.String(), `"msg":"mcp handler ended late"`) == 3 })
				require.Contains(t, errs.String(), `"msg":"talked","refused":true`)
				_, f = call("fine")
				require.Nil(t, f)
				stop()
				require.NotContains(t, wire.String(), harness.Canary)
				require.Contains(t, errs.String(), harness.Canary, "the panic is in the log")
				require.NotContains(t, errs.String(), "DATA RACE")
			})
		}
	}
}

// TestProcessEndsWhileHandlersAreStuck closes the only session of a server while a
// handler is stuck: that must not keep the process.
func TestProcessEndsWhileHandlersAreStuck(t *testing.T) {
	t.Parallel()
	s, _, errs, stop := startProcess(t, "stdio", harness.Current)
	_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "stuck"})
	require.NoError(t, err)
	stop() // fails if the process has to be killed
	require.Contains(t, errs.String(), `"msg":"mcp handler is stuck"`)
	require.NotContains(t, errs.String(), "ended late")
}

// startProcess starts a server process and connects a client, whose messages are kept.
func startProcess(t *testing.T, transport string, era harness.Era) (s *mcp.ClientSession, wire, errs *lockedBuffer, stop func()) {
	t.Helper()
	wire, errs = &lockedBuffer{}, &lockedBuffer{}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveEnv+"="+transport)
	cmd.Stderr = errs
	var connection mcp.Transport
	var end func()
	if transport == "stdio" {
		connection = &mcp.CommandTransport{Command: cmd}
		end = func() { require.True(t, cmd.ProcessState.Success(), "%s", cmd.ProcessState) }
	} else {
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		url, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		connection = &mcp.StreamableClientTransport{Endpoint: strings.TrimSpace(url)}
		end = func() {
			_ = in.Close()
			require.NoError(t, cmd.Wait())
		}
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(),
		&mcp.LoggingTransport{Transport: connection, Writer: wire}, speak.Version(string(era)))
	require.NoError(t, err)
	return s, wire, errs, func() {
		require.NoError(t, s.Close())
		end()
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
