package mcpchain_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/state"
	"github.com/mcpchain/mcpchain/task"
)

// TestEachFieldTakesItsOwn puts each middleware into each field that takes one.
func TestEachFieldTakesItsOwn(t *testing.T) {
	fits := map[string]mcp.Middleware{
		"Audit":       audit.New(&audit.Options{Log: audit.NewLog(func([]audit.Entry) error { return nil }, nil)}),
		"Batch":       batch.New(nil),
		"Budget":      budget.New(nil),
		"Deadline":    deadline.New(nil),
		"Degrade":     degrade.New(nil),
		"Drain":       drain.New(&drain.Options{Drain: &drain.Drain{}}),
		"Limit":       limit.New(nil),
		"Replay":      replay.New(nil),
		"RetryServer": retry.Server(nil),
		"State":       state.New(nil),
		"Task":        task.New(nil),
	}
	others := map[string]mcp.Middleware{
		"retry.New": retry.New(nil), "Standard": mcpchain.Standard(nil), "none": mcpchain.Chain(), "Sending": deadline.Sending(),
	}
	fields := 0
	all := reflect.TypeFor[mcpchain.Options]()
	for i := range all.NumField() {
		field := all.Field(i)
		if field.Type != reflect.TypeFor[mcp.Middleware]() {
			continue
		}
		fields++
		with := func(mw mcp.Middleware) func() {
			var o mcpchain.Options
			reflect.ValueOf(&o).Elem().Field(i).Set(reflect.ValueOf(mw))
			return func() { mcpchain.Standard(&o) }
		}
		own := fits[field.Name]
		require.NotPanics(t, with(own), field.Name)
		around := require.NotPanics
		if field.Name == "Task" { // whose halves would stand side by side
			around = require.Panics
		}
		around(t, with(mcpchain.Chain(own, nil, own)), field.Name)
		around(t, with(middleware.ForTools(own, "search")), field.Name)
		around(t, with(func(next mcp.MethodHandler) mcp.MethodHandler { return own(next) }), field.Name)
		for name, mw := range fits {
			if name == field.Name {
				continue
			}
			require.Panics(t, with(mw), "%s in %s", name, field.Name)
			require.Panics(t, with(mcpchain.Chain(mw, own)), "%s before another in %s", name, field.Name)
			require.Panics(t, with(mcpchain.Chain(own, mw)), "%s behind another in %s", name, field.Name)
		}
		for name, mw := range others {
			require.Panics(t, with(mw), "%s in %s", name, field.Name)
		}
	}
	require.Len(t, fits, fields)
}

func TestWhatAFieldRefuses(t *testing.T) {
	require.PanicsWithValue(t, "mcpchain.Standard: Options.Limit holds a middleware of deadline.New; give one of limit.New", func() {
		mcpchain.Standard(&mcpchain.Options{Limit: deadline.New(nil), Observe: true})
	})
	require.PanicsWithValue(t, "mcpchain.Standard: Options.RetryServer holds a middleware of retry.New; give one of retry.Server", func() {
		mcpchain.Standard(&mcpchain.Options{RetryServer: retry.New(nil)})
	})
	require.PanicsWithValue(t, "mcpchain.Standard: Options.Task holds a middleware around that of task.New; give it as it is, and select tools with task.Options.Tools", func() {
		mcpchain.Standard(&mcpchain.Options{Task: middleware.ForTools(task.New(nil), "report")})
	})
	ran := false
	for name, mw := range map[string]mcp.Middleware{
		"passes": func(next mcp.MethodHandler) mcp.MethodHandler { return next },
		"panics": func(next mcp.MethodHandler) mcp.MethodHandler { panic("no handler") },
		"runs": func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(context.Context, string, mcp.Request) (mcp.Result, error) { ran = true; return nil, nil }
		},
	} {
		require.PanicsWithValue(t, "mcpchain.Standard: Options.Limit holds a middleware that is not one of limit.New; give yours as an inner one", func() {
			mcpchain.Standard(&mcpchain.Options{Limit: mw})
		}, name)
	}
	require.False(t, ran, "it is asked without a call")
}

func TestNoHandler(t *testing.T) {
	const want = "limit.New: the middleware got a nil handler; give it the handler that it stands in front of"
	require.PanicsWithError(t, want, func() { limit.New(nil)(nil) })
	require.PanicsWithError(t, want, func() { mcpchain.Chain(limit.New(nil), limit.New(nil))(nil) })
	require.PanicsWithError(t, strings.ReplaceAll(want, "limit", "task"), func() { task.New(nil)(nil) })
	require.PanicsWithError(t, "mcpchain"+want[len("limit.New"):], func() { mcpchain.Standard(nil)(nil) })
}
