package whole_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

var (
	benchRequest = &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "weather", Arguments: json.RawMessage(`{"city":"Berlin"}`)}}
	textResult   = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "22 degrees"}}}
	errSecret    = errors.New("dial postgres://app:hunter2@10.0.0.7/prod: connection refused")
)

func returning(res mcp.Result, err error) mcp.MethodHandler {
	return func(context.Context, string, mcp.Request) (mcp.Result, error) { return res, err }
}
