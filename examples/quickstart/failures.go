package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
)

// What no caller may ever see. All of it is invented.
const (
	databaseURL = "postgres://shop:tr0ub4dor@10.1.2.3:5432/shop"
	ratesURL    = "http://127.0.0.1:1/rates?api_key=key-3f9a1c77" // nobody listens on port 1
	mailToken   = "mail-token-81d2e6"
	termsFile   = "/srv/shop/private/terms.md"
)

// private is what the answers are searched for.
var private = []string{"tr0ub4dor", "10.1.2.3", "key-3f9a1c77", mailToken, "/srv/shop"}

// A failure is one way in which a call can fail.
type failure struct {
	what string // in a few words
	call call   // how to provoke it
}

// failures are all of them, in the order in which they are shown.
var failures = []failure{
	{"a secret in an error", tool("list_orders", nil)},
	{"a path in an error", resource("shop://terms")},
	{"a connection refused", tool("convert_price", nil)},
	{"a timeout", tool("sales_report", nil)},
	{"a handler that never returns", tool("charge_card", nil)},
	{"a panic", tool("get_invoice", nil)},
	{"a panic with a secret in it", prompt("thank_you")},
	{"no result and no error", tool("cancel_order", nil)},
	{"a number that JSON cannot hold", tool("average_rating", nil)},
	{"not found, again and again", times(4, tool("get_product", map[string]any{"name": "teapto"}))},
	{"rate limited", resource("shop://reviews")},
	{"three wrong arguments", tool("place_order", map[string]any{"prodcut": "teapot", "quantity": "five", "gift": "yes"})},
}

// addFailures adds the handlers. Most of them know nothing of mcpchain: they fail
// as handlers fail every day.
func addFailures(server *mcp.Server) {
	// A failed read may be tried again; of a failed write nobody may know what it did.
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(server, &mcp.Tool{Name: "list_orders", Annotations: reads}, listOrders)
	mcp.AddTool(server, &mcp.Tool{Name: "convert_price", Annotations: reads}, convertPrice)
	mcp.AddTool(server, &mcp.Tool{Name: "sales_report", Annotations: reads}, salesReport)
	mcp.AddTool(server, &mcp.Tool{Name: "get_invoice", Annotations: reads}, getInvoice)
	mcp.AddTool(server, &mcp.Tool{Name: "get_product", Annotations: reads}, getProduct)
	mcp.AddTool(server, &mcp.Tool{Name: "charge_card"}, chargeCard)
	mcp.AddTool(server, &mcp.Tool{Name: "place_order"}, placeOrder)

	anything := map[string]any{"type": "object"} // a raw handler brings its own schema
	server.AddTool(&mcp.Tool{Name: "cancel_order", InputSchema: anything}, cancelOrder)
	server.AddTool(&mcp.Tool{Name: "average_rating", InputSchema: anything, Annotations: reads}, averageRating)

	server.AddResource(&mcp.Resource{Name: "terms", URI: "shop://terms"}, readTerms)
	server.AddResource(&mcp.Resource{Name: "reviews", URI: "shop://reviews"}, readReviews)
	server.AddPrompt(&mcp.Prompt{Name: "thank_you"}, thankYou)
}

type none struct{} // the arguments of a tool that has none

func listOrders(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
	return nil, nil, errors.New("connect to " + databaseURL + ": too many clients")
}

func readTerms(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	text, err := os.ReadFile(termsFile)
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "shop://terms", Text: string(text)}}}, nil
}

func convertPrice(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ratesURL, nil)
	if err != nil {
		return nil, nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err // holds the whole URL
	}
	return nil, nil, res.Body.Close()
}

func salesReport(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	<-ctx.Done() // a slow query
	return nil, nil, fmt.Errorf("sales report from %s: %w", databaseURL, ctx.Err())
}

func chargeCard(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
	select {} // a payment service took the request and says nothing more
}

func getInvoice(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
	invoices := map[string]*struct{ Total int }{}
	return nil, invoices["2026-0042"].Total, nil // nobody checked whether there is one
}

func thankYou(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	panic("the mail server rejected " + mailToken)
}

func cancelOrder(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, nil //nolint:mcpvet // easily written, and the SDK cannot send it
}

func averageRating(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	average := math.NaN() // what 0.0/0.0 gives when there are no ratings
	return &mcp.CallToolResult{StructuredContent: map[string]any{"average": average}}, nil
}

// The next two say on purpose what the caller may know.

func getProduct(_ context.Context, _ *mcp.CallToolRequest, in struct {
	Name string `json:"name"`
},
) (*mcp.CallToolResult, any, error) {
	return nil, nil, fault.NotFound("product", in.Name, "teapot", "teacup", "kettle")
}

func readReviews(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return nil, fault.RateLimited("the review service", 30*time.Second)
}

// placeOrder is never reached: the SDK checks the arguments first.
func placeOrder(_ context.Context, _ *mcp.CallToolRequest, in struct {
	Product  string `json:"product"`
	Quantity int    `json:"quantity"`
	Gift     bool   `json:"gift,omitempty"`
},
) (*mcp.CallToolResult, any, error) {
	return nil, in, nil
}

// A call is one call of a server.
type call struct {
	target string // "tool list_orders"
	do     func(context.Context, *mcp.ClientSession) (mcp.Result, error)
}

func tool(name string, arguments map[string]any) call {
	return call{"tool " + name, func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		return session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	}}
}

func resource(uri string) call {
	return call{"resource " + uri, func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		return session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	}}
}

func prompt(name string) call {
	return call{"prompt " + name, func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		return session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name})
	}}
}

// times makes a call n times, as a model does that reads no answer, and keeps the
// last answer.
func times(n int, c call) call {
	return call{fmt.Sprintf("%s, call %d", c.target, n), func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		for range n - 1 {
			_, _ = c.do(ctx, session) // only the last one is looked at
		}
		return c.do(ctx, session)
	}}
}
