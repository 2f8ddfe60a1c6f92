package budget_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
)

// TestNotOfferedToWhomItIsNotListed: a budget that only some calls pass adds its tool to no list
// that a caller gets, so its answers do not name that tool. One that stands around the server as
// well does.
func TestNotOfferedToWhomItIsNotListed(t *testing.T) {
	long := make([]int, 5000)
	handler := func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, map[string][]int, error) {
		return nil, map[string][]int{"items": long}, nil
	}
	tool, small := &mcp.Tool{Name: "list"}, &budget.Options{Size: 500}
	plain := func(s *mcp.Server) { mcp.AddTool(s, tool, handler) }
	own := func(mw ...mcp.Middleware) func(*mcp.Server) {
		return func(s *mcp.Server) { middleware.AddTool(s, tool, handler, mw...) }
	}
	calls := func(method string, _ mcp.Request) bool { return method == middleware.MethodCallTool }
	lists := func(method string, _ mcp.Request) bool { return method != "ping" }
	of := func(mw ...mcp.Middleware) []mcp.Middleware { return mw }
	for name, c := range map[string]struct {
		more    func(*mcp.Server)
		mw      []mcp.Middleware
		offered bool
	}{
		"AddTool":              {own(budget.New(small)), nil, false},
		"AddTool, mask":        {own(mask.New(nil), budget.New(small)), nil, false},
		"AddTool, mask around": {own(budget.New(small)), of(mask.New(nil)), false},
		"ForTools":             {plain, of(middleware.ForTools(budget.New(small), "list")), false},
		"ForTools, both":       {plain, of(middleware.ForTools(budget.New(small), "list", "read_more")), false},
		"When":                 {plain, of(middleware.When(budget.New(small), calls)), false},
		"When in When":         {plain, of(middleware.When(middleware.When(budget.New(small), lists), calls)), false},
		"When, lists too":      {plain, of(middleware.When(budget.New(small), lists)), true},
		"around":               {plain, of(budget.New(small)), true},
	} {
		s := harness.Start(t, harness.Place{Shape: harness.ServerTyped, Era: harness.Current}, harness.Setup{More: c.more, Middleware: c.mw})
		listed, err := s.Client.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, c.offered, len(listed.Tools) == 2, name)
		got := s.CallTool(t.Context(), "list", nil)
		note := got.Tool().Content[1].(*mcp.TextContent).Text
		if c.offered {
			require.Contains(t, note, "For the rest call read_more", name)
		} else {
			require.Regexp(t, `^Shown: \d+ of 5000 items of 'items'\. The rest cannot be shown\. Ask for less at a time, if the tool allows it\.$`, note, name)
		}
	}
}
