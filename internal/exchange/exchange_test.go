package exchange_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/exchange"
)

type waiter struct{ written int }

func (w *waiter) Written() { w.written++ }

// TestTake finds an Exchange once, and leaves in the header what the client sent, but for a key.
func TestTake(t *testing.T) {
	other := exchange.New()
	defer other.End()
	theirs := http.Header{"A": {"b"}, "Connection": {"keep-alive"}, exchange.Header: other.Extra().Header[exchange.Header]}
	x, with := (&exchange.Front{}).New(theirs)
	require.Len(t, with[exchange.Header], 1)
	require.NotEqual(t, theirs[exchange.Header], with[exchange.Header], "a client cannot name another's")
	require.Equal(t, []string{"keep-alive", exchange.Header}, with["Connection"], "no proxy passes it on")
	require.Equal(t, []string{"keep-alive"}, theirs["Connection"])

	req := &mcp.CallToolRequest{Extra: &mcp.RequestExtra{Header: with}}
	require.Same(t, x, exchange.Take(req))
	require.Equal(t, http.Header{"A": {"b"}, "Connection": {"keep-alive"}}, req.Extra.Header)
	require.Nil(t, exchange.Take(req))

	w := &waiter{}
	require.True(t, x.Await(w))
	x.End()
	require.Equal(t, 1, w.written)
	require.False(t, x.Await(w))
	require.Nil(t, exchange.Take(&mcp.CallToolRequest{Extra: &mcp.RequestExtra{Header: with}}), "it has ended")
	require.Equal(t, 1, w.written)
}

// TestFrontInFront: what a front has put into a header is not for another one inside of it, nor for a handler.
func TestFrontInFront(t *testing.T) {
	for _, theirs := range [][]string{nil, {"keep-alive"}, {"keep-alive, X-Mine", "upgrade"}} {
		sent := http.Header{"A": {"b"}}
		if theirs != nil {
			sent["Connection"] = theirs
		}
		outer, header := (&exchange.Front{}).New(sent)
		t.Cleanup(outer.End)
		inner, header := (&exchange.Front{}).New(header)
		t.Cleanup(inner.End)
		require.Equal(t, append(slices.Clip(theirs), exchange.Header), header["Connection"], "once")
		require.Equal(t, sent, exchange.Without(header))
		req := &mcp.CallToolRequest{Extra: &mcp.RequestExtra{Header: header}}
		require.Same(t, inner, exchange.Take(req))
		require.Equal(t, sent, req.Extra.Header)
	}
	for line, want := range map[string][]string{
		"mcpchain-EXCHANGE": nil, "Mcpchain-Exchange": nil, "Mcpchain-Exchange-2": {"Mcpchain-Exchange-2"},
	} {
		require.Equal(t, want, exchange.Without(http.Header{"Connection": {line}})["Connection"], line)
	}
}

// TestTakeOfOthers: what brought a request is not known, or is over stdio.
func TestTakeOfOthers(t *testing.T) {
	x := exchange.New()
	defer x.End()
	for _, req := range []mcp.Request{
		nil, (*mcp.CallToolRequest)(nil), &mcp.CallToolRequest{}, &mcp.ClientRequest[*mcp.PingParams]{},
		&mcp.CallToolRequest{Extra: &mcp.RequestExtra{}},
		&mcp.CallToolRequest{Extra: &mcp.RequestExtra{Header: http.Header{exchange.Header: nil}}},
		&mcp.CallToolRequest{Extra: &mcp.RequestExtra{Header: http.Header{exchange.Header: {"guessed"}}}},
	} {
		require.Nil(t, exchange.Take(req))
	}
	tool := &mcp.CallToolRequest{Extra: x.Extra()}
	require.Same(t, x, exchange.Take(tool))
	require.Nil(t, tool.Extra)
	other := &mcp.ServerRequest[*mcp.ListToolsParams]{Extra: x.Extra()}
	require.Same(t, x, exchange.Take(other))
	require.Nil(t, other.Extra)
	wrapped := struct{ *mcp.CallToolRequest }{&mcp.CallToolRequest{Extra: x.Extra()}}
	require.Same(t, x, exchange.Take(wrapped))
	require.Empty(t, exchange.Without(nil))
}

// TestFront ends its streams when nobody is left who may send something there.
func TestFront(t *testing.T) {
	f, ended := &exchange.Front{}, 0
	end := func() { ended++ }
	gone := f.Stream(end)
	stands := f.Stream(end)
	f.Join("a")
	f.Join("b")
	f.Part("a")
	f.Part("nobody")
	f.Join("a") // that does not come back
	gone()
	require.Zero(t, ended)
	f.Part("b")
	require.Equal(t, 1, ended)
	stands()
	f.Stream(end)()
	require.Equal(t, 2, ended, "one that comes later")
}
