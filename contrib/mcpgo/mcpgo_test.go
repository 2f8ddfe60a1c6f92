package mcpgo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	wrapped "github.com/mcpchain/mcpchain/contrib/mcpgo"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/retry"
)

const canary = "zqkanarie-5f1c"

// standard is the recommended chain with fixed references, and its log.
func standard(opts mcpchain.Options) (mcp.Middleware, *bytes.Buffer) {
	var log bytes.Buffer
	opts.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	opts.Correlate = &correlate.Options{NewID: func(context.Context, mcp.Request) string { return "ref-1" }}
	return mcpchain.Standard(&opts), &log
}

func request(args map[string]any) (req mcpgo.CallToolRequest) {
	req.Params.Name = "tool"
	req.Params.Arguments = args
	return req
}

func textOf(t *testing.T, res *mcpgo.CallToolResult) string {
	t.Helper()
	require.NotNil(t, res)
	require.Len(t, res.Content, 1)
	text, ok := res.Content[0].(mcpgo.TextContent)
	require.True(t, ok, "%T", res.Content[0])
	return text.Text
}

// faultOf reads the machine form as a client would.
func faultOf(t *testing.T, res *mcpgo.CallToolResult) *fault.Error {
	t.Helper()
	raw, err := json.Marshal(res)
	require.NoError(t, err)
	var theirs mcp.CallToolResult
	require.NoError(t, json.Unmarshal(raw, &theirs))
	f, failed := middleware.FaultOf(&theirs, nil)
	require.True(t, failed)
	return f
}

// returns makes a handler.
func returns(res *mcpgo.CallToolResult, err error) server.ToolHandlerFunc {
	return func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) { return res, err }
}

// TestSuccess: the value that a handler returned goes out, whatever is in it.
func TestSuccess(t *testing.T) {
	chain, _ := standard(mcpchain.Options{})
	meta := mcpgo.NewTextContent("with _meta")
	meta.Meta = mcpgo.NewMetaFromMap(map[string]any{"k": "v"})
	asks := &mcpgo.CallToolResult{}
	asks.ResultType = mcpgo.ResultTypeInputRequired
	asks.InputRequests = mcpgo.InputRequests{"who": mcpgo.NewElicitationInputRequest(mcpgo.ElicitationParams{Message: "who?"})}
	asks.RequestState = "s"
	for name, own := range map[string]*mcpgo.CallToolResult{
		"text":       mcpgo.NewToolResultText("fine"),
		"empty":      {},
		"structured": mcpgo.NewToolResultStructured(map[string]any{"n": 1}, "one"),
		"image":      mcpgo.NewToolResultImage("a dot", "AAEC", "image/png"),
		"audio":      mcpgo.NewToolResultAudio("a beep", "AAEC", "audio/wav"),
		"resource":   mcpgo.NewToolResultResource("see", mcpgo.TextResourceContents{URI: "a://b", Text: "t"}),
		"link":       {Content: []mcpgo.Content{mcpgo.NewResourceLink("a://b", "b", "d", "text/plain")}},
		"meta":       {Content: []mcpgo.Content{meta}},
		"asks":       asks,
	} {
		t.Run(name, func(t *testing.T) {
			res, err := wrapped.Tool(returns(own, nil), chain)(t.Context(), request(nil))
			require.NoError(t, err)
			require.Same(t, own, res)
		})
	}

	contents := []mcpgo.ResourceContents{
		mcpgo.TextResourceContents{URI: "a://b", Text: "t", Meta: map[string]any{"k": "v"}},
		mcpgo.BlobResourceContents{URI: "a://c", Blob: "AAEC"},
	}
	read, err := wrapped.Resource(func(context.Context, mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
		return contents, nil
	}, chain)(t.Context(), mcpgo.ReadResourceRequest{})
	require.NoError(t, err)
	require.Same(t, &contents[0], &read[0])

	prompt := mcpgo.NewGetPromptResult("d", []mcpgo.PromptMessage{mcpgo.NewPromptMessage(mcpgo.RoleUser, mcpgo.NewTextContent("hi"))})
	got, err := wrapped.Prompt(func(context.Context, mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) {
		return prompt, nil
	}, chain)(t.Context(), mcpgo.GetPromptRequest{})
	require.NoError(t, err)
	require.Same(t, prompt, got)
}

