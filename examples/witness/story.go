package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

func init() { story.Tell(story.Story{Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	for _, call := range []mcp.CallToolParams{
		{Name: "invite_users", Arguments: order{[]string{"ada", "bob", "cyd"}}}, // the service stops it in the middle
		{Name: "invite_users", Arguments: order{[]string{"cyd"}}},               // nothing came before
		{Name: "pay", Arguments: order{[]string{"ada"}}},                        // it is rolled back
		{Name: "pay", Arguments: order{[]string{"ada"}}},                        // the answer to its commit is lost
	} {
		arguments, err := json.Marshal(call.Arguments)
		story.Must(err)
		fmt.Printf("--> %s %s\n", call.Name, arguments)
		res, err := session.CallTool(ctx, &call)
		story.Must(err)
		text, _ := res.Content[0].(*mcp.TextContent)
		fmt.Println(text.Text) // what a model reads
	}
}
