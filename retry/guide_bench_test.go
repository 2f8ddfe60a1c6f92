package retry_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func ann(context.Context, mcp.Request) string { return "ann" }

func request(tool string, n int) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: tool, Arguments: fmt.Appendf(nil, `{"city":"Bonn","n":%d}`, n)}}
}
