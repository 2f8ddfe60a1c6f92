package main

import (
	"context"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

func init() { story.Tell(story.Story{Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	story.Must(os.MkdirAll("notes", 0o700)) // the server has this directory too
	story.Must(os.WriteFile("notes/todo.txt", []byte("water the plants"), 0o600))
	story.Must(os.WriteFile("logo.png", []byte("\x89PNG\r\n\x1a\n\x00"), 0o600))

	story.Call(ctx, session, "list_files", map[string]any{"path": "."})
	story.Call(ctx, session, "read_file", map[string]any{"path": "notes/todo.txt"})
	for _, path := range []string{"notes/tood.txt", "notes", "logo.png", "../../etc/passwd", "notes/todo.txt/x"} {
		story.Call(ctx, session, "read_file", map[string]any{"path": path})
	}
	story.Call(ctx, session, "list_files", map[string]any{"path": "logo.png"})
}
