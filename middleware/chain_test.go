package middleware_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

func TestChainOrder(t *testing.T) {
	var tr harness.Trace
	m := tr.Middleware
	for _, c := range []struct {
		name  string
		chain mcp.Middleware
		want  string
	}{
		{"empty", middleware.Chain(), "h"},
		{"two", middleware.Chain(m("a"), m("b")), ">a >b h <b <a"},
		{"nil entries between", middleware.Chain(nil, m("a"), nil, m("b"), nil), ">a >b h <b <a"},
		{"nested", middleware.Chain(m("a"), middleware.Chain(m("b"), m("c")), m("d")), ">a >b >c >d h <d <c <b <a"},
		{"the same twice", middleware.Chain(m("a"), m("a")), ">a >a h <a <a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := &mcp.CallToolResult{}
			res, err := invoke(c.chain, func(context.Context, string, mcp.Request) (mcp.Result, error) {
				tr.Note("h")
				return want, errSecret
			})
			require.Equal(t, c.want, tr.Take())
			require.Same(t, want, res)
			require.Equal(t, errSecret, err)
		})
	}
}

func TestChainCopiesItsSlice(t *testing.T) {
	var tr harness.Trace
	mw := []mcp.Middleware{tr.Middleware("a"), tr.Middleware("b"), nil}
	chain := middleware.Chain(mw...)
	mw[0], mw[1] = tr.Middleware("x"), nil

	_, err := invoke(chain, returns(nil, nil))
	require.NoError(t, err)
	require.Equal(t, ">a >b <b <a", tr.Take())
	require.NotNil(t, mw[0], "the caller's slice is not written to")
	require.Nil(t, mw[1])
	require.Nil(t, mw[2])
}

func TestChainIsBuiltOnceAndMayBeUsedAgain(t *testing.T) {
	built := 0
	mw := func(next mcp.MethodHandler) mcp.MethodHandler {
		built++
		return next
	}
	chain := middleware.Chain(mw, mw)
	require.Zero(t, built)
	h := chain(returns(nil, nil))
	require.Equal(t, 2, built)
	for range 3 {
		_, _ = h(t.Context(), "ping", nil)
	}
	require.Equal(t, 2, built)
	chain(returns(nil, nil))
	require.Equal(t, 4, built)
}

func TestChainSaysWhichMiddlewareReturnsNoHandler(t *testing.T) {
	var tr harness.Trace
	broken := func(mcp.MethodHandler) mcp.MethodHandler { return nil }
	require.PanicsWithValue(t, "middleware.Chain: middleware 2 of 3 returned a nil handler", func() {
		middleware.Chain(tr.Middleware("a"), broken, tr.Middleware("c"))(returns(nil, nil))
	})
	require.PanicsWithValue(t, "middleware.Chain: middleware 1 of 1 returned a nil handler", func() {
		middleware.Chain(broken)(returns(nil, nil))
	})
	require.PanicsWithValue(t, "middleware.Chain: middleware 1 of 1 returned a nil handler", func() {
		middleware.ForTools(broken, "t")(returns(nil, nil))
	})
	require.PanicsWithValue(t, "middleware.Chain: middleware 1 of 1 returned a nil handler", func() {
		middleware.Tool(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil }, broken)
	})
}
