// Logging shows one call in the log: the handler's own records and the record of
// the call have the same reference, which the caller has too. There are two logs,
// made with samber/slog-multi: a full one for the operator, and a scrubbed one that
// may leave the house.
//
//	go run ./examples/logging -story               # what a client gets from it
//	go run ./examples/logging                      # over stdio
//	go run ./examples/logging -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	slogmulti "github.com/samber/slog-multi"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/transport"
)

type shop struct{ log *slog.Logger }

type orders struct {
	Customer string `json:"customer"`
}

func (s *shop) listOrders(ctx context.Context, _ *mcp.CallToolRequest, in orders) (*mcp.CallToolResult, any, error) {
	// A logger of your own: the context of the call brings the reference.
	s.log.InfoContext(ctx, "asking the database", slog.String("customer", in.Customer))

	// Without one, correlate.Logger(ctx) is that of the chain, and correlate.ID(ctx) the
	// bare ID, for the header of a request to another service.
	correlate.Logger(ctx).Info("asking again", slog.String("x_request_id", correlate.ID(ctx)))

	return nil, nil, errors.New("dial postgres://app:hunter2@10.0.0.7/orders: connection reset by peer")
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	// Two places, here both stderr: a file, and a service that is not yours.
	full := slog.NewTextHandler(os.Stderr, nil)
	shared := full.WithAttrs([]slog.Attr{slog.Bool("scrubbed", true)})
	logger := slog.New(slogmulti.
		Pipe(correlate.SlogMiddleware()). // adds the reference, for both
		Handler(slogmulti.Fanout(full, mask.LogHandler(shared, nil))))

	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "list_orders", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, (&shop{logger}).listOrders)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: logger}))

	if err := serve(server, *address); err != nil {
		log.Fatal(err)
	}
}

// serve speaks over stdio, or over HTTP if there is an address, and prints that.
func serve(server *mcp.Server, address string) error {
	if address == "" {
		return server.Run(context.Background(), transport.Stdio(nil))
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := &http.Server{Handler: transport.HTTP(handler, nil), ReadHeaderTimeout: 10 * time.Second}
	return web.Serve(listener)
}
