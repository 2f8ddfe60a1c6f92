package main

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

// told has what the server logged to this client.
var told = make(chan string, 10)

func init() {
	story.Tell(story.Story{
		Play:    play,
		Version: "2025-11-25",
		Client: &mcp.ClientOptions{
			LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) { //nolint:staticcheck // for clients that have it
				data, _ := req.Params.Data.(map[string]any)
				delete(data, "time")
				told <- fmt.Sprint(req.Params.Level, " ", data)
			},
		},
	})
}

func play(ctx context.Context, session *mcp.ClientSession) {
	call := func() {
		_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "index"})
		story.Must(err)
	}
	call()                                                                              // nobody has asked
	story.Must(session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"})) //nolint:staticcheck // as above
	call()
	fmt.Println(<-told)
	fmt.Println(<-told)
	fmt.Println(len(told), "more")
}
