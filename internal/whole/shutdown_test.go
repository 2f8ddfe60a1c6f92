package whole_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

// ending returns what a handler of a typed tool fails with when its context ends.
var ending = map[string]func(ctx context.Context) error{
	"the error of the context":  func(ctx context.Context) error { return ctx.Err() },
	"its cause":                 context.Cause,
	"its cause, wrapped":        func(ctx context.Context) error { return fmt.Errorf("loading: %w", context.Cause(ctx)) },
	"both":                      func(ctx context.Context) error { return fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx)) },
	"joined with something":     func(ctx context.Context) error { return errors.Join(errors.New("rollback failed"), context.Cause(ctx)) },
	"what net/http makes of it": inHTTP,
	"the words of a driver":     func(context.Context) error { return errors.New("pq: canceling statement due to user request") },
	"its own limit":             func(context.Context) error { return context.DeadlineExceeded },
	"a fault around it":         func(ctx context.Context) error { return fault.Unavailable("the bank").Because(context.Cause(ctx)) },
	"a part of an answer": func(ctx context.Context) error {
		_, err := degrade.Run(ctx, degrade.Required("rates", new(int), func(ctx context.Context) (int, error) { return 0, ctx.Err() }))
		return err
	},
	"an internal fault": func(context.Context) error { return fault.New(fault.KindInternal, "the order was not placed") },
}

// inHTTP is what a request fails with that the end of its context cuts.
func inHTTP(ctx context.Context) error {
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:1", nil)
	req.RequestURI = ""
	_, err := http.DefaultClient.Do(req) //nolint:bodyclose // there is none
	return err
}

// TestACallThatTheEndOfTheServerCut: whatever its handler says, it is the server's, it is recorded as
// no bug, and a tool that may run twice may be called again.
func TestACallThatTheEndOfTheServerCut(t *testing.T) {
	for name, fail := range ending {
		for tool, a := range map[string]struct {
			annotations *mcp.ToolAnnotations
			again       bool
		}{
			"writes":     {nil, false},
			"idempotent": {&mcp.ToolAnnotations{IdempotentHint: true}, true},
			"reads":      {&mcp.ToolAnnotations{ReadOnlyHint: true}, true},
		} {
			for _, limit := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%v", name, tool, limit), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						log, d := harness.NewLog(slog.LevelInfo), &drain.Drain{}
						opts := &mcpchain.Options{Logger: log.Logger(), Drain: drain.New(&drain.Options{Drain: d})}
						if limit {
							opts.Deadline = deadline.New(nil)
						}
						ended := false
						session := connected(t, mcpchain.Standard(opts), a.annotations, func(ctx context.Context) error {
							<-ctx.Done()
							time.Sleep(time.Second) // cleaning up
							ended = true
							return fail(ctx)
						})
						got := make(chan *fault.Error, 1)
						go func() {
							f, _ := middleware.FaultOf(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "it"}))
							got <- f
						}()
						synctest.Wait()
						over, cancel := context.WithTimeout(t.Context(), time.Second)
						defer cancel()
						require.NoError(t, d.Shutdown(over))
						require.True(t, ended, "it had the grace to end")
						f := <-got
						require.Equal(t, fault.KindServiceUnavailable, f.Kind())
						require.Equal(t, fault.PartyServer, f.Party())
						require.NotContains(t, f.Text(), "Tell the user")
						said, _ := f.Retry()
						require.Equal(t, a.again, said.ShouldRetry)
						records := slices.DeleteFunc(log.Records(), func(r harness.Record) bool { return r["msg"] != "mcp call" })
						require.Len(t, records, 1, log.String())
						r := records[0]
						require.Equal(t, "unavailable", r["outcome"])
						require.Equal(t, "WARN", r["level"])
						require.Equal(t, "server", r["party"])
					})
				})
			}
		}
	}
}

// connected returns a session with a server of one tool, which takes nothing.
func connected(t *testing.T, mw mcp.Middleware, annotations *mcp.ToolAnnotations, handle func(context.Context) error) *mcp.ClientSession {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "it", Annotations: annotations}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		return nil, nil, handle(ctx)
	})
	server.AddReceivingMiddleware(mw)
	ours, theirs := mcp.NewInMemoryTransports()
	ss, err := server.Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), ours, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = session.Close(), ss.Wait() })
	return session
}
