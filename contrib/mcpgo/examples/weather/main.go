// Weather is a whole server that is written with mark3labs/mcp-go, with the chain of mcpchain
// around all its tools.
//
//	go run ./examples/weather                                # over stdio
//	TOKEN=... go run ./examples/weather -http 127.0.0.1:8080 # over HTTP, for who has the token
package main

import (
	"context"
	"crypto/subtle"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/contrib/mcpgo"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/transport"
	"github.com/mcpchain/mcpchain/validate"
)

func forecast(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	city, err := req.RequireString("city")
	if err != nil {
		return nil, err // a validation error that names the argument
	}
	switch city {
	case "Atlantis":
		return nil, fault.NotFound("city", city, "Atlanta") // in words of yours
	case "Rome":
		return nil, errors.New("pq: password authentication failed for admin:hunter2 at 10.0.0.7") // for the log alone
	}
	return mcp.NewToolResultText("Sunny in " + city + "."), nil
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	chain := mcpchain.Standard(&mcpchain.Options{
		Validate: &validate.Options{RawTools: true}, // arguments are checked against the schema
		Retry:    &retry.Options{Owner: user},
		Limit:    limit.New(&limit.Options{Owner: user}),
	})
	s := server.NewMCPServer("weather", "1.0.0", mcpgo.Server(chain))
	s.AddTool(mcp.NewTool("forecast",
		mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithString("city", mcp.Required()),
		mcp.WithNumber("days", mcp.Min(1), mcp.Max(14)),
	), forecast)

	if err := serve(s, *address); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// user says who calls: the user of the token, or the one caller over stdio.
func user(ctx context.Context, _ sdk.Request) string {
	if token := auth.TokenInfoFromContext(ctx); token != nil {
		return token.UserID
	}
	return "stdio"
}

// verify knows one token. In earnest it checks a signature, or asks the provider.
func verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	if want := os.Getenv("TOKEN"); want == "" || subtle.ConstantTimeCompare([]byte(token), []byte(want)) != 1 {
		return nil, auth.ErrInvalidToken // 401
	}
	return &auth.TokenInfo{UserID: "ada", Expiration: time.Now().Add(time.Hour)}, nil
}

// serve speaks over stdio, or over HTTP if there is an address, and prints that.
func serve(s *server.MCPServer, address string) error {
	if address == "" {
		return server.ServeStdio(s)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	guarded := auth.RequireBearerToken(verify, nil)(server.NewStreamableHTTPServer(s))
	return (&http.Server{Handler: transport.HTTP(guarded, nil), ReadHeaderTimeout: 10 * time.Second}).Serve(listener)
}
