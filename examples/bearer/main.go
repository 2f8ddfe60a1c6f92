// Bearer is a server whose callers are authenticated: over HTTP by a bearer token, over stdio
// by the token in $TOKEN. Each user has notes and limits of its own, and what the scopes of
// a token do not allow is refused in words that a model can act on.
//
//	go run ./examples/bearer -story               # what two users get from it, and a stranger
//	TOKEN=ada-1 go run ./examples/bearer          # over stdio
//	go run ./examples/bearer -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/transport"
)

// verify knows whose a token is. In earnest it checks a signature, or asks the provider.
func verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	users := map[string]auth.TokenInfo{
		"ada-1": {UserID: "ada", Scopes: []string{"notes:read", "notes:write"}},
		"bob-2": {UserID: "bob", Scopes: []string{"notes:read"}},
	}
	if user, known := users[token]; known {
		user.Expiration = time.Now().Add(time.Hour)
		return &user, nil
	}
	return nil, auth.ErrInvalidToken // the SDK answers 401
}

type notes struct {
	local *auth.TokenInfo // the user over stdio

	mu sync.Mutex
	of map[key]string
}

type key struct{ user, title string }

type note struct {
	Title string `json:"title"`
	Text  string `json:"text,omitempty"`
}

func (n *notes) user(req *mcp.CallToolRequest) *auth.TokenInfo {
	if req.Extra != nil && req.Extra.TokenInfo != nil {
		return req.Extra.TokenInfo
	}
	return n.local
}

func (n *notes) read(_ context.Context, req *mcp.CallToolRequest, in note) (*mcp.CallToolResult, note, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if text, ok := n.of[key{n.user(req).UserID, in.Title}]; ok {
		return nil, note{in.Title, text}, nil
	}
	return nil, note{}, fault.NotFound("note", in.Title) // of another user's notes nothing is said
}

func (n *notes) write(_ context.Context, req *mcp.CallToolRequest, in note) (*mcp.CallToolResult, note, error) {
	user := n.user(req)
	if !slices.Contains(user.Scopes, "notes:write") {
		return nil, note{}, fault.Denied("write", "notes").Needs("notes:write")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of[key{user.UserID, in.Title}] = in.Text
	return nil, in, nil
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	all := &notes{of: map[key]string{}}
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "read_note", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, all.read)
	mcp.AddTool(server, &mcp.Tool{Name: "write_note"}, all.write)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		// An owner is the UserID of the token, or the connection over stdio.
		Limit: &limit.Options{Limits: []limit.Limit{{Scope: limit.PerOwner, Calls: 3, Per: time.Hour}}},
	}))
	if err := serve(server, *address, all); err != nil {
		log.Fatal(err)
	}
}

// serve speaks over stdio, or over HTTP if there is an address, and prints that.
func serve(server *mcp.Server, address string, all *notes) (err error) {
	if address == "" {
		if all.local, err = verify(context.Background(), os.Getenv("TOKEN"), nil); err != nil {
			return errors.Join(errors.New("set $TOKEN"), err)
		}
		return server.Run(context.Background(), transport.Stdio(nil))
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	outermost := transport.HTTP(auth.RequireBearerToken(verify, nil)(handler), nil) // hides what verify fails with
	return (&http.Server{Handler: outermost, ReadHeaderTimeout: 10 * time.Second}).Serve(listener)
}
