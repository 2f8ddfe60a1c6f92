// Pay is the smallest server whose payments happen once, however often they are sent, and on
// however many servers: they remember each call in one Redis.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpchain/mcpchain"
	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/replay"
)

type payment struct {
	Amount int    `json:"amount"`
	To     string `json:"to"`
}

func main() {
	client := goredis.NewClient(&goredis.Options{Addr: cmp.Or(os.Getenv("REDIS_ADDR"), "localhost:6379"), ContextTimeoutEnabled: true})
	defer func() { _ = client.Close() }()
	server := mcp.NewServer(&mcp.Implementation{Name: "bank"}, nil)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Replay: replay.New(&replay.Options{
			Store: mcpredis.New(client, nil),
			// Over HTTP the authenticated user owns a key, without this function.
			Owner: func(context.Context, mcp.Request) string { return os.Getenv("USER") },
		}),
	}))
	mcp.AddTool(server, &mcp.Tool{Name: "pay", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool)}}, func(_ context.Context, _ *mcp.CallToolRequest, p payment) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{
			Text: fmt.Sprintf("paid %d to %s, in process %d", p.Amount, p.To, os.Getpid()),
		}}}, nil, nil
	})
	if err := server.Run(context.Background(), mcprecover.Transport(os.Stdin, os.Stdout)); err != nil {
		log.Print(err)
	}
}
