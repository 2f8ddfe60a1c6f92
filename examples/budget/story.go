package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
	"github.com/mcpchain/mcpchain/middleware"
)

func init() { story.Tell(story.Story{Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	fmt.Println("--> search")
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "search"})
	story.Must(err)
	var found orders
	story.Must(json.Unmarshal([]byte(text(res, 0)), &found)) // it is whole: nothing is cut in the middle
	fmt.Printf("%d orders, the last one is %+v\n", len(found.Orders), found.Orders[len(found.Orders)-1])
	note := text(res, 1)
	fmt.Println(cursor.ReplaceAllString(note, "call read_more {...}"))
	for all := found.Orders; ; {
		more := cursor.FindStringSubmatch(note)
		if more == nil {
			fmt.Printf("%d orders in all\n\n--> statistics of 1000 days\n", len(all))
			break
		}
		fmt.Println("--> read_more")
		page, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "read_more", Arguments: json.RawMessage(more[1])})
		story.Must(err)
		var next []order
		story.Must(json.Unmarshal([]byte(text(page, 0)), &next))
		all, note = append(all, next...), text(page, 1)
		fmt.Println(cursor.ReplaceAllString(note, "call read_more {...}"))
	}

	f, _ := middleware.FaultOf(session.CallTool(ctx, &mcp.CallToolParams{Name: "statistics", Arguments: period{Days: 1000}}))
	fmt.Printf("%s: %s\n%s\n", f.Kind().Label(), f.Message(), f.Suggestion())
}

// cursor is what the model sends to read on.
var cursor = regexp.MustCompile(`call read_more (\{"cursor":"[^"]+"\})`)

func text(res *mcp.CallToolResult, block int) string {
	if t, ok := res.Content[block].(*mcp.TextContent); ok {
		return t.Text
	}
	return ""
}
