package errbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/retry"
)

// A Server puts the tools of a case behind a library.
type Server struct {
	Name  string
	start func(t *testing.T, c *Case, tools []*tool) (call func(tool string, arguments map[string]any) Answer, stop func())
}

// A tool of a case. Its handler is the same on every server.
type tool struct {
	Tool

	handler func(ctx context.Context, arguments map[string]any) (any, error)
}

// worded is a failure that the author of a tool worded: in plain words, and as a fault for
// the server that knows faults. Both say the same.
type worded struct {
	words string
	fault *fault.Error
}

func (w *worded) Error() string { return w.words }

// Servers are those that are compared.
func Servers() []Server {
	return []Server{
		{"bare SDK", bare},
		{"mcp-go", withMCPGo},
		{"by hand", byHand},
		{"mcpchain", ours},
	}
}

// clientPatience is when a client gives up that gets no answer.
const clientPatience = time.Minute

// bare is a server of the SDK without middlewares. A panic ends its process, so what
// catches it here is no part of the server: the client reads that the connection is
// closed. For the next call somebody has started the server again.
func bare(t *testing.T, _ *Case, tools []*tool) (func(string, map[string]any) Answer, func()) {
	died := false
	crash := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
			defer func() {
				if recover() != nil {
					died, res, err = true, nil, errors.New("no answer")
				}
			}()
			return next(ctx, method, req)
		}
	}
	call, stop := serve(t, tools, false, func(w *worded) error { return errors.New(w.words) }, crash)
	return func(tool string, arguments map[string]any) Answer {
		died = false
		answer := call(tool, arguments)
		if died {
			return Answer{Failed: true, Text: "MCP error -32000: Connection closed", Code: -32000, raw: "connection closed", died: true}
		}
		return answer
	}, stop
}

var errInternal = errors.New("internal error")

// publicError is an error that a middleware written by hand shows.
type publicError struct{ text string }

func (e *publicError) Error() string { return e.text }

// byHand is what a team writes: panics and errors become "internal error", but for errors
// of a type that is meant for callers. The SDK's own answers to wrong arguments pass.
func byHand(t *testing.T, _ *Case, tools []*tool) (func(string, map[string]any) Answer, func()) {
	guarded := make([]*tool, len(tools))
	for i, inner := range tools {
		guarded[i] = &tool{inner.Tool, func(ctx context.Context, arguments map[string]any) (out any, err error) {
			defer func() {
				var public *worded
				if recover() != nil || err != nil && !errors.As(err, &public) {
					out, err = nil, errInternal // and the log has the rest
				}
			}()
			return inner.handler(ctx, arguments)
		}}
	}
	return serve(t, guarded, false, func(w *worded) error { return &publicError{w.words} })
}

// ours is mcpchain with its defaults, but that waits are equal and references are equal.
func ours(t *testing.T, c *Case, tools []*tool) (func(string, map[string]any) Answer, func()) {
	return serve(t, tools, true, func(w *worded) error { return w.fault }, mcpchain.Standard(&mcpchain.Options{
		Logger:    slog.New(slog.DiscardHandler),
		Retry:     &retry.Options{InitialInterval: time.Millisecond},
		Correlate: &correlate.Options{NewID: func(context.Context, mcp.Request) string { return "0198c7f2-9d3e-7c41-9f0a-5b7d6c1e2a34" }},
	}))
}

// textOf is a result in words.
func textOf(out any) string {
	if l, ok := out.(*listed); ok {
		return l.words
	}
	text, _ := out.(string)
	return text
}

// serve starts a server of the SDK. If lists is set, the outcome of a list is told as a
// batch.
func serve(t *testing.T, tools []*tool, lists bool, say func(*worded) error, mw ...mcp.Middleware) (func(string, map[string]any) Answer, func()) {
	server := mcp.NewServer(&mcp.Implementation{Name: "errbench", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	for _, tool := range tools {
		mcp.AddTool(server, &mcp.Tool{
			Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: tool.ReadOnly, IdempotentHint: tool.Idempotent},
		}, func(ctx context.Context, _ *mcp.CallToolRequest, arguments map[string]any) (*mcp.CallToolResult, any, error) {
			out, err := tool.handler(ctx, arguments)
			if w := (*worded)(nil); errors.As(err, &w) {
				err = say(w)
			}
			if l, ok := out.(*listed); ok && lists {
				res, out := l.result()
				return res, out, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: textOf(out)}}}, nil, err
		})
	}
	server.AddReceivingMiddleware(mw...)
	theirs, own := mcp.NewInMemoryTransports()
	serving, err := server.Connect(t.Context(), own, nil)
	must(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "errbench", Version: "1"}, nil).Connect(t.Context(), theirs, nil)
	must(t, err)
	call := func(tool string, arguments map[string]any) Answer {
		ctx, cancel := context.WithTimeout(t.Context(), clientPatience)
		defer cancel()
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			return fromError(err)
		}
		return fromResult(t, res)
	}
	return call, func() {
		must(t, session.Close())
		_ = serving.Wait()
	}
}

func fromResult(t *testing.T, res *mcp.CallToolResult) Answer {
	raw, err := json.Marshal(res)
	must(t, err)
	a := Answer{Failed: res.IsError, Meta: res.Meta, Structured: res.StructuredContent, raw: string(raw)}
	var texts []string
	for _, block := range res.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	a.Text = strings.Join(texts, "\n")
	return a
}

func fromError(err error) Answer {
	if errors.Is(err, context.DeadlineExceeded) {
		return Answer{Failed: true, Text: "MCP error -32001: Request timed out", Code: -32001}
	}
	a := Answer{Failed: true, Text: err.Error(), raw: err.Error()}
	if w := (*jsonrpc.Error)(nil); errors.As(err, &w) {
		a.Text, a.Code, a.raw = w.Message, w.Code, w.Message+string(w.Data)
		_ = json.Unmarshal(w.Data, &a.Data)
	}
	return a
}

// withMCPGo is a server of mcp-go with its recovery and its check of arguments. Handlers
// return errors as its documentation has it: as the text of a result.
func withMCPGo(t *testing.T, _ *Case, tools []*tool) (func(string, map[string]any) Answer, func()) {
	s := mcpgoserver.NewMCPServer("errbench", "1", mcpgoserver.WithRecovery(), mcpgoserver.WithInputSchemaValidation())
	for _, tool := range tools {
		schema, err := json.Marshal(tool.InputSchema)
		must(t, err)
		s.AddTool(mcpgo.NewToolWithRawSchema(tool.Name, tool.Description, schema),
			func(ctx context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
				out, err := tool.handler(ctx, req.GetArguments())
				if err != nil {
					return mcpgo.NewToolResultError(err.Error()), nil
				}
				return mcpgo.NewToolResultText(textOf(out)), nil
			})
	}
	id := 0
	return func(tool string, arguments map[string]any) Answer {
		id++
		message, err := json.Marshal(map[string]any{
			"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments},
		})
		must(t, err)
		raw, err := json.Marshal(s.HandleMessage(t.Context(), message))
		must(t, err)
		var response struct {
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Code    int64  `json:"code"`
				Message string `json:"message"`
				Data    any    `json:"data"`
			} `json:"error"`
		}
		must(t, json.Unmarshal(raw, &response))
		if e := response.Error; e != nil {
			return Answer{Failed: true, Text: e.Message, Code: e.Code, Data: e.Data, raw: string(raw)}
		}
		var res mcp.CallToolResult
		must(t, json.Unmarshal(response.Result, &res))
		return fromResult(t, &res)
	}, func() {}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(fmt.Errorf("errbench: %w", err))
	}
}
