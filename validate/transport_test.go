package validate_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/speak"
)

// serverVariable makes of the test program a server over stdio.
const serverVariable = "MCPCHAIN_VALIDATE_SERVER"

// TestServer is no test, but the server of TestStdio.
func TestServer(t *testing.T) {
	if os.Getenv(serverVariable) == "" {
		t.Skip("it is the server process of TestStdio")
	}
	if err := shop().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func shop() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "shop"}, nil)
	orders(s)
	s.AddReceivingMiddleware(standard(nil))
	return s
}

func TestStdio(t *testing.T) {
	eras(t, func(t *testing.T, era harness.Era) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestServer$")
		cmd.Env = append(os.Environ(), serverVariable+"=1")
		useShop(t, era, &mcp.CommandTransport{Command: cmd})
	})
}

func TestHTTP(t *testing.T) {
	for name, options := range map[string]*mcp.StreamableHTTPOptions{"stateful": nil, "stateless": {Stateless: true}, "JSON": {JSONResponse: true}} {
		t.Run(name, func(t *testing.T) {
			eras(t, func(t *testing.T, era harness.Era) {
				s := shop()
				web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, options))
				defer web.Close()
				useShop(t, era, &mcp.StreamableClientTransport{Endpoint: web.URL, DisableStandaloneSSE: true})
			})
		})
	}
}

func useShop(t *testing.T, era harness.Era, transport mcp.Transport) {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).
		Connect(t.Context(), transport, speak.Version(string(era)))
	require.NoError(t, err)
	defer session.Close()
	for _, tool := range []string{"typed", "raw"} {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(`{"color":"red","items":[{"sku":"a","quantity":"five"}]}`)})
		require.NoError(t, err)
		require.True(t, res.IsError)
		require.Equal(t, fiveText, res.Content[0].(*mcp.TextContent).Text)
		res, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(`{"color":"red"}`)})
		require.NoError(t, err)
		require.False(t, res.IsError)
	}
	_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "tiped"})
	require.ErrorContains(t, err, `unknown tool "tiped". Did you mean 'typed'?`)
}
