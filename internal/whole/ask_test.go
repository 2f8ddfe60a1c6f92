package whole_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mcptest"
)

type folder struct {
	Name string `json:"name"`
}

// removeFolder asks a person, and is called again with the answer.
func removeFolder(_ context.Context, req *mcp.CallToolRequest, in folder) (*mcp.CallToolResult, any, error) {
	answer, asked := req.Params.InputResponses["sure"].(*mcp.ElicitResult)
	if !asked { // the call is made again with the answer
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"sure": &mcp.ElicitParams{
			Message: "Remove " + in.Name + " and all that is in it?", RequestedSchema: json.RawMessage(`{"type":"object"}`),
		}}}, nil, nil
	}
	if answer.Action != "accept" {
		return nil, nil, fault.New(fault.KindCancelled, "the user does not want "+in.Name+" to be removed")
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "removed"}}}, nil, nil
}

// TestAPersonIsAsked: a question passes, and so does its answer, in both versions of the protocol.
func TestAPersonIsAsked(t *testing.T) {
	for _, version := range []string{mcptest.Current, mcptest.Older} {
		for says, want := range map[string]string{
			"accept":  "removed",
			"decline": "Cancelled: the user does not want old to be removed.\nRetry: no.",
			"":        map[string]string{mcptest.Current: "client does not support", mcptest.Older: "Precondition failed: "}[version],
		} {
			server := mcp.NewServer(&mcp.Implementation{Name: "folders"}, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "remove"}, removeFolder)
			server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
			client := &mcp.ClientOptions{}
			if says != "" {
				client.ElicitationHandler = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: says}, nil
				}
			}
			s := mcptest.Start(t, server, &mcptest.Options{Version: version, Client: client})
			res, err := s.Call("remove", map[string]any{"name": "old"})
			require.Contains(t, mcptest.Text(res, err), want, version)
		}
	}
}
