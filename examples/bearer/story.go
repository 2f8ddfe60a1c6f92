package main

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

func init() { story.Tell(story.Story{Visit: visit}) }

func visit(ctx context.Context, connect func(token string) (*mcp.ClientSession, error)) {
	if _, err := connect("mallory-3"); err != nil {
		fmt.Print("mallory is not let in\n\n")
	}
	ada, err := connect("ada-1")
	story.Must(err)
	bob, err := connect("bob-2")
	story.Must(err)
	for _, call := range []struct {
		user    string
		session *mcp.ClientSession
		tool    string
		note    note
	}{
		{"ada", ada, "write_note", note{"plan", "sell"}},
		{"ada", ada, "read_note", note{Title: "plan"}},
		{"bob", bob, "read_note", note{Title: "plan"}},
		{"bob", bob, "write_note", note{"plan", "buy"}},
		{"ada", ada, "read_note", note{Title: "plan"}},
		{"ada", ada, "read_note", note{Title: "plan"}}, // one too many
		{"bob", bob, "read_note", note{Title: "plan"}}, // has a limit of his own
	} {
		fmt.Print(call.user, " ")
		story.Call(ctx, call.session, call.tool, call.note)
	}
	story.Must(ada.Close())
	story.Must(bob.Close())
}
