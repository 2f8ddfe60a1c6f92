package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

// open connects a client to a server, in memory.
func open(server *mcp.Server) *mcp.ClientSession {
	ctx := context.Background()
	clientTransport, serverTransport := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverTransport, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil).Connect(ctx, clientTransport, nil)
	if err != nil {
		panic(err)
	}
	return session
}

// printText prints what a model gets to read.
func printText(res *mcp.CallToolResult, err error) {
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			fmt.Println(text.Text)
		}
	}
}

func ExampleChain() {
	say := func(name string) mcp.Middleware {
		return func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == middleware.MethodCallTool {
					fmt.Println("before", name)
					defer fmt.Println("after", name)
				}
				return next(ctx, method, req)
			}
		}
	}

	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "hello"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		fmt.Println("hello")
		return nil, nil, nil
	})
	server.AddReceivingMiddleware(middleware.Chain(say("outer"), nil, say("inner")))

	session := open(server)
	defer session.Close()
	if _, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "hello"}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// before outer
	// before inner
	// hello
	// after inner
	// after outer
}

func ExampleTool() {
	divide := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		zero := 0
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(1 / zero)}}}, nil
	}

	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	server.AddTool(
		&mcp.Tool{Name: "divide", InputSchema: map[string]any{"type": "object"}},
		middleware.Tool(divide, mcprecover.New(&mcprecover.Options{Logger: slog.New(slog.DiscardHandler)})),
	)

	session := open(server)
	defer session.Close()
	res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "divide"})
	f, _ := middleware.FaultOf(res, err)
	fmt.Println(f.Kind().Label()+":", f.Message())
	// Output:
	// Internal error: the server failed unexpectedly
}

func ExampleAddTool() {
	type input struct {
		City string `json:"city"`
	}
	type output struct {
		Celsius float64 `json:"celsius"`
	}
	weather := func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, output, error) {
		if in.City != "Berlin" {
			return nil, output{}, fault.NotFound("city", in.City, "Berlin", "Paris")
		}
		return nil, output{Celsius: 22.5}, nil
	}

	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	middleware.AddTool(server, &mcp.Tool{Name: "weather"}, weather, mask.New(nil))

	session := open(server)
	defer session.Close()
	for _, city := range []string{"Berlin", "Berln"} {
		printText(session.CallTool(context.Background(), &mcp.CallToolParams{Name: "weather", Arguments: input{City: city}}))
	}
	// Output:
	// {"celsius":22.5}
	// Not found: city 'Berln' does not exist. Did you mean 'Berlin'?
}

func ExampleFaultOf() {
	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "search"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return nil, nil, fault.RateLimited("the search API", 30*time.Second)
	})
	server.AddReceivingMiddleware(mask.New(nil))

	session := open(server)
	defer session.Close()
	res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "search"})
	if f, failed := middleware.FaultOf(res, err); failed {
		fmt.Println(f.Message())
		fmt.Println("is a rate limit:", errors.Is(f, fault.KindRateLimited))
		fmt.Println("retry after", f.Data().Retry.RetryAfterSeconds, "seconds")
	}
	// Output:
	// the search API accepts no more calls now.
	// is a rate limit: true
	// retry after 30 seconds
}

func ExampleNextSteps() {
	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "deploy"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Deployment 7 was started."}}}
		return middleware.NextSteps(res, fault.Step{
			Action: "Wait until it is done", Tool: "get_deployment", Parameters: map[string]any{"id": 7},
		}), nil, nil
	})

	session := open(server)
	defer session.Close()
	printText(session.CallTool(context.Background(), &mcp.CallToolParams{Name: "deploy"}))
	// Output:
	// Deployment 7 was started.
	// Next: 1. Wait until it is done: call get_deployment {"id":7}.
}
