package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/examples/internal/story"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/transport"
)

func init() {
	if len(os.Args) > 1 && os.Args[1] == "hotel" {
		story.Must(hotel())
		os.Exit(0)
	}
	story.Tell(story.Story{Stage: play})
}

// play lets the agent run against the hotel, with the calls of three models. The last one repeats itself.
func play(ctx context.Context) {
	program, err := os.Executable()
	story.Must(err)
	for _, run := range []struct{ args, lines []string }{
		{nil, []string{`free_rooms {"day":"monday"}`, `prices {"room":"twelve"}`, `prices {"room":12}`}},
		{[]string{"-data"}, []string{`book_room {"room":12}`}},
		{nil, []string{`plan {}`, `plan {}`, `plan {}`, `plan {}`}},
	} {
		agent := exec.CommandContext(ctx, program, append(run.args, program, "hotel")...)
		agent.Stdin, agent.Stdout, agent.Stderr = strings.NewReader(strings.Join(run.lines, "\n")), os.Stdout, os.Stderr
		story.Must(agent.Run())
	}
}

// hotel is a server that limits, refuses and fails.
func hotel() error {
	server := mcp.NewServer(&mcp.Implementation{Name: "hotel", Version: "1.0.0"}, nil)
	reads, writes := &mcp.ToolAnnotations{ReadOnlyHint: true}, &mcp.ToolAnnotations{DestructiveHint: new(bool)}
	asked := 0
	mcp.AddTool(server, &mcp.Tool{Name: "free_rooms", Annotations: reads}, func(_ context.Context, _ *mcp.CallToolRequest, _ struct {
		Day string `json:"day"`
	},
	) (*mcp.CallToolResult, any, error) {
		if asked++; asked == 1 {
			return nil, nil, fault.RateLimited("looking for rooms", time.Second)
		}
		return text("12 rooms are free"), nil, nil
	})
	type room struct {
		Room int `json:"room"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "prices", Annotations: reads}, func(context.Context, *mcp.CallToolRequest, room) (*mcp.CallToolResult, any, error) {
		return text("80 a night"), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "book_room", Annotations: writes}, func(_ context.Context, _ *mcp.CallToolRequest, in room) (*mcp.CallToolResult, any, error) {
		return nil, nil, fault.Timeout("the booking", 10*time.Second).Because(errors.New("no answer from 10.0.0.7")).
			WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}).
			Step("See whether the room is booked", "list_bookings", map[string]any{"room": in.Room})
	})
	mcp.AddTool(server, &mcp.Tool{Name: "list_bookings", Annotations: reads}, func(context.Context, *mcp.CallToolRequest, room) (*mcp.CallToolResult, any, error) {
		return text("none"), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "plan", Annotations: writes}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("floor 3 has no rooms")
	})
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: slog.New(slog.DiscardHandler),
		Retry:  &retry.Options{RefuseAfter: 3}, // usually 6
	}))
	return server.Run(context.Background(), transport.Stdio(nil))
}

func text(said string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}
}
