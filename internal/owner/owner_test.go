package owner

import (
	"context"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/call"
)

func connected(t *testing.T) (*mcp.ServerSession, func()) {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	session, err := server.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	return session, func() { _ = client.Close(); _ = session.Wait() }
}

func TestFinder(t *testing.T) {
	a, closeA := connected(t)
	b, closeB := connected(t)
	defer closeA()
	defer closeB()
	ask := func(o *Finder, session *mcp.ServerSession, extra *mcp.RequestExtra) string {
		return o.Of(t.Context(), &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{}, Extra: extra})
	}
	user := &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: "alice"}}
	require.Equal(t, "user:alice", ask(&Finder{}, a, user))
	first := ask(&Finder{}, a, nil)
	require.Equal(t, first, ask(&Finder{}, a, nil))
	require.NotEqual(t, ask(&Finder{}, a, nil), ask(&Finder{}, b, nil))
	require.NotEmpty(t, ask(&Finder{}, a, nil))
	require.Empty(t, ask(&Finder{}, a, &mcp.RequestExtra{Header: http.Header{}}), "HTTP without a session and without a user")
	require.Empty(t, ask(&Finder{}, a, &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{}}), "a user without a name")
	require.Empty(t, ask(&Finder{}, nil, nil))
	require.Empty(t, (&Finder{}).Of(t.Context(), nil))
	for name, want := range map[string]string{"": "", "x": "own:x"} {
		require.Equal(t, want, ask(&Finder{Func: func(context.Context, mcp.Request) string { return name }}, a, user))
	}
	require.Empty(t, ask(&Finder{Func: func(context.Context, mcp.Request) string { panic("theirs") }}, a, user))
}

// TestAnItemHasTheCallerOfItsList, however deep it lies: its own request lacks what came with that.
func TestAnItemHasTheCallerOfItsList(t *testing.T) {
	f := Finder{Func: func(_ context.Context, req mcp.Request) string {
		tenant, _ := req.GetParams().GetMeta()["tenant"].(string)
		return tenant
	}}
	item := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "pay"}}
	list := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "pay_all", Meta: mcp.Meta{"tenant": "a"}}}
	asked := 0
	_, _ = call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, _ call.Handler) (mcp.Result, error) {
		below := c.Below(ctx, "0", item)
		for _, of := range []string{f.Of(ctx, req), f.Of(below, item), f.Of(below.Below(below, "part", item), item)} {
			require.Equal(t, "own:a", of)
			asked++
		}
		return &mcp.CallToolResult{}, nil
	})(nil)(t.Context(), call.MethodCallTool, list)
	require.Equal(t, 3, asked)
}

// TestConnectionsThatAreGoneLeaveNothing proves that the table of connections shrinks.
func TestConnectionsThatAreGoneLeaveNothing(t *testing.T) {
	count := connections.Len
	before := count()
	for range 20 {
		session, end := connected(t)
		require.NotEmpty(t, Connection(&mcp.CallToolRequest{Session: session}))
		end()
	}
	require.Eventually(t, func() bool {
		runtime.GC()
		return count() <= before
	}, 10*time.Second, 10*time.Millisecond)
}
