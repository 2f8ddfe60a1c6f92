package mcpgo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	wrapped "github.com/mcpchain/mcpchain/contrib/mcpgo"
	"github.com/mcpchain/mcpchain/internal/child"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

// A server of mcp-go with the whole chain.
func Example() {
	chain := mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	s := server.NewMCPServer("weather", "1.0.0", wrapped.Server(chain))
	s.AddTool(mcpgo.NewTool("forecast", mcpgo.WithString("city", mcpgo.Required()), mcpgo.WithReadOnlyHintAnnotation(true)),
		func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			city, err := req.RequireString("city")
			if err != nil {
				return nil, err
			}
			if city == "Atlantis" {
				return nil, errors.New("pq: password authentication failed for user admin at 10.0.0.7")
			}
			return mcpgo.NewToolResultText("Sunny in " + city + "."), nil
		})

	ctx := context.Background()
	c, err := client.NewInProcessClient(s)
	if err != nil {
		panic(err)
	}
	if _, err := c.Initialize(ctx, mcpgo.InitializeRequest{}); err != nil {
		panic(err)
	}
	for _, arguments := range []any{map[string]any{"city": "Rome"}, map[string]any{"city": 7}, map[string]any{"city": "Atlantis"}} {
		var req mcpgo.CallToolRequest
		req.Params.Name, req.Params.Arguments = "forecast", arguments
		res, err := c.CallTool(ctx, req)
		if err != nil {
			panic(err)
		}
		text, _ := res.Content[0].(mcpgo.TextContent)
		shown, _, _ := strings.Cut(text.Text, "\nReference: ") // which is another one each time
		fmt.Println(shown)
	}
	// Output:
	// Sunny in Rome.
	// Validation Error: Argument 'city' expected a string, but received 7.
	// Retry: only with corrected arguments.
	// Internal error: the server failed unexpectedly.
	// Retry: yes (attempt 2 of 2). One more try does no harm.
}

// The functions below are the code of README.md: TestReadme fails when a line there does not
// stand here.

func readmeServer() *server.MCPServer {
	return server.NewMCPServer("weather", "1.0.0", wrapped.Server(mcpchain.Standard(nil)))
}

func readmeHandlers(s *server.MCPServer, tool mcpgo.Tool, handler server.ToolHandlerFunc, resource mcpgo.Resource, read server.ResourceHandlerFunc) {
	s.AddTool(tool, wrapped.Tool(handler, mcprecover.New(nil)))
	s.AddResource(resource, wrapped.Resource(read, mcprecover.New(nil)))
}

// TestReadme: the whole server of README.md is that of examples/weather, whose test compares its answers
// with output.golden; the other lines stand here.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	code := strings.ReplaceAll(string(source), "wrapped.", "mcpgo.")
	code = strings.ReplaceAll(code, "return ", "")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 3)
	whole, err := os.ReadFile("examples/weather/main.go")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(whole), "\n"+blocks[1][1]), "README.md shows another server")
	require.True(t, strings.HasPrefix(blocks[1][1], "package main\n"))
	answers, err := os.ReadFile("examples/weather/output.golden")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, shown, 1)
	require.Contains(t, string(answers), shown[0][1])
	child.Untagged(t, "../..", blocks[1][1])
	for _, block := range [][]string{blocks[0], blocks[2]} {
		for line := range strings.Lines(block[1]) {
			_, value, assigned := strings.Cut(line, ":= ")
			if !assigned {
				value = strings.ReplaceAll(line, "return ", "")
			}
			require.Contains(t, code, strings.TrimSpace(value))
		}
	}
	require.NotNil(t, readmeServer())
	require.NotNil(t, readmeHandlers)
}
