package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
)

type count struct {
	N int `json:"n"`
}

func double(_ context.Context, _ *mcp.CallToolRequest, in count) (*mcp.CallToolResult, count, error) {
	return nil, count{2 * in.N}, nil
}

var rawAt = harness.Place{Shape: harness.ServerRaw, Era: harness.Current}

func TestAddToolIsForThatToolOnly(t *testing.T) {
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		var tr harness.Trace
		s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
			Handlers: map[string]harness.Handler{"raw": harness.Succeed()},
			More: func(server *mcp.Server) {
				middleware.AddTool(server, &mcp.Tool{Name: "a"}, double, tr.Middleware("a1"), nil, tr.Middleware("a2"))
				middleware.AddTool(server, &mcp.Tool{Name: "b"}, double, tr.Middleware("b1"))
				middleware.AddTool(server, &mcp.Tool{Name: "none"}, double)
				mcp.AddTool(server, &mcp.Tool{Name: "theirs"}, double)
				server.AddPrompt(&mcp.Prompt{Name: "a"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
					return &mcp.GetPromptResult{}, nil
				})
			},
		})
		for _, c := range []struct{ tool, order string }{
			{"a", ">a1 >a2 <a2 <a1"}, {"b", ">b1 <b1"}, {"none", ""}, {"theirs", ""},
		} {
			got := s.CallTool(t.Context(), c.tool, count{4})
			require.NoError(t, got.Err)
			require.JSONEq(t, `{"n":8}`, got.Text(), c.tool)
			require.Equal(t, map[string]any{"n": 8.0}, got.Tool().StructuredContent)
			require.Equal(t, c.order, tr.Take(), c.tool)
		}
		require.Equal(t, "fine", s.Call(t, "raw").Text())
		_, err := s.Client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "a"})
		require.NoError(t, err)
		require.Empty(t, tr.Take(), "a prompt of the same name is another thing")

		tools, err := s.Client.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, tools.Tools, 5)
	}
}

func TestAddToolAgainReplacesTheMiddlewares(t *testing.T) {
	var tr harness.Trace
	s := harness.Start(t, rawAt, harness.Setup{More: func(server *mcp.Server) {
		middleware.AddTool(server, &mcp.Tool{Name: "it"}, double, tr.Middleware("old"))
		middleware.AddTool(server, &mcp.Tool{Name: "other"}, double, tr.Middleware("other"))
	}})
	callIt := func(want string) {
		t.Helper()
		require.NoError(t, s.CallTool(t.Context(), "it", count{1}).Err)
		require.Equal(t, want, tr.Take())
	}
	callIt(">old <old")
	middleware.AddTool(s.Server, &mcp.Tool{Name: "it"}, double, tr.Middleware("new"))
	callIt(">new <new")
	middleware.AddTool(s.Server, &mcp.Tool{Name: "it"}, double)
	callIt("")
	require.NoError(t, s.CallTool(t.Context(), "other", count{1}).Err)
	require.Equal(t, ">other <other", tr.Take())
}

func TestAddToolStandsWhereTheFirstOneFoundTheServer(t *testing.T) {
	var tr harness.Trace
	s := harness.Start(t, rawAt, harness.Setup{More: func(server *mcp.Server) {
		server.AddReceivingMiddleware(tr.Middleware("before"))
		middleware.AddTool(server, &mcp.Tool{Name: "first"}, double, tr.Middleware("tool"))
		server.AddReceivingMiddleware(tr.Middleware("after"))
		middleware.AddTool(server, &mcp.Tool{Name: "second"}, double, tr.Middleware("tool"))
	}})
	for _, tool := range []string{"first", "second"} {
		require.NoError(t, s.CallTool(t.Context(), tool, count{1}).Err)
		require.Equal(t, ">after >tool >before <before <tool <after", tr.Take(), tool)
	}
}

// TestAddToolNeverLeavesAToolBare proves that a tool is not reachable without its
// middlewares, not for a moment: a call may arrive while it is added.
func TestAddToolNeverLeavesAToolBare(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	require.Panics(t, func() {
		middleware.AddTool(server, &mcp.Tool{Name: "it"}, double, func(mcp.MethodHandler) mcp.MethodHandler { return nil })
	})
	middleware.AddTool(server, &mcp.Tool{Name: "other"}, double)
	_, err := connect(t, server).CallTool(t.Context(), &mcp.CallToolParams{Name: "it", Arguments: count{1}})
	require.ErrorContains(t, err, `unknown tool "it"`)
}

