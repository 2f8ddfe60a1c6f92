package rawerror

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	_ "rawerror/tools" // its handlers return errors
)

var upstream *mcp.ClientSession

func fails(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if _, err := work(); err != nil {
		return nil, err // want `this raw handler returns an error of JSON-RPC, which the model may never see: return a result on which SetError was called`
	}
	return nil, errors.New("one report for each handler")
}

func words(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, errors.New("no such city") // want `this raw handler returns an error of JSON-RPC`
}

func right(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	_, err := work()
	res := &mcp.CallToolResult{}
	res.SetError(err)
	f := func() (*mcp.CallToolResult, error) { return nil, err }
	_, _ = f()
	return res, nil
}

func meant(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	wrong := &jsonrpc.Error{Code: -32602}
	if upstream == nil {
		return nil, wrong
	}
	return nil, &jsonrpc.Error{Code: -32603}
}

func passed(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	res, err := upstream.CallTool(ctx, req)
	if err != nil {
		return nil, err
	}
	return res, nil
}

func typed(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
	_, err := work()
	return nil, nil, err
}

func prompt(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return nil, errors.New("a prompt has no failed result")
}

func work() (int, error) { return 0, nil }

func main() {
	s := mcp.NewServer() // want `raw handlers of package rawerror/tools return \(tools.go:12\) an error of JSON-RPC`
	for _, h := range []mcp.ToolHandler{fails, words, right, meant, passed} {
		s.AddTool(nil, h)
	}
	mcp.AddTool(s, nil, typed)
	s.AddPrompt(nil, prompt)
}