// official calls a raw handler of the official SDK that ends in the same way.
func official(t *testing.T, chain mcp.Middleware, err error, panics any) *mcp.CallToolResult {
	t.Helper()
	res, e := middleware.Tool(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if panics != nil {
			panic(panics)
		}
		return nil, err
	}, chain)(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "tool"}})
	require.NoError(t, e)
	return res
}

// A hollow error panics whatever it is asked, and a circle holds itself.
type (
	hollow struct{}
	circle struct{}
)

func (hollow) Error() string   { panic(canary) }
func (hollow) Unwrap() error   { panic(canary) }
func (circle) Error() string   { return canary }
func (c circle) Unwrap() error { return c }

// TestFailures: a failure has the text and the _meta that it has with the official SDK, and
// nothing private.
func TestFailures(t *testing.T) {
	// Without a session nothing is counted, and that is said.
	chain, log := standard(mcpchain.Options{Retry: &retry.Options{Owner: func(context.Context, mcp.Request) string { return "" }}})
	for name, c := range map[string]struct {
		err    error
		panics any
	}{
		"unknown":   {err: errors.New("pq: password " + canary)},
		"not found": {err: fault.NotFound("file", "a.txt", "b.txt").Because(errors.New(canary))},
		"wrapped":   {err: errors.Join(fault.Denied("delete", "project").Needs("admin"), errors.New(canary))},
		"timeout":   {err: context.DeadlineExceeded},
		"panic":     {panics: canary},
		"nil panic": {panics: new(int)},
		"nil":       {},
		"hollow":    {err: hollow{}},
		"joined":    {err: errors.Join(errors.New(canary), hollow{})},
		"circle":    {err: circle{}},
	} {
		t.Run(name, func(t *testing.T) {
			log.Reset()
			res, err := wrapped.Tool(func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
				if c.panics != nil {
					panic(c.panics)
				}
				return nil, c.err
			}, chain)(t.Context(), request(nil))
			require.NoError(t, err)
			require.True(t, res.IsError)
			want := official(t, chain, c.err, c.panics)
			require.Equal(t, want.Content[0].(*mcp.TextContent).Text, textOf(t, res))
			f, _ := middleware.FaultOf(want, nil)
			require.Equal(t, f.Data(), faultOf(t, res).Data())
			raw, err := json.Marshal(res)
			require.NoError(t, err)
			require.NotContains(t, string(raw), canary)
			require.Contains(t, log.String(), `"level":`)
		})
	}
}

// TestUnsendable: what cannot be written as JSON is an internal error and no silence.
func TestUnsendable(t *testing.T) {
	chain, log := standard(mcpchain.Options{})
	for name, own := range map[string]*mcpgo.CallToolResult{
		"NaN":     mcpgo.NewToolResultStructured(math.NaN(), "x"),
		"nil":     {Content: []mcpgo.Content{nil}},
		"base64":  mcpgo.NewToolResultImage("x", canary, "image/png"),
		"meta":    {Result: mcpgo.Result{Meta: mcpgo.NewMetaFromMap(map[string]any{"n": math.Inf(1)})}},
		"pointer": {Content: []mcpgo.Content{(*mcpgo.TextContent)(nil)}},
	} {
		t.Run(name, func(t *testing.T) {
			log.Reset()
			res, err := wrapped.Tool(returns(own, nil), chain)(t.Context(), request(nil))
			require.NoError(t, err)
			require.Equal(t, fault.KindInternal, faultOf(t, res).Kind())
			require.NotContains(t, textOf(t, res), canary)
			require.Contains(t, log.String(), "cannot be sent")
		})
	}
}
