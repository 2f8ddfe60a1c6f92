package main

import (
	"context"
	"errors"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

func init() {
	if len(os.Args) > 1 && os.Args[1] == "old-server" {
		oldServer()
		os.Exit(0)
	}
	program, err := os.Executable()
	story.Must(err)
	story.Tell(story.Story{Log: true, Args: []string{program, "old-server"}, Play: play})
}

type customer struct {
	Name string `json:"name"`
}

// oldServer is the one that cannot be changed. It knows nothing of mcpchain.
func oldServer() {
	_ = os.Stderr.Close() // the stack of its panic is no part of the story
	server := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "0.9.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "find_customer", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in customer) (*mcp.CallToolResult, customer, error) {
			switch in.Name {
			case "ada":
				return nil, in, nil
			case "eve":
				panic("nobody expected eve") // and the process is gone
			case "bob":
				return nil, in, errors.New("dial postgres://app:hunter2@10.0.0.7/crm: too many clients")
			default:
				return nil, in, errors.New("sql: no rows in result set")
			}
		})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

func play(ctx context.Context, session *mcp.ClientSession) {
	for _, name := range []string{"ada", "zoe", "bob", "eve", "ada"} {
		story.Call(ctx, session, "find_customer", customer{name})
	}
}
