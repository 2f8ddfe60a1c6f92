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
