package validate_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/validate"
)

func TestMain(m *testing.M) {
	// What is said of panics on purpose is nobody's to read.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

type item struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

type order struct {
	Color    string `json:"color"`
	Items    []item `json:"items,omitempty"`
	Note     string `json:"note,omitempty"`
	Password string `json:"password,omitempty"`
}

// orderSchema is what the SDK makes of an order, for the raw tool.
const orderSchema = `{"type":"object","properties":{
	"color":{"type":"string"},
	"items":{"type":["null","array"],"items":{"type":"object","properties":{"sku":{"type":"string"},"quantity":{"type":"integer"}},"required":["sku","quantity"],"additionalProperties":false}},
	"note":{"type":"string"},"password":{"type":"string"}},
	"required":["color"],"additionalProperties":false}`

// eras runs a test with a client of each.
func eras(t *testing.T, run func(t *testing.T, era harness.Era)) {
	t.Helper()
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		t.Run(string(era), func(t *testing.T) { run(t, era) })
	}
}

// serve starts a server with middlewares around it.
func serve(t testing.TB, era harness.Era, more func(*mcp.Server), mw ...mcp.Middleware) *harness.Session {
	t.Helper()
	return harness.Start(t, harness.Place{Shape: harness.ServerTyped, Era: era}, harness.Setup{More: more, Middleware: mw})
}

// orders adds the same tool twice: typed, and raw behind Tool. They return their
// arguments.
func orders(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, func(_ context.Context, req *mcp.CallToolRequest, _ order) (*mcp.CallToolResult, any, error) {
		return said(string(req.Params.Arguments)), nil, nil
	})
	tool := &mcp.Tool{Name: "raw", InputSchema: json.RawMessage(orderSchema)}
	s.AddTool(tool, validate.Tool(tool.InputSchema, echo))
}

func echo(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return said(string(req.Params.Arguments)), nil
}

var nilSchema *jsonschema.Schema

func parseDate(text string) error {
	_, err := time.Parse(time.DateOnly, text)
	return validate.Arguments(err)
}

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// invoke calls a tool with arguments as they are.
func invoke(t testing.TB, s *harness.Session, tool, args string) harness.Answer {
	t.Helper()
	if args == "" {
		return s.CallTool(t.Context(), tool, nil)
	}
	return s.CallTool(t.Context(), tool, json.RawMessage(args))
}

// tool adds a typed tool whose handler fails with what check says of its input.
func failing[In any](name string, check func(In) error) func(*mcp.Server) {
	return func(s *mcp.Server) {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			return nil, nil, check(in)
		})
	}
}

// standard is mcpchain.Standard without package retry, whose line would stand at the end
// of every text, and whose loop breaker would end the loops of these tests.
func standard(opts *mcpchain.Options, inner ...mcp.Middleware) mcp.Middleware {
	var o mcpchain.Options
	if opts != nil {
		o = *opts
	}
	var hiding mask.Options
	if o.Mask != nil {
		hiding = *o.Mask
	}
	hiding.Logger = o.Logger
	recovery := &mcprecover.Options{Logger: o.Logger}
	return mcpchain.Chain(
		mcprecover.New(recovery), correlate.New(&correlate.Options{Logger: o.Logger}), mask.New(&hiding),
		mcpchain.Chain(inner...), validate.New(o.Validate), mcprecover.New(recovery),
	)
}
