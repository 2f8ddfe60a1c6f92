// Deploy shows recovery steps: a tool that fails says which calls would help, and a
// client makes them and tries again until the tool succeeds.
//
//	go run ./examples/deploy
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
)

// environment is where something is deployed: one deployment at a time, after the
// migrations of the database. A real one has a mutex.
type environment struct {
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
	if in.ID != e.running {
		return nil, done{}, fault.NotFound("deployment", in.ID, e.running)
	}
	e.running = ""
	return nil, done{"cancelled " + in.ID}, nil
}

func (e *environment) migrate(_ context.Context, _ *mcp.CallToolRequest, in deployArgs) (*mcp.CallToolResult, done, error) {
	e.migrated = true
	return nil, done{"migrated the database of " + in.Service}, nil
}

func main() {
	production := &environment{running: "d-17"}
	server := mcp.NewServer(&mcp.Implementation{Name: "deployer", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "deploy"}, production.deploy)
	mcp.AddTool(server, &mcp.Tool{Name: "cancel_deployment"}, production.cancel)
	mcp.AddTool(server, &mcp.Tool{Name: "run_migrations"}, production.migrate)
	server.AddReceivingMiddleware(mask.New(nil)) // or mcpchain.Standard(nil): any of ours sends the steps

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

	// A client decides which steps it takes by itself.
	allowed := []string{"cancel_deployment", "run_migrations"}
	for range 5 { // a server may go on failing
		err := call(ctx, session, "deploy", deployArgs{Service: "shop"})
		var f *fault.Error
		if !errors.As(err, &f) {
			return // deployed
		}
		for _, step := range f.Data().RecoverySteps {
			if !slices.Contains(allowed, step.Tool) {
				fmt.Printf("not done by this client: %s\n", step.Action)
				continue
			}
			if err := call(ctx, session, step.Tool, step.Parameters); err != nil {
				log.Fatal(err)
			}
		}
	}
}

// call calls a tool and prints what it answered. A failure is a *fault.Error.
func call(ctx context.Context, session *mcp.ClientSession, tool string, arguments any) error {
	fmt.Printf("--> %s %v\n", tool, arguments)
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if f, failed := middleware.FaultOf(res, err); failed {
		fmt.Println(f)
		return f
	}
	fmt.Println(res.StructuredContent)
	return nil
}
