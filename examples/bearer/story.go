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
	bob, err := connect("bob-2 bob-3") // a client that asks for the second token over HTTP
	story.Must(err)
	cyd, err := connect("cyd-4 cyd-5")
	story.Must(err)
	for _, call := range []struct {
		user    string
		session *mcp.ClientSession
		tool    string
		args    any
	}{
		{"ada", ada, "write_note", note{"plan", "sell"}},
		{"ada", ada, "read_note", note{Title: "plan"}},
		{"bob", bob, "read_note", note{Title: "plan"}},
		{"bob", bob, "write_note", note{"plan", "buy"}},
		{"cyd", cyd, "sign_out", nil},
		{"cyd", cyd, "write_note", note{"plan", "wait"}},
		{"ada", ada, "read_note", note{Title: "plan"}},
		{"ada", ada, "read_note", note{Title: "plan"}},
		{"ada", ada, "read_note", note{Title: "plan"}}, // one too many
		{"bob", bob, "read_note", note{Title: "plan"}}, // has a limit of his own
	} {
		fmt.Print(call.user, " ")
		story.Call(ctx, call.session, call.tool, call.args)
	}
	story.Must(ada.Close())
	story.Must(bob.Close())
	story.Must(cyd.Close())
}
