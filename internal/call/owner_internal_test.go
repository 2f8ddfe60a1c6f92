package call

import (
	"context"
	"net/http"
	"runtime"
	"strings"
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

func TestOwners(t *testing.T) {
	a, closeA := connected(t)
	b, closeB := connected(t)
	defer closeA()
	defer closeB()
	ask := func(o *Owners, session *mcp.ServerSession, extra *mcp.RequestExtra) string {
		return o.Of(t.Context(), &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{}, Extra: extra})
	}
	user := &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: "alice"}}
	require.Equal(t, "user:alice", ask(&Owners{}, a, user))
	first := ask(&Owners{}, a, nil)
	require.Equal(t, first, ask(&Owners{}, a, nil))
	require.NotEqual(t, ask(&Owners{}, a, nil), ask(&Owners{}, b, nil))
	require.NotEmpty(t, ask(&Owners{}, a, nil))
	require.Empty(t, ask(&Owners{}, a, &mcp.RequestExtra{Header: http.Header{}}), "HTTP without a session and without a user")
	require.Empty(t, ask(&Owners{}, a, &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{}}), "a user without a name")
	require.Empty(t, ask(&Owners{}, nil, nil))
	require.Empty(t, (&Owners{}).Of(t.Context(), nil))
	for name, want := range map[string]string{"": "", "x": "own:x"} {
		require.Equal(t, want, ask(&Owners{Func: func(context.Context, mcp.Request) string { return name }}, a, user))
	}
	require.Empty(t, ask(&Owners{Func: func(context.Context, mcp.Request) string { panic("theirs") }}, a, user))
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

// TestTheNameOfAClient is read where it stands: the SDK decodes all that is said of the client.
func TestTheNameOfAClient(t *testing.T) {
	named := func(info any) mcp.Request {
		return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: mcp.Meta{mcp.MetaKeyClientInfo: info}}}
	}
	req := named(map[string]any{"name": "agent", "version": "1", "icons": []any{map[string]any{"src": strings.Repeat("x", 1<<10)}}})
	require.Equal(t, "agent", clientName(req))
	require.Zero(t, testing.AllocsPerRun(10, func() { clientName(req) }))
	require.Equal(t, "agent", clientName(named(&mcp.Implementation{Name: "agent"})))
	require.Empty(t, clientName(named(map[string]any{"name": 7})))
	require.Empty(t, clientName(named(7)))
	require.Empty(t, clientName(&mcp.CallToolRequest{}))
	require.Empty(t, clientName(nil))
}
