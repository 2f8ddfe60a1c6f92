package retry_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/retry"
)

// A database is a server whose tool "select" fails until its table was created.
type database struct {
	created bool
	runs    int // of select
}

func (d *database) serve(t *testing.T, opts *retry.Options) *harness.Session {
	return harness.Start(t, rawAt, harness.Setup{
		Middleware: chain(harness.NewLog(slog.LevelError+1), opts),
		More: func(server *mcp.Server) {
			add := func(name string, annotations *mcp.ToolAnnotations, run func() error) {
				server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}, Annotations: annotations},
					func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						if err := run(); err != nil {
							return nil, err
						}
						return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, nil
					})
			}
			add("select", readOnly, func() error {
				d.runs++
				if !d.created {
					return fault.NotFound("table", "users")
				}
				return nil
			})
			add("list", readOnly, func() error { return nil })
			add("create", nil, func() error { d.created = true; return nil })
			add("touch", harmless, func() error { return nil })
			add("fail", nil, func() error { return fault.Denied("write", "it") })
		},
	})
}

// closed makes a session whose call of select is refused.
func (d *database) closed(t *testing.T, opts *retry.Options) *harness.Session {
	s := d.serve(t, opts)
	for range 6 {
		s.Call(t, "select")
	}
	require.Equal(t, fault.KindRepeatedFailure, s.Call(t, "select").Fault().Kind())
	require.Equal(t, 6, d.runs)
	return s
}

// A caller who has changed something may try again what was closed: the change may be what was missing.
func TestAChangeOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{}
		s := d.closed(t, nil)
		require.Equal(t, "fine", s.Call(t, "create").Text())
		require.Equal(t, "fine", s.Call(t, "select").Text())
		require.Equal(t, "fine", s.Call(t, "select").Text())
	})
}

// What only reads changes nothing, nor does a call that failed.
func TestAReadOpensNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{}
		s := d.closed(t, nil)
		for range 20 {
			require.Equal(t, "fine", s.Call(t, "list").Text())
			require.NotNil(t, s.Call(t, "fail").Fault())
			require.Equal(t, fault.KindRepeatedFailure, s.Call(t, "select").Fault().Kind())
		}
		require.Equal(t, 6, d.runs)
	})
}

// A change and a failure by turns come to an end: a pause has one trial, and its end another run.
func TestAChangeAndAFailureByTurnsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{}
		s := d.closed(t, nil)
		for i := range 20 {
			require.Equal(t, "fine", s.Call(t, "touch").Text())
			s.Call(t, "select")
			require.Equal(t, 7, d.runs, "one trial a pause", i)
			require.Equal(t, fault.KindRepeatedFailure, s.Call(t, "select").Fault().Kind())
		}
		// A new pause has a new one.
		time.Sleep(30 * time.Second)
		s.Call(t, "select")
		require.Equal(t, 8, d.runs)
		s.Call(t, "touch")
		s.Call(t, "select")
		s.Call(t, "select")
		require.Equal(t, 9, d.runs)
	})
}

// The change of one caller says nothing of another's calls. It may be made by the tool whose call is refused, with other
// arguments: one tool runs all statements.
func TestWhoseChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{}
		owner := "ann"
		s := d.closed(t, &retry.Options{Owner: func(context.Context, mcp.Request) string { return owner }})
		owner = "bob"
		s.Call(t, "create")
		owner = "ann"
		require.Equal(t, fault.KindRepeatedFailure, s.Call(t, "select").Fault().Kind())

		n := 0
		own := annotated(t, nil, nil, func(_ context.Context, req mcp.Request) (mcp.Result, error) {
			if string(req.GetParams().(*mcp.CallToolParamsRaw).Arguments) == `{"n":1}` {
				n++
				return nil, fault.New(fault.KindConflict, "locked")
			}
			return harness.Success(req), nil
		})
		for range 7 {
			own.CallTool(t.Context(), "it", map[string]any{"n": 1})
		}
		require.Equal(t, 6, n)
		for i := range 5 {
			own.CallTool(t.Context(), "it", map[string]any{"n": 2})
			own.CallTool(t.Context(), "it", map[string]any{"n": 1})
			own.CallTool(t.Context(), "it", map[string]any{"n": 1})
			require.Equal(t, 7, n, "one trial in a pause", i)
		}
	})
}

// Nothing is looked up after a success while nothing is closed.
func TestASuccessCostsNothing(t *testing.T) {
	lists := 0
	s := (&database{created: true}).serve(t, nil)
	s.Server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				lists++
			}
			return next(ctx, method, req)
		}
	})
	for i := range 3 {
		s.CallTool(t.Context(), "create", map[string]any{"n": fmt.Sprint(i)})
	}
	require.Zero(t, lists)
}
