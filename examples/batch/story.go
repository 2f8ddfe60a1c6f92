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
	files := []string{"notes.txt", "report.txt", "todo.txt", "log.txt", "old"}
	for len(files) > 0 {
		fmt.Println("--> read_files", files)
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "read_files", Arguments: args{files}})
		story.Must(err)
		for _, c := range res.Content {
			if text, ok := c.(*mcp.TextContent); ok {
				fmt.Println(text.Text) // for a model; what follows is for a program
			}
		}
		raw, err := json.Marshal(res.StructuredContent)
		story.Must(err)
		var answer struct {
			RetryItems []string `json:"retry_items"`
		}
		story.Must(json.Unmarshal(raw, &answer))
		files = answer.RetryItems
	}
}
