// Wraphandler puts middlewares in front of single handlers instead of a whole
// server: a raw tool handler, a typed one, a resource and a prompt. Everything
// else of the server stays as it is, as the last call shows.
//
//	go run ./examples/wraphandler
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

var errDatabase = errors.New("dial postgres://app:hunter2@10.0.0.7/library: connection reset by peer")

type search struct {
	Words string `json:"words"`
}

type found struct {
	Titles []string `json:"titles"`
}

func rawTool(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, errDatabase
}

func typedTool(_ context.Context, _ *mcp.CallToolRequest, in search) (*mcp.CallToolResult, found, error) {
	if in.Words == "" {
		panic("no words: " + errDatabase.Error())
	}
	return nil, found{Titles: []string{"On " + in.Words}}, nil
}

func resource(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return nil, errDatabase
}

func prompt(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return nil, errDatabase
}

func main() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: steady}))
	server := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1.0.0"}, nil)

	// Any middlewares will do, the first outermost. One chain may serve many handlers.
	guard := middleware.Chain(mcprecover.New(nil), mask.New(&mask.Options{Logger: logger}))

	server.AddTool(&mcp.Tool{Name: "raw", InputSchema: map[string]any{"type": "object"}},
		middleware.Tool(rawTool, guard))
	// In the place of mcp.AddTool. The guard also stands around what the SDK does for
	// a typed handler, such as the check of the arguments.
	middleware.AddTool(server, &mcp.Tool{Name: "typed"}, typedTool, guard)
	server.AddResource(&mcp.Resource{Name: "catalogue", URI: "library://catalogue"},
		middleware.Resource(resource, guard))
	server.AddPrompt(&mcp.Prompt{Name: "recommend"},
		middleware.Prompt(prompt, guard))
	// And one that is not wrapped.
	server.AddPrompt(&mcp.Prompt{Name: "bare"}, prompt)

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

	fmt.Println("--> raw tool")
	raw, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "raw"})
	show(raw, err)
	fmt.Println("--> typed tool")
	typed, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "typed", Arguments: search{Words: ""}})
	show(typed, err)
	fmt.Println("--> resource")
	contents, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "library://catalogue"})
	show(contents, err)
	fmt.Println("--> prompt")
	messages, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "recommend"})
	show(messages, err)
	_, err = session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "bare"})
	fmt.Printf("--> prompt that is not wrapped\n%v\n", err)
}

// show prints what the caller read, without the reference, which differs from run
// to run (f.Error() has it).
func show(res mcp.Result, err error) {
	if f, failed := middleware.FaultOf(res, err); failed {
		fmt.Printf("%s\n\n", f.Text())
	}
}

// steady leaves out of the log what would differ from run to run.
func steady(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == "reference" || a.Key == "stack" {
		return slog.Attr{}
	}
	return a
}
