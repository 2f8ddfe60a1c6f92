package recover_test

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

func TestMaxResult(t *testing.T) {
	text := func(n int) *mcp.TextContent { return &mcp.TextContent{Text: strings.Repeat("x", n)} }
	for name, tc := range map[string]struct {
		method string
		size   int
		res    func(n int) mcp.Result
	}{
		"text": {middleware.MethodCallTool, 100, func(n int) mcp.Result {
			return &mcp.CallToolResult{Content: []mcp.Content{text(n - 9), text(9)}}
		}},
		"structured": {middleware.MethodCallTool, 100, func(n int) mcp.Result {
			return &mcp.CallToolResult{StructuredContent: map[string]any{"a": strings.Repeat("x", n-8)}} // {"a":""}
		}},
		"image": {middleware.MethodCallTool, 75, func(n int) mcp.Result { // 100 in base64
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: make([]byte, n)}}}
		}},
		"audio": {middleware.MethodCallTool, 75, func(n int) mcp.Result {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.AudioContent{Data: make([]byte, n)}}}
		}},
		"embedded": {middleware.MethodCallTool, 99, func(n int) mcp.Result {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a", Text: strings.Repeat("x", n)}}}}
		}},
		"link": {middleware.MethodCallTool, 97, func(n int) mcp.Result {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ResourceLink{URI: "a", Name: "b", Title: "c", Description: strings.Repeat("x", n)}}}
		}},
		"resource": {middleware.MethodReadResource, 95, func(n int) mcp.Result {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "a", Text: strings.Repeat("x", n-4), Blob: make([]byte, 5)}}}
		}},
		"prompt": {middleware.MethodGetPrompt, 100, func(n int) mcp.Result {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Content: text(n)}}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bounded := mcprecover.New(&mcprecover.Options{MaxResult: 100})
			req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "t"}}
			_, err := inside(tc.method, req, returns(tc.res(tc.size)), bounded)
			require.NoError(t, err)
			res, err := inside(tc.method, req, returns(tc.res(tc.size+1)), bounded)
			require.ErrorIs(t, err, mcprecover.ErrTooLarge)
			require.Nil(t, res)
			told, ok := middleware.FaultOf(nil, err)
			require.True(t, ok)
			require.Equal(t, fault.KindClientError, told.Kind())
			require.Contains(t, told.Text(), "the result is larger than 100 bytes")
			retry, _ := told.Retry()
			require.False(t, retry.ShouldRetry)
			require.Equal(t, tc.method == middleware.MethodCallTool, retry.Effect == fault.EffectUnknown)
			_, err = inside(tc.method, req, returns(tc.res(1<<12)))
			require.NoError(t, err, "no bound")
		})
	}
	require.PanicsWithValue(t, "mcprecover.New: Options.MaxResult is negative; give a number of bytes, or zero for no bound",
		func() { mcprecover.New(&mcprecover.Options{MaxResult: -1}) })
}
