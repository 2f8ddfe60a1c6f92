package redis_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/replay"
)

// BenchmarkReplay measures calls with a key on Redis: that of REDIS_ADDR, or else the
// embedded one, which is slow.
func BenchmarkReplay(b *testing.B) {
	client := embedded(b).client
	if addr := os.Getenv("REDIS_ADDR"); addr != "" {
		client = single(b, addr)
	}
	s := mcpredis.New(client, &mcpredis.Options{Prefix: prefix(), Timeout: 5 * time.Second})
	server := replay.New(&replay.Options{Store: s, Owner: ownerOf})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "paid"}}}, nil
	})
	call := func(key string) {
		req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
			Name: "pay", Arguments: json.RawMessage(`{"amount":10}`),
			Meta: mcp.Meta{"owner": "alice", "io.modelcontextprotocol/idempotencyKey": key},
		}}
		if _, err := server(b.Context(), "tools/call", req); err != nil {
			b.Error(err)
		}
	}
	call("hit")
	b.Run("hit", func(b *testing.B) {
		for b.Loop() {
			call("hit")
		}
	})
	b.Run("miss", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			call(fmt.Sprint("miss", i))
		}
	})
	b.Run("join", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			var work sync.WaitGroup
			for range 2 {
				work.Go(func() { call(fmt.Sprint("join", i)) })
			}
			work.Wait()
		}
	})
}
