package validate_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/validate"
)

// TestCorrectedCallsAreAccepted sends many values to a typed tool, and each corrected call again: the SDK
// takes it, and it takes the mended ones.
func TestCorrectedCallsAreAccepted(t *testing.T) {
	type in struct {
		N   int            `json:"n,omitempty"`
		I8  int8           `json:"i8,omitempty"`
		U   uint           `json:"u,omitempty"`
		F32 float32        `json:"f32,omitempty"`
		S   string         `json:"s,omitempty"`
		P   *int           `json:"p,omitempty"`
		L   []int          `json:"l,omitempty"`
		LS  []string       `json:"ls,omitempty"`
		M   map[string]int `json:"m,omitempty"`
		A   any            `json:"a,omitempty"`
		Sub struct {
			X int  `json:"x,omitempty"`
			Y bool `json:"y,omitempty"`
		} `json:"sub,omitempty"`
	}
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil, nil
	})
	server.AddReceivingMiddleware(validate.New(nil))
	near, far := mcp.NewInMemoryTransports()
	_, err := server.Connect(ctx, far, nil)
	require.NoError(t, err)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(ctx, near, nil)
	require.NoError(t, err)
	defer client.Close()
	call := func(args string) *mcp.CallToolResult {
		res, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "t", Arguments: json.RawMessage(args)})
		require.NoError(t, err, args)
		return res
	}
	corrected, mended := 0, 0
	for _, field := range []string{"n", "i8", "u", "f32", "s", "p", "l", "ls", "m", "a", "sub", "N", "zz"} {
		for _, value := range []string{
			`"1.0"`, `"1e2"`, `1e2`, `-0`, `"-0"`, `"-0.0"`, `"1e40"`, `1e40`, `1e308`, `"1e400"`, `"1e-400"`, `"99999999999999999999"`, `99999999999999999999`, `"1.5"`, `"5"`, `5`, `1.5`,
			`"true"`, `null`, `"null"`, `"[1]"`, `"[1.0]"`, `["1.0"]`, `["1"]`, `[null]`, `"{\"x\":1}"`, `{"x":"1.0"}`, `{"X":1}`, `{"x":1,"x":2}`, `{"x":null}`, `{"y":"TRUE"}`, `" 1 "`, `""`, `"\ud800"`,
		} {
			args := `{"` + field + `":` + value + `}`
			res := call(args)
			if res.Meta["io.github.mcpchain/mended"] != nil {
				mended++
				require.False(t, res.IsError, args)
			}
			if !res.IsError {
				continue
			}
			about, _ := res.Meta["io.github.mcpchain/error"].(map[string]any)
			if again := about["corrected_arguments"]; again != nil {
				corrected++
				text, err := json.Marshal(again)
				require.NoError(t, err)
				require.False(t, call(string(text)).IsError, "%s\n%s", args, text)
			}
		}
	}
	require.Greater(t, corrected, 40)
	require.Greater(t, mended, 10)
}
