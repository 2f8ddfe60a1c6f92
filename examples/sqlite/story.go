package main

import (
	"context"
	"database/sql"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

func init() { story.Tell(story.Story{Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	ask := func(statement string) { story.Call(ctx, session, "query", query{statement}) }
	story.Call(ctx, session, "add_customer", customer{"ada@example.com", "Ada"})
	story.Call(ctx, session, "add_customer", customer{"ada@example.com", "Ada"})
	ask("SELECT * FROM customers")
	ask("SELECT * FROM costumers")
	ask("DELETE FROM customers")
	ask("ATTACH 'other.db' AS other")

	// Another program has the database for itself.
	db, err := sql.Open("sqlite", "file:shop.db")
	story.Must(err)
	other, err := db.Conn(ctx)
	story.Must(err)
	_, err = other.ExecContext(ctx, "BEGIN EXCLUSIVE")
	story.Must(err)
	story.Call(ctx, session, "add_customer", customer{"eve@example.com", "Eve"})
	story.Must(db.Close())
}
