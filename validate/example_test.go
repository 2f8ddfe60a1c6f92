package validate_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/validate"
)

// session returns a client of the server.
func session(ctx context.Context, server *mcp.Server) (*mcp.ClientSession, error) {
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, here, nil); err != nil {
		return nil, err
	}
	return mcp.NewClient(&mcp.Implementation{Name: "example"}, nil).Connect(ctx, there, nil)
}

// What a model reads of wrong arguments, and what a program reads.
func ExampleNew() {
	type line struct {
		SKU      string `json:"sku"`
		Quantity int    `json:"quantity"`
	}
	type order struct {
		Color string `json:"color"`
		Lines []line `json:"lines"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "shop"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "order"}, func(context.Context, *mcp.CallToolRequest, order) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	server.AddReceivingMiddleware(validate.New(nil))

	ctx := context.Background()
	client, err := session(ctx, server)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	for _, args := range []string{
		`{"color":"red","lines":[{"sku":"A-1","quantity":"five"}]}`,
		`{"colour":"red","lines":[{"sku":"A-1","quantity":5},{"sku":7}]}`,
	} {
		res, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "order", Arguments: json.RawMessage(args)})
		f, _ := middleware.FaultOf(res, err)
		fmt.Println(f)
		for _, v := range f.Data().Violations {
			fmt.Println("  ", v.Pointer, v.Rule)
		}
	}
	_, err = client.CallTool(ctx, &mcp.CallToolParams{Name: "odrer"})
	fmt.Println(err)
	// Output:
	// Validation Error: Argument 'lines[0].quantity' expected an integer, but received 'five'.
	//    /lines/0/quantity type
	// Validation Error: 3 arguments are wrong.
	// - Argument 'colour' is unknown, and 'color' is missing. Did you mean 'color'?
	// - Argument 'lines[1].quantity' is required: expected an integer.
	// - Argument 'lines[1].sku' expected a string, but received 7. Send it in quotes: "7".
	//    /colour additionalProperties
	//    /lines/1/quantity required
	//    /lines/1/sku type
	// calling "tools/call": unknown tool "odrer". Did you mean 'order'?
}

// A raw tool, whose arguments the SDK does not check.
func ExampleTool() {
	tool := &mcp.Tool{Name: "resize", InputSchema: json.RawMessage(`{
		"type": "object",
		"properties": {
			"width":  {"type": "integer", "minimum": 1, "maximum": 4096},
			"format": {"enum": ["png", "webp"], "default": "png"}
		},
		"required": ["width"]
	}`)}
	server := mcp.NewServer(&mcp.Implementation{Name: "images"}, nil)
	server.AddTool(tool, validate.Tool(tool.InputSchema, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}}}, nil
	}))

	ctx := context.Background()
	client, err := session(ctx, server)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	for _, args := range []string{`{"width":9999}`, `{"width":"100","format":"jpg"}`, `{"width":100}`} {
		res, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "resize", Arguments: json.RawMessage(args)})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// Validation Error: Argument 'width' expected an integer from 1 to 4096, but received 9999.
	// Validation Error: 2 arguments are wrong.
	// - Argument 'format' expected 'png' or 'webp', but received 'jpg'.
	// - Argument 'width' expected an integer from 1 to 4096, but received '100'. Send 100 without quotes.
	// {"format":"png","width":100}
}
