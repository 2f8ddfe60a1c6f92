package authority

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/transport"
)

// Notes is a server that an [Authority] protects. Its tool read_note needs a token; write_note needs the
// scope notes:write. Both look at the token themselves, beside the guard.
type Notes struct {
	URL            string
	Reads, Written atomic.Int64 // calls that succeeded
}

// Serve starts a server that lasts as long as the test.
func Serve(t testing.TB, a *Authority, opts mcp.StreamableHTTPOptions) *Notes {
	t.Helper()
	n := &Notes{}
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	tool := func(name, scope string, annotations *mcp.ToolAnnotations, done *atomic.Int64) {
		mcp.AddTool(server, &mcp.Tool{Name: name, Annotations: annotations}, func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			info := req.Extra.TokenInfo
			switch {
			case a.Expired(info):
				return nil, nil, fault.Unauthenticated("your access has expired")
			case !slices.Contains(info.Scopes, scope):
				return nil, nil, fault.Denied("do this with", "notes").Needs(scope)
			}
			done.Add(1)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
		})
	}
	tool("read_note", "notes:read", &mcp.ToolAnnotations{ReadOnlyHint: true}, &n.Reads)
	tool("write_note", "notes:write", nil, &n.Written)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler), Replay: replay.New(nil)}))

	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	n.URL = web.URL + "/mcp"
	metadata := web.URL + "/.well-known/oauth-protected-resource/mcp"
	guard := auth.RequireBearerToken(a.Verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: metadata})
	mux.Handle("/.well-known/oauth-protected-resource/mcp", a.Metadata(n.URL, "notes:read"))
	mux.Handle("/mcp", transport.HTTP(guard(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &opts)), nil))
	return n
}
