// Bearer is a server whose callers are authenticated: over HTTP by a bearer token, over stdio
// by the token in $TOKEN. Each user has notes and limits of its own. A token that is too narrow, or
// whose user has signed out, is refused in words; over HTTP the client is asked to sign in again.
//
//	go run ./examples/bearer -story http          # what three users get from it, and a stranger
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
		"bob-3": {UserID: "bob", Scopes: []string{"notes:read", "notes:write"}},
		"cyd-4": {UserID: "cyd", Scopes: []string{"notes:read", "notes:write"}},
		"cyd-5": {UserID: "cyd", Scopes: []string{"notes:read", "notes:write"}},
	}
	if user, known := users[token]; known {
		user.Expiration, user.Extra = time.Now().Add(time.Hour), map[string]any{"token": token}
		return &user, nil
	}
	return nil, auth.ErrInvalidToken // the SDK answers 401
}

type notes struct {
	local *auth.TokenInfo // the user over stdio

	mu    sync.Mutex
	of    map[[2]string]string
	ended map[any]bool // the tokens of users who have signed out
}

type note struct {
	Title string `json:"title"`
	Text  string `json:"text,omitempty"`
}

// guarded runs a tool for a user whose token is still good and has the scope. Both faults say that
// nothing was changed, so that a client may call again with another token.
func guarded[In, Out any](n *notes, scope string, run func(user *auth.TokenInfo, in In) (Out, error)) mcp.ToolHandlerFor[In, Out] {
	return func(_ context.Context, req *mcp.CallToolRequest, in In) (_ *mcp.CallToolResult, out Out, err error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		user := n.local
		if req.Extra != nil && req.Extra.TokenInfo != nil {
			user = req.Extra.TokenInfo
		}
		switch {
		case n.ended[user.Extra["token"]]:
			err = fault.Unauthenticated("you have signed out")
		case !slices.Contains(user.Scopes, scope):
			err = fault.Denied("use", "notes").Needs(scope)
		default:
			out, err = run(user, in)
		}
		return nil, out, err
	}
}

func (n *notes) read(user *auth.TokenInfo, in note) (note, error) {
	if text, ok := n.of[[2]string{user.UserID, in.Title}]; ok {
		return note{in.Title, text}, nil
	}
	return note{}, fault.NotFound("note", in.Title) // of another user's notes nothing is said
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()
	all := &notes{of: map[[2]string]string{}, ended: map[any]bool{}}
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "read_note", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, guarded(all, "notes:read", all.read))
	mcp.AddTool(server, &mcp.Tool{Name: "write_note"}, guarded(all, "notes:write", func(user *auth.TokenInfo, in note) (note, error) {
		all.of[[2]string{user.UserID, in.Title}] = in.Text
		return in, nil
	}))
	mcp.AddTool(server, &mcp.Tool{Name: "sign_out"}, guarded(all, "notes:read", func(user *auth.TokenInfo, _ struct{}) (any, error) {
		all.ended[user.Extra["token"]] = true
		return nil, nil
	}))
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		// An owner is the UserID of the token, or the connection over stdio.
		Limit: limit.New(&limit.Options{Limits: []limit.Limit{{Scope: limit.PerOwner, Calls: 4, Per: time.Hour}}}),
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
	guard := transport.HTTP(auth.RequireBearerToken(verify, nil)(handler), nil) // outermost
	return (&http.Server{Handler: guard, ReadHeaderTimeout: 10 * time.Second}).Serve(listener)
}
