// Proxy puts the chain in front of a server that cannot be changed: it starts the command
// of the server, offers its tools as its own, and starts it again if it died.
//
//	go run ./examples/proxy -story                              # what a client gets from it
//	go run ./examples/proxy COMMAND ARGUMENTS...                # over stdio
//	go run ./examples/proxy -http 127.0.0.1:8080 COMMAND ...    # over HTTP
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
	"os/exec"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/transport"
	"github.com/mcpchain/mcpchain/validate"
)

// behind is the server behind the proxy.
type behind struct {
	command []string
	mu      sync.Mutex
	session *mcp.ClientSession // nil if the server does not run
}

// connect starts the server if it does not run. Other calls wait for it, ten seconds at most.
func (b *behind) connect() (_ *mcp.ClientSession, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.session == nil {
		life, kill := context.WithCancel(context.Background()) // longer than that of a call
		defer time.AfterFunc(10*time.Second, kill).Stop()
		command := exec.CommandContext(life, b.command[0], b.command[1:]...)
		command.Stderr = os.Stderr
		client := mcp.NewClient(&mcp.Implementation{Name: "proxy"}, nil)
		b.session, err = client.Connect(life, &mcp.CommandTransport{Command: command}, nil) // nil if there is an error
	}
	return b.session, err
}

// call is the handler of every tool. What a session's call fails with is told by its meaning.
func (b *behind) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	session, err := b.connect()
	if err != nil {
		return nil, fault.Unavailable("the server behind this one").Because(err)
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: req.Params.Name, Arguments: req.Params.Arguments})
	var answered *jsonrpc.Error
	if err != nil && ctx.Err() == nil && !errors.As(err, &answered) { // it has died: the next call starts it again
		b.mu.Lock()
		if b.session == session {
			b.session = nil
		}
		b.mu.Unlock()
		_ = session.Close()
	}
	if f, failed := middleware.FaultOf(res, nil); failed { // in its own words, which a rule may know
		return nil, errors.New(f.Message()) // or return res to show them
	}
	return res, err
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("usage: proxy [-http ADDRESS] COMMAND [ARGUMENTS]")
	}
	old := &behind{command: flag.Args()}
	session, err := old.connect()
	if err != nil {
		log.Fatal(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "proxy", Version: "1.0.0"}, nil)
	for tool, err := range session.Tools(context.Background(), nil) { // resources and prompts alike
		if err != nil {
			log.Fatal(err)
		}
		server.AddTool(tool, old.call) // with its schemas and annotations
	}
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Retry:    &retry.Options{InitialInterval: time.Millisecond}, // the same wait each time; leave it out
		Validate: &validate.Options{RawTools: true},                 // for this server every tool is a raw one
		Mask:     &mask.Options{Rules: []mask.Rule{mask.Contains("no rows in result set", fault.New(fault.KindNotFound, "there is no such customer").WithParty(fault.PartyCaller))}},
	}))
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
	return (&http.Server{Handler: transport.HTTP(handler, nil), ReadHeaderTimeout: 10 * time.Second}).Serve(listener)
}
