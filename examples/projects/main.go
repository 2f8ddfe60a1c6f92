// Projects shows errors that a tool words itself, so that a model can act on them:
// not found with near names, already exists, a wrong argument, a missing permission.
// The last call fails for a reason that only the log has: the private cause is never
// a part of the public text.
//
//	go run ./examples/projects
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
)

// store holds the owner of each project. A real one has a mutex, because the SDK
// calls handlers concurrently.
type store map[string]string

type args struct {
	Name string `json:"name"`
}

type project struct {
	Name, Owner string
}

func (s store) get(_ context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, project, error) {
	owner, ok := s[in.Name]
	if !ok {
		names := slices.Sorted(maps.Keys(s)) // only those that the caller may know
		return nil, project{}, fault.NotFound("project", in.Name, names...)
	}
	return nil, project{in.Name, owner}, nil
}

func (s store) create(_ context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, project, error) {
	if strings.ToLower(in.Name) != in.Name {
		return nil, project{}, fault.Invalid("name", in.Name, "a name in lower case", strings.ToLower(in.Name))
	}
	if _, ok := s[in.Name]; ok {
		return nil, project{}, fault.AlreadyExists("project", in.Name).
			Step("See whose it is", "get_project", map[string]any{"name": in.Name})
	}
	if err := os.Mkdir("/mnt/nfs-7/projects/"+in.Name, 0o755); err != nil {
		return nil, project{}, fault.Unavailable("the project storage").Because(err).After(10 * time.Second)
	}
	s[in.Name] = "you"
	return nil, project{in.Name, "you"}, nil
}

func (s store) remove(_ context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, project, error) {
	if s[in.Name] != "you" {
		return nil, project{}, fault.Denied("delete", "project '"+in.Name+"'").Needs("projects:delete")
	}
	delete(s, in.Name)
	return nil, project{in.Name, "nobody"}, nil
}

func main() {
	projects := store{"website": "ada", "web-shop": "grace", "payroll": "ada"}
	server := mcp.NewServer(&mcp.Implementation{Name: "projects", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_project"}, projects.get)
	mcp.AddTool(server, &mcp.Tool{Name: "create_project"}, projects.create)
	mcp.AddTool(server, &mcp.Tool{Name: "delete_project"}, projects.remove)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: steady})), // what the caller can mend is at Info
	}))

	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		log.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "recipe", Version: "1.0.0"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	for _, call := range [][2]string{
		{"get_project", "website"}, {"get_project", "websiet"},
		{"create_project", "payroll"}, {"create_project", "Payroll"},
		{"delete_project", "payroll"}, {"create_project", "games"},
	} {
		fmt.Printf("--> %s %s\n", call[0], call[1])
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: call[0], Arguments: args{call[1]}})
		f, failed := middleware.FaultOf(res, err)
		switch {
		case !failed:
			fmt.Println(res.StructuredContent)
		case errors.Is(f, fault.KindNotFound): // a program decides by the kind, never by the text
			fmt.Printf("%s\nfor a program: %q\n", f.Text(), f.Data().SimilarMatches)
		default:
			fmt.Println(f.Text())
		}
		fmt.Println()
	}
}

// steady leaves out of the log what would differ from run to run.
func steady(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == "duration_ms" || a.Key == "reference" {
		return slog.Attr{}
	}
	return a
}
