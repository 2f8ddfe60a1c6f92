// Budget shows answers that fit a model's context: a list of 340 items of which the first
// are shown, the rest fetched page by page, and an answer of which nothing can be left
// out, so that the caller is told which argument makes it smaller.
//
//	go run ./examples/budget
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/middleware"
)

type order struct {
	ID    int    `json:"id"`
	Buyer string `json:"buyer"`
}

type orders struct {
	Orders []order `json:"orders"`
	Total  int     `json:"total"`
}

func search(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, orders, error) {
	found := orders{Total: 340}
	for i := range found.Total {
		found.Orders = append(found.Orders, order{i + 1, "a customer of ours"})
	}
	return nil, found, nil
}

type period struct {
	Days int `json:"days"`
}

type sales struct {
	Sales map[string]int `json:"sales"`
}

func statistics(_ context.Context, _ *mcp.CallToolRequest, p period) (*mcp.CallToolResult, sales, error) {
	all := sales{map[string]int{}}
	for i := range p.Days {
		all.Sales[fmt.Sprintf("day %d", i)] = i
	}
	return nil, all, nil
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "search"}, search)
	mcp.AddTool(server, &mcp.Tool{Name: "statistics", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, statistics)

	var stats budget.Stats // for metrics
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: slog.New(slog.DiscardHandler),
		Budget: &budget.Options{Size: 2000, Stats: &stats}, // tokens; 10,000 when nothing is said
	}))

	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		log.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "recipe", Version: "1.0.0"}, nil).Connect(ctx, ours, nil)
	must(err)
	defer session.Close()

	fmt.Println("--> search")
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "search"})
	must(err)
	var found orders
	must(json.Unmarshal([]byte(text(res, 0)), &found)) // it is whole: nothing is cut in the middle
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
		must(err)
		var next []order
		must(json.Unmarshal([]byte(text(page, 0)), &next))
		all, note = append(all, next...), text(page, 1)
		fmt.Println(cursor.ReplaceAllString(note, "call read_more {...}"))
	}

	f, _ := middleware.FaultOf(session.CallTool(ctx, &mcp.CallToolParams{Name: "statistics", Arguments: period{Days: 1000}}))
	fmt.Printf("%s: %s\n%s\n", f.Kind().Label(), f.Message(), f.Suggestion())
	fmt.Printf("shortened: %d, refused: %d\n", stats.LeftOut.Load(), stats.Refused.Load())
}

// cursor is what the model sends to read on.
var cursor = regexp.MustCompile(`call read_more (\{"cursor":"[^"]+"\})`)

func text(res *mcp.CallToolResult, block int) string {
	if t, ok := res.Content[block].(*mcp.TextContent); ok {
		return t.Text
	}
	return ""
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
