// Projects shows errors that a tool words itself, so that a model can act on them:
// not found with near names, already exists, a wrong argument, a missing permission.
// The last call fails for a reason that only the log has: the private cause is never
// a part of the public text.
//
//	go run ./examples/projects -story               # what a client gets from it
//	go run ./examples/projects                      # over stdio
//	go run ./examples/projects -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/transport"
)

// store holds the owner of each project. The SDK calls handlers concurrently.
type store struct {
	mu     sync.Mutex
	owners map[string]string
}

type args struct {
	Name string `json:"name"`
}

type project struct {
	Name, Owner string
}

func (s *store) get(_ context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, ok := s.owners[in.Name]
	if !ok {
		names := slices.Sorted(maps.Keys(s.owners)) // only those that the caller may know
		return nil, project{}, fault.NotFound("project", in.Name, names...)
	}
	return nil, project{in.Name, owner}, nil
}

func (s *store) create(_ context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.ToLower(in.Name) != in.Name {
		return nil, project{}, fault.Invalid("name", in.Name, "a name in lower case", strings.ToLower(in.Name))
	}
	if _, ok := s.owners[in.Name]; ok {
		return nil, project{}, fault.AlreadyExists("project", in.Name).
			Step("See whose it is", "get_project", map[string]any{"name": in.Name})
	}
	if err := os.Mkdir("/mnt/nfs-7/projects/"+in.Name, 0o755); err != nil {
		return nil, project{}, fault.Unavailable("the project storage").Because(err).After(10 * time.Second)
	}
	s.owners[in.Name] = "you"
	return nil, project{in.Name, "you"}, nil
}

func (s *store) remove(_ context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owners[in.Name] != "you" {
		return nil, project{}, fault.Denied("delete", "project '"+in.Name+"'").Needs("projects:delete")
	}
	delete(s.owners, in.Name)
	return nil, project{in.Name, "nobody"}, nil
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	projects := &store{owners: map[string]string{"website": "ada", "web-shop": "grace", "payroll": "ada"}}
	server := mcp.NewServer(&mcp.Implementation{Name: "projects", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_project", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, projects.get)
	mcp.AddTool(server, &mcp.Tool{Name: "create_project", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool)}}, projects.create)
	mcp.AddTool(server, &mcp.Tool{Name: "delete_project"}, projects.remove)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), // what the caller can mend is at Info
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
	web := &http.Server{Handler: transport.HTTP(handler, nil), ReadHeaderTimeout: 10 * time.Second}
	return web.Serve(listener)
}
