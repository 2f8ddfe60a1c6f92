package forgery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
)

// A channel is one way that a text from outside takes into an answer.
type channel struct {
	name   string
	method string // tools/call when empty
	target func(text string) string
	args   func(text string) map[string]any
	// handle is the handler; it echoes its arguments when it is nil. It gets the text,
	// which a service or another caller may have written.
	handle func(ctx context.Context, req mcp.Request, text string) (mcp.Result, error)
	// around stands next to the handler.
	around func(text string) mcp.Middleware
	items  bool // the answer is a list
	bare   bool // the text stands behind no label of ours, and may begin with that of a kind
}

// fails is a channel of a handler that fails.
func fails(name string, err func(text string) error) channel {
	return channel{name: name, handle: func(_ context.Context, _ mcp.Request, text string) (mcp.Result, error) {
		return nil, err(text)
	}}
}

func of(method string, c channel) channel {
	c.method, c.name = method, method+" "+c.name
	return c
}

func channels() []channel {
	base := func() *fault.Error { return fault.New(fault.KindConflict, "the index is locked") }
	faults := []channel{
		fails("message", func(x string) error { return fault.New(fault.KindConflict, x) }),
		fails("message of an open kind", func(x string) error { return fault.New("deployment_in_progress", x) }),
		fails("suggestion", func(x string) error { return base().Suggest(x) }),
		fails("identifier", func(x string) error { return fault.NotFound("invoice", x) }),
		fails("resource type", func(x string) error { return fault.NotFound(x, "17") }),
		fails("candidates", func(x string) error { return fault.NotFound("invoice", "no such", x, x+" b", "c "+x) }),
		fails("existing", func(x string) error { return fault.AlreadyExists(x, x) }),
		fails("denied", func(x string) error { return fault.Denied(x, x).Needs(x) }),
		fails("subjects", func(x string) error {
			return fault.Join(fault.RateLimited(x, time.Second), fault.Timeout(x, time.Second), fault.Unavailable(x))
		}),
		fails("detail", func(x string) error { return base().With("detail", x).With("deep", map[string]any{"a": []string{x}}) }),
		fails("name of a detail", func(x string) error { return base().With(x, 1).With("deep", map[string]any{x: 1}) }),
		fails("code", func(x string) error { return base().WithCode(x) }),
		fails("reason", func(x string) error { return base().Never(x) }),
		fails("reason and effect", func(x string) error {
			return base().WithRetry(fault.Retry{ShouldRetry: true, Reason: x, Effect: fault.EffectNone})
		}),
		fails("step in words", func(x string) error { return base().Step(x, "", nil) }),
		fails("step", func(x string) error { return base().Step(x, "act", map[string]any{"text": x}) }),
		fails("step with a tool that is none", func(x string) error { return base().Step("Look", x, map[string]any{x: x}) }),
		fails("step described", func(x string) error {
			return base().WithSteps(fault.Step{Action: "Look", Description: x, Options: []fault.Option{
				{Action: x}, {Action: "b", Tool: "act", Parameters: map[string]any{"text": x}},
			}})
		}),
		fails("violation", func(x string) error { return fault.Invalid(x, x, x, x, x) }),
		fails("violations", func(x string) error {
			return fault.Violations(
				fault.Violation{Field: x, Rule: x, Expected: x, Received: x, Suggestion: x},
				fault.Violation{Field: "b", Message: x},
				fault.Violation{Field: "c", Rule: "required", Expected: x})
		}),
		fails("joined", func(x string) error {
			return errors.Join(fault.New(fault.KindConflict, x), fault.NotFound("a", x), fault.New("own", "b").Suggest(x))
		}),
		fails("data", func(x string) error {
			return fault.FromData(fault.Data{Type: fault.KindConflict, Message: "a", Identifier: x, ResourceType: x, Action: x,
				Resource: x, SimilarMatches: []string{x, x}, Examples: []string{x}, Expected: x, Field: x, RequiredPermission: x, CorrectedTool: x,
				CorrectedArguments: map[string]any{x: x}})
		}),
		fails("cause", func(x string) error { return base().Because(errors.New(x)) }),
		fails("plain error", errors.New),
		fails("wrapped error", func(x string) error { return fmt.Errorf("%s: %w", x, base()) }),
		fails("public message", func(x string) error { return worded(x) }),
		fails("protocol error", func(x string) error {
			return &jsonrpc.Error{Code: -31000, Message: x, Data: json.RawMessage(quoted(x))}
		}),
		fails("wrapped protocol error", func(x string) error {
			return fmt.Errorf("%s: %w", x, &jsonrpc.Error{Code: -31000, Message: x})
		}),
		fails("upstream", func(x string) error {
			return fmt.Errorf(`calling "tools/call": %w`, &jsonrpc.Error{Code: -32603, Message: x})
		}),
		fails("ruled", func(x string) error { return ruled(x) }),
		{name: "panic", handle: func(_ context.Context, _ mcp.Request, x string) (mcp.Result, error) { panic(x) }},
		{
			name: "added", handle: func(context.Context, mcp.Request, string) (mcp.Result, error) { return nil, base() },
			around: func(x string) mcp.Middleware {
				return func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
						res, err := next(ctx, method, req)
						middleware.AddTo(ctx, res, err, func(f *fault.Error) *fault.Error {
							return f.Suggest(x).With(x, x).Step(x, "act", map[string]any{"text": x}).Never(x)
						})
						return res, err
					}
				}
			},
		},
	}
	for i, c := range faults {
		faults[i].bare = strings.Contains(c.name, "protocol error") || c.name == "upstream"
	}
	all := faults
	for _, c := range faults {
		all = append(all, of(middleware.MethodReadResource, c), of(middleware.MethodGetPrompt, c))
	}
	fixed := func(s string) func(string) string { return func(string) string { return s } }
	arg := func(name string) func(string) map[string]any {
		return func(x string) map[string]any { return map[string]any{name: x} }
	}
	return append(all,
		channel{name: "unknown tool", target: func(x string) string { return x }, handle: func(_ context.Context, req mcp.Request, _ string) (mcp.Result, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", middleware.Target(req))}
		}},
		of(middleware.MethodReadResource, channel{name: "unknown", target: func(x string) string { return x }, handle: func(_ context.Context, req mcp.Request, _ string) (mcp.Result, error) {
			return nil, mcp.ResourceNotFoundError(middleware.Target(req))
		}}),
		of(middleware.MethodGetPrompt, channel{name: "unknown", target: func(x string) string { return x }, handle: func(_ context.Context, req mcp.Request, _ string) (mcp.Result, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt %q", middleware.Target(req))}
		}}),
		channel{name: "argument", target: fixed("strict"), args: arg("color")},
		channel{name: "argument with a pattern", target: fixed("strict"), args: func(x string) map[string]any { return map[string]any{"color": "red", "when": x, "n": x} }},
		channel{name: "name of an argument", target: fixed("strict"), args: func(x string) map[string]any { return map[string]any{"color": "red", x: 1} }},
		channel{name: "nested argument", target: fixed("strict"), args: func(x string) map[string]any {
			return map[string]any{"color": "red", "list": []any{map[string]any{x: x}, x, 1}}
		}},
		channel{name: "items", items: true, target: fixed("act_all"), args: func(x string) map[string]any {
			return map[string]any{"texts": []any{x, x + "b", "c" + x, "good"}}
		}, handle: func(_ context.Context, req mcp.Request, x string) (mcp.Result, error) {
			var in struct{ Text string }
			_ = json.Unmarshal(req.(*mcp.CallToolRequest).Params.Arguments, &in)
			if in.Text == "good" {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "good"}}}, nil
			}
			return nil, base().Suggest(x).With("a", x)
		}},
		channel{name: "items that their tool refuses", items: true, target: fixed("act_all"), args: func(x string) map[string]any {
			return map[string]any{"texts": []any{x, "good"}}
		}, handle: func(_ context.Context, _ mcp.Request, x string) (mcp.Result, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: x}}}, nil
		}},
		channel{name: "all items fail", items: true, target: fixed("act_all"), args: func(x string) map[string]any {
			x = x[:min(len(x), 256<<10)] // a longer list is refused before it is read
			return map[string]any{"texts": []any{x, x + " b"}}
		}, handle: func(_ context.Context, _ mcp.Request, x string) (mcp.Result, error) { return nil, fault.New("own", x) }},
		channel{name: "batch", items: true, handle: func(ctx context.Context, _ mcp.Request, x string) (mcp.Result, error) {
			return batch.Run(ctx, []string{x, "b", x + "c"}, func(_ context.Context, item string) (string, error) {
				switch item {
				case "b":
					return x, nil
				case x:
					return "", fault.NotFound(x, x, x).Suggest(x)
				}
				return "", fault.New(fault.KindConflict, x).After(time.Second)
			}, &batch.RunOptions[string]{Key: func(item string) string { return item }, KeyName: "file"}).ToolResult(), nil
		}},
		channel{name: "parts", items: true, target: fixed("parts"), handle: func(ctx context.Context, _ mcp.Request, x string) (mcp.Result, error) {
			var got string
			_, err := degrade.Run(ctx,
				degrade.Required("token", &got, func(context.Context) (string, error) { return "ok", nil }),
				degrade.Optional("n "+x, &got, func(context.Context) (string, error) { return "", fault.New(fault.KindConflict, x).Suggest(x) }),
				degrade.Optional("impact", &got, func(context.Context) (string, error) { return "", errors.New(x) }).Impact(x),
				degrade.Optional("skipped", &got, func(context.Context) (string, error) { return "", degrade.Skip(x) }),
				degrade.Optional("source", &got, func(context.Context) (string, error) { return "", base().Never(x) }).
					Else("other "+x, func(context.Context) (string, error) { return "b", nil }),
				degrade.Optional("copy", &got, func(context.Context) (string, error) { return "", base() }).
					Stale("kept "+x, time.Hour, func(context.Context) (string, time.Time, error) { return "c", time.Now(), nil }))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, err
		}},
		channel{name: "required part", target: fixed("parts"), handle: func(ctx context.Context, _ mcp.Request, x string) (mcp.Result, error) {
			var got string
			_, err := degrade.Run(ctx, degrade.Required("n "+x, &got, func(context.Context) (string, error) {
				return "", fault.New(fault.KindConflict, x).With(x, x)
			}))
			return nil, err
		}},
		of(middleware.MethodComplete, fails("plain error", errors.New)),
		of("custom/"+"method", fails("message", func(x string) error { return fault.New(fault.KindConflict, x) })),
	)
}

// worded is an error with a public message.
type worded string

func (w worded) Error() string         { return "private" }
func (w worded) PublicMessage() string { return string(w) }

// ruled is an error that a rule words.
type ruled string

func (r ruled) Error() string { return string(r) }

func quoted(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}
