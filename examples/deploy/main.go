// Deploy shows recovery steps: a tool that fails says which calls would help, and a
// client makes them and tries again until the tool succeeds.
//
//	go run ./examples/deploy -story               # what a client gets from it
//	go run ./examples/deploy                      # over stdio
//	go run ./examples/deploy -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/transport"
)

// environment is where something is deployed: one deployment at a time, after the
// migrations of the database. The SDK calls handlers concurrently.
type environment struct {
	mu       sync.Mutex
	running  string // the deployment that is under way
	migrated bool
}

type deployArgs struct {
	Service string `json:"service"`
}

type cancelArgs struct {
	ID string `json:"id"`
}

type done struct {
	Done string `json:"done"`
}

func (e *environment) deploy(_ context.Context, _ *mcp.CallToolRequest, in deployArgs) (*mcp.CallToolResult, done, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running != "" {
		// A kind may be a word of your own: f.Kind() == "deployment_in_progress" in the client.
		return nil, done{}, fault.New("deployment_in_progress", "deployment "+e.running+" has not finished").
			Step("Cancel it", "cancel_deployment", map[string]any{"id": e.running}).
			Step("Tell its owner", "", nil) // for a person: no tool does it
	}
	if !e.migrated {
		return nil, done{}, fault.New(fault.KindPreconditionFailed, "the database has pending migrations").
			Step("Run them", "run_migrations", map[string]any{"service": in.Service})
	}
	return nil, done{"deployed " + in.Service}, nil
}

func (e *environment) cancel(_ context.Context, _ *mcp.CallToolRequest, in cancelArgs) (*mcp.CallToolResult, done, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if in.ID != e.running {
		return nil, done{}, fault.NotFound("deployment", in.ID, e.running)
	}
	e.running = ""
	return nil, done{"cancelled " + in.ID}, nil
}

func (e *environment) migrate(_ context.Context, _ *mcp.CallToolRequest, in deployArgs) (*mcp.CallToolResult, done, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.migrated = true
	return nil, done{"migrated the database of " + in.Service}, nil
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	production := &environment{running: "d-17"}
	server := mcp.NewServer(&mcp.Implementation{Name: "deployer", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "deploy"}, production.deploy)
	mcp.AddTool(server, &mcp.Tool{Name: "cancel_deployment"}, production.cancel)
	mcp.AddTool(server, &mcp.Tool{Name: "run_migrations", Annotations: &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(bool)}}, production.migrate)
	server.AddReceivingMiddleware(mask.New(nil)) // or mcpchain.Standard(nil): any of ours sends the steps

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
