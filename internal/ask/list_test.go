package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A caller calls the tool b of a server that lists one tool a page. Package call tests what is asked through
// real chains.
type caller struct {
	place  *Place
	tools  []string
	behind []string // what the handler behind the middlewares lists; nil if the caller passes them
	fails  error

	asked int
}

var session mcp.ServerSession

func (c *caller) Request() mcp.Request {
	return &mcp.CallToolRequest{Session: &session, Params: &mcp.CallToolParamsRaw{Name: c.Target()}}
}
func (c *caller) Target() string { return "b" }
func (c *caller) Place() *Place  { return c.place }

func (c *caller) Ask(handler mcp.MethodHandler, method string, req mcp.Request) (res, behind mcp.Result, err error) {
	if c.behind != nil {
		list := &mcp.ListToolsResult{}
		for _, name := range c.behind {
			list.Tools = append(list.Tools, &mcp.Tool{Name: name})
		}
		behind = list
	}
	res, err = handler(context.Background(), method, req)
	return res, behind, err
}

func (c *caller) list(_ context.Context, method string, req mcp.Request) (mcp.Result, error) {
	if c.asked++; c.fails != nil {
		return nil, c.fails
	}
	if method != ListTools {
		return nil, fmt.Errorf("asked for %s", method)
	}
	at := 0
	_, _ = fmt.Sscan(req.(*mcp.ListToolsRequest).Params.Cursor, &at)
	res := &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: c.tools[at]}}}
	if at+1 < len(c.tools) {
		res.NextCursor = fmt.Sprint(at + 1)
	}
	return res, nil
}

func listed(t *testing.T, c *caller) (names []string, err error) {
	t.Helper()
	for tool, err := range (Server{c}).Tools() {
		if err != nil {
			return names, err
		}
		names = append(names, tool.Name)
	}
	return names, nil
}

func TestServer(t *testing.T) { synctest.Test(t, testServer) } // so that a second does not pass

func testServer(t *testing.T) {
	c := &caller{place: &Place{}, tools: []string{"a", "b", "c"}}
	c.place.Self = c.list
	names, err := listed(t, c)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, names)
	require.Equal(t, 3, c.asked)

	tool, err := Server{c}.Tool(nil)
	require.NoError(t, err)
	require.Equal(t, "b", tool.Name)
	require.Equal(t, 5, c.asked, "until it is found")
	again, ok := Server{c}.Remembered(nil)
	require.True(t, ok)
	require.Same(t, tool, again)
	require.Equal(t, 5, c.asked)
	now, err := Server{c}.ToolNow(nil)
	require.NoError(t, err)
	require.NotSame(t, tool, now)
	require.Equal(t, 6, c.asked, "the page where it stood")
	require.Equal(t, []string{"a", "b", "c"}, slices.Concat(Server{c}.Names()...))
	require.Equal(t, 7, c.asked, "the page that is not remembered")
	time.Sleep(time.Nanosecond)
	c.place.Forget()
	_, ok = Server{c}.Remembered(nil)
	require.False(t, ok, "the server said that it lists something else")
}

// TestServerOfWhatIsMissing: without a place, a list or the tool there is an error.
func TestServerOfWhatIsMissing(t *testing.T) {
	c := &caller{tools: []string{"a"}}
	_, err := Server{c}.Tool(nil)
	require.ErrorIs(t, err, errNoServer, "nobody to ask")
	require.False(t, Server{c}.MayLook())
	_, err = Server{c}.Tool(c.list)
	require.ErrorIs(t, err, ErrNotListed)
	c.fails = errors.New("down")
	_, err = Server{c}.Tool(c.list)
	require.ErrorIs(t, err, c.fails)
	require.Empty(t, Server{c}.Names())
}

// TestServerBehindMiddlewares: what middlewares add that the caller does not pass is left out.
func TestServerBehindMiddlewares(t *testing.T) {
	c := &caller{place: &Place{}, tools: []string{"a", "added"}, behind: []string{"a", "b"}}
	c.place.Self = c.list
	names, err := listed(t, c)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, names)
}
