package otel_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/attribute"

	"github.com/mcpchain/mcpchain"
	mcpotel "github.com/mcpchain/mcpchain/contrib/otel"
	"github.com/mcpchain/mcpchain/internal/child"
	"github.com/mcpchain/mcpchain/middleware"
	retryclient "github.com/mcpchain/mcpchain/retry/client"
)

// The functions below are the code of README.md: TestReadme fails when a line there does not
// stand here.

func readme(server *mcp.Server, client *mcp.Client) {
	server.AddReceivingMiddleware(mcpotel.New(nil), mcpchain.Standard(nil))
	client.AddSendingMiddleware(mcpotel.Client(nil))
}

func readmeTrust() mcp.Middleware {
	return mcpotel.New(&mcpotel.Options{
		Trust: func(_ context.Context, req mcp.Request) bool {
			extra := req.GetExtra()
			return extra != nil && extra.TokenInfo != nil && extra.TokenInfo.UserID == "gateway"
		},
	})
}

func readmeAttributes() mcp.Middleware {
	return mcpotel.New(&mcpotel.Options{
		Attributes: func(_ context.Context, req mcp.Request) []attribute.KeyValue {
			if _, ok := req.(*mcp.ReadResourceRequest); ok {
				return []attribute.KeyValue{attribute.String("mcp.resource.uri", middleware.Target(req))}
			}
			return nil
		},
	})
}

func readmeLogs(server *mcp.Server) {
	logger := otelslog.NewLogger("weather")
	server.AddReceivingMiddleware(mcpotel.New(nil), mcpchain.Standard(&mcpchain.Options{Logger: logger}))
}

func readmeItems(server *mcp.Server, client *mcp.Client, tool *mcp.Tool, handler mcp.ToolHandler, opts *mcpchain.Options) {
	tracing := mcpotel.New(nil)
	server.AddReceivingMiddleware(tracing, mcpchain.Standard(opts, tracing)) // the items of a batch
	server.AddTool(tool, middleware.Tool(handler, tracing))                  // the attempts of retry.Server

	sending := mcpotel.Client(nil)
	client.AddSendingMiddleware(sending, retryclient.New(nil), sending) // the attempts of a client
}

func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 5)
	child.Untagged(t, "../..", "package main\n\nimport (\n\"github.com/mcpchain/mcpchain\"\nmcpotel \"github.com/mcpchain/mcpchain/contrib/otel\"\n"+
		"\"github.com/modelcontextprotocol/go-sdk/mcp\"\n)\n\n"+
		"var (\nserver = mcp.NewServer(&mcp.Implementation{}, nil)\nclient = mcp.NewClient(&mcp.Implementation{}, nil)\n)\n\nfunc main() {\n"+blocks[0][1]+"}\n")
	for _, block := range blocks {
		for line := range strings.Lines(block[1]) {
			require.Contains(t, string(source), strings.TrimSpace(line))
		}
	}
	// Every attribute and metric that is described there is one of ours, and every one of ours
	// is described there.
	names, err := os.ReadFile("names.go")
	require.NoError(t, err)
	for _, name := range regexp.MustCompile(`"([a-z_]+(\.[a-z_]+)+)"`).FindAllStringSubmatch(string(names), -1) {
		require.Contains(t, string(text), "`"+name[1]+"`")
	}
	var none mcpotel.Options
	require.Nil(t, none.Trust)
	for _, run := range []any{readme, readmeTrust, readmeAttributes, readmeLogs, readmeItems} {
		require.NotNil(t, run)
	}
}
