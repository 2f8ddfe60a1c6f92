package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpchain/mcpchain"
	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/state"
	"github.com/mcpchain/mcpchain/transport"
)

// adasToken stands for what an identity provider would give to Ada's client.
const adasToken = "the-token-of-ada"

// An account is what a conversation remembers.
type account struct {
	Payments []string `json:"payments"`
}

type payIn struct {
	Account string `json:"account" jsonschema:"the handle from open_account"`
	Amount  int    `json:"amount"`
	To      string `json:"to"`
}

type statementIn struct {
	Account string `json:"account" jsonschema:"the handle from open_account"`
}

// serve runs one of the servers. Its first line says where it listens.
func serve(name, redis, prefix string) error {
	client := goredis.NewClient(&goredis.Options{Addr: redis, ContextTimeoutEnabled: true})
	defer func() { _ = client.Close() }()
	shared := mcpredis.New(client, &mcpredis.Options{Prefix: prefix})
	replays := &replay.Options{Store: shared}

	server := mcp.NewServer(&mcp.Implementation{Name: name}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "open_account"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		handle, err := state.Create(ctx, account{})
		return text(string(handle)), nil, err
	})
	mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(ctx context.Context, _ *mcp.CallToolRequest, in payIn) (*mcp.CallToolResult, any, error) {
		tell("begins to pay %d to %s", in.Amount, in.To) // to the parent, which cuts the connection now
		time.Sleep(time.Second)
		err := state.Update(ctx, func(a *account) error {
			a.Payments = append(a.Payments, fmt.Sprintf("%d to %s", in.Amount, in.To))
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		tell("has paid, though nobody listens")
		return text(fmt.Sprintf("paid %d to %s by %s", in.Amount, in.To, name)), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "statement", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(ctx context.Context, _ *mcp.CallToolRequest, _ statementIn) (*mcp.CallToolResult, any, error) {
		a, err := state.From[account](ctx)
		if err != nil {
			return nil, nil, err
		}
		return text(fmt.Sprintf("%d payment, %s", len(a.Payments), a.Payments)), nil, nil
	})
	replay.AddStatusTool(server, replays)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: slog.New(slog.DiscardHandler), // the story is enough here
		Replay: replay.New(replays),
		State:  state.New(&state.Options{Store: shared, Argument: "account", NewTool: "open_account"}),
	}))

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	tell("%s", listener.Addr())
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	guarded := transport.HTTP(auth.RequireBearerToken(whoIs, nil)(handler), nil)
	return (&http.Server{Handler: guarded, ReadHeaderTimeout: 5 * time.Second}).Serve(listener)
}

// whoIs knows one user.
func whoIs(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	if token != adasToken {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: "ada", Expiration: time.Now().Add(time.Hour)}, nil
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// tell tells the parent a line.
func tell(what string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, what+"\n", args...) }
