package client_test

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/retry/client"
)

// A resource that is busy is read again after the time that was asked for.
func ExampleNew() {
	busy := true
	server := func(context.Context, string, mcp.Request) (mcp.Result, error) {
		if busy {
			busy = false
			fmt.Println("busy")
			return nil, fault.RateLimited("the archive", time.Millisecond)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "here it is"}}}, nil
	}
	read := client.New(nil)(server)

	res, err := read(context.Background(), "resources/read", &mcp.ClientRequest[mcp.Params]{Params: &mcp.ReadResourceParams{URI: "docs://a"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.(*mcp.ReadResourceResult).Contents[0].Text)
	// Output:
	// busy
	// here it is
}