func TestAddToolWhileCallsRun(t *testing.T) {
	s := harness.Start(t, rawAt, harness.Setup{More: func(server *mcp.Server) {
		middleware.AddTool(server, &mcp.Tool{Name: "tool-0"}, double, layer(&call.Settings{}))
	}})
	var work sync.WaitGroup
	for g := range 4 {
		work.Go(func() {
			for i := range 25 {
				middleware.AddTool(s.Server, &mcp.Tool{Name: fmt.Sprintf("tool-%d", (g*25+i)%10)}, double, layer(&call.Settings{}))
			}
		})
		work.Go(func() {
			for range 25 {
				got := s.CallTool(t.Context(), "tool-0", count{21})
				if got.Err != nil || !strings.Contains(got.Text(), "42") {
					t.Errorf("%q %v", got.Text(), got.Err)
				}
			}
		})
	}
	work.Wait()
}

// TestAddToolLeavesNothingBehind proves that servers that are made for one request
// can be collected. What AddTool keeps for them goes with them: see the tests of table.Weak.
func TestAddToolLeavesNothingBehind(t *testing.T) {
	var gone atomic.Int32
	for range 200 {
		server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
		middleware.AddTool(server, &mcp.Tool{Name: "t"}, double, layer(&call.Settings{}))
		runtime.AddCleanup(server, func(gone *atomic.Int32) { gone.Add(1) }, &gone)
	}
	harness.Eventually(t, func() bool {
		runtime.GC()
		return gone.Load() == 200
	})
}

// connect connects a client to a server in memory.
func connect(t *testing.T, server *mcp.Server) *mcp.ClientSession {
	t.Helper()
	clientTransport, serverTransport := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), serverTransport, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(t.Context(), clientTransport, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// level is a type that decodes itself, and says in its own words what it does not take.
type level string

func (l *level) UnmarshalText(text []byte) error {
	if *l = level(text); string(text) == "none" {
		panic("none")
	}
	if string(text) != "high" {
		return errors.New("not a level: " + harness.Canary)
	}
	return nil
}

// TestAddToolProvesThatNothingRan: arguments that cannot be decoded have not come to the handler, whoever says so.
func TestAddToolProvesThatNothingRan(t *testing.T) {
	type in struct {
		Level level `json:"level"`
		Count int   `json:"count,omitempty"`
	}
	entered, destroys := 0, true
	for reader, want := range map[mask.Reader]string{
		mask.Anyone:   "Validation Error: the arguments of this call are not valid.\nSuggestion: Correct the arguments and call again.\nRetry: only with corrected arguments.",
		mask.Operator: "Validation Error: not a level: " + harness.Canary + ".\nRetry: only with corrected arguments.",
	} {
		s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{More: func(server *mcp.Server) {
			refuses := func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if r, ok := req.(*mcp.CallToolRequest); ok && r.Params.Name == "closed" {
						return nil, fault.Denied("change", "the level")
					}
					return next(ctx, method, req)
				}
			}
			server.AddReceivingMiddleware(refuses)
			for _, name := range []string{"it", "closed"} {
				middleware.AddTool(server, &mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{DestructiveHint: &destroys}, InputSchema: map[string]any{
					"type": "object", "properties": map[string]any{"count": map[string]any{"type": "integer"}},
				}}, func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
					entered++
					return nil, nil, nil
				})
			}
		}, Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler), Mask: &mask.Options{Reader: reader}})}})
		got := s.CallTool(t.Context(), "it", json.RawMessage(`{"level":"low"}`))
		text, _, _ := strings.Cut(got.Text(), "\nReference: ")
		require.Equal(t, want, text)
		require.Contains(t, s.CallTool(t.Context(), "it", json.RawMessage(`{"level":"low","count":"x"}`)).Text(), "Argument 'count' expected an integer, but received 'x'.", "by the schema")
		require.Equal(t, fault.KindPermissionDenied, s.CallTool(t.Context(), "closed", json.RawMessage(`{"level":"low"}`)).Fault().Kind(), "by somebody else")
		require.Equal(t, fault.KindInternal, s.CallTool(t.Context(), "it", json.RawMessage(`{"level":"none"}`)).Fault().Kind(), "a panic")
		require.Zero(t, entered)
		require.Equal(t, reader == mask.Operator, strings.Contains(s.Sent(), harness.Canary))
	}
}
