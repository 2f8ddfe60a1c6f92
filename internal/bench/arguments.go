package main

import (
	"context"
	"encoding/json"
	"runtime"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/validate"
)

// An order has eight fields. Three of the wrong one's are wrong: a type, an enumeration
// and a name.
const (
	orderSchema = `{"type":"object","additionalProperties":false,"required":["sku","quantity","currency","city"],"properties":{
		"sku":{"type":"string"},"quantity":{"type":"integer","minimum":1},"currency":{"enum":["EUR","USD","GBP"]},"city":{"type":"string"},
		"express":{"type":"boolean"},"note":{"type":"string","maxLength":200},"discount":{"type":"number"},"tags":{"type":"array","items":{"type":"string"}}}}`
	rightOrder = `{"sku":"A-1","quantity":5,"currency":"EUR","city":"Oslo","express":true,"note":"ring twice","discount":0.1,"tags":["a","b"]}`
	wrongOrder = `{"sku":"A-1","quantity":"five","currency":"EURO","ctiy":"Oslo","express":true,"note":"ring twice","discount":0.1,"tags":["a","b"]}`
)

// arguments compares the check of arguments before a raw handler that does nothing.
func arguments() *table {
	t := &table{
		title: "Arguments of eight fields, three of them wrong", first: "", jobs: "right | wrong | told of the three", reference: 0,
		note: "Times as ratios to the first row. From the arguments as JSON to the result.",
	}
	two := func(name, told string, call func(arguments json.RawMessage) func()) *row {
		return t.add(name, []func(){call(json.RawMessage(rightOrder)), call(json.RawMessage(wrongOrder))}, told)
	}
	two("by hand, with the validator of the SDK", "one, by chance", sdkValidator).loose = true
	two("`validate.Tool`", "all, each with what is right", func(arguments json.RawMessage) func() {
		handler, ctx, req := validate.Tool(json.RawMessage(orderSchema), nothing), sdkContext(), order(arguments)
		return func() { _, _ = handler(ctx, req) }
	})
	two("`Standard` around `validate.Tool`", "all, each with what is right", func(arguments json.RawMessage) func() {
		tool := validate.Tool(json.RawMessage(orderSchema), nothing)
		handler := mcpchain.Standard(&mcpchain.Options{Logger: unwritten()})(func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if call, ok := req.(*mcp.CallToolRequest); ok && method == middleware.MethodCallTool {
				return tool(ctx, call)
			}
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "order", InputSchema: json.RawMessage(orderSchema)}}}, nil
		})
		ctx, req := sdkContext(), order(arguments)
		return func() { _, _ = handler(ctx, middleware.MethodCallTool, req) }
	})
	return t
}

var done = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ordered"}}}

func nothing(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return done, nil }

func order(arguments json.RawMessage) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "order", Arguments: arguments}}
}

// refuse is what a middleware that is written by hand answers.
func refuse(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "invalid arguments: " + err.Error()}}}
}

func sdkValidator(arguments json.RawMessage) func() {
	var schema jsonschema.Schema
	must(json.Unmarshal([]byte(orderSchema), &schema))
	resolved, err := schema.Resolve(nil)
	must(err)
	ctx, req := sdkContext(), order(arguments)
	return func() {
		var value map[string]any
		err := json.Unmarshal(req.Params.Arguments, &value)
		if err == nil {
			err = resolved.Validate(value)
		}
		if err != nil {
			runtime.KeepAlive(refuse(err))
			return
		}
		res, _ := nothing(ctx, req)
		runtime.KeepAlive(res)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
