package e2e

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/middleware"
)

// A mount is a place in a server where a handler can fail, and how a client gets
// there.
type mount struct {
	kind    string
	method  string
	install func(b *build, name string)
	call    func(ctx context.Context, p *peer, name string) (mcp.Result, error)

	// What the log calls the thing that was called: the key and the value.
	target func(name string) (key, value string)
}

// handlers is where in the chain "handlers" the chain stands around this mount.
func (m mount) handlers() bool {
	switch m.kind {
	case "tool", "addtool", "resource", "template", "prompt":
		return true
	}
	return false
}

type (
	none   struct{}
	output struct {
		OK bool `json:"ok"`
	}
)

func callTool(args any) func(context.Context, *peer, string) (mcp.Result, error) {
	return func(ctx context.Context, p *peer, name string) (mcp.Result, error) {
		return result(p.cs.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args}))
	}
}

// result returns a typed result as an untyped one, and nil as nil.
func result[R interface {
	comparable
	mcp.Result
}](res R, err error) (mcp.Result, error) {
	var zero R
	if res == zero {
		return nil, err
	}
	return res, err
}

func toolTarget(name string) (string, string)   { return "tool", name }
func promptTarget(name string) (string, string) { return "prompt", name }
func noTarget(string) (string, string)          { return "", "" }
func uriTarget(prefix string) func(string) (string, string) {
	return func(name string) (string, string) { return "resource", prefix + name }
}

// raw is a handler given to Server.AddTool.
func raw(h mcp.ToolHandler) mount { return rawWith(h, nil) }

func rawWith(h mcp.ToolHandler, args any) mount {
	return mount{kind: "raw", method: middleware.MethodCallTool, target: toolTarget, call: callTool(args),
		install: func(b *build, name string) {
			b.server.AddTool(&mcp.Tool{Name: name, InputSchema: anyObject}, h)
		}}
}

// wrapped is a raw handler in middleware.Tool.
func wrapped(h mcp.ToolHandler) mount {
	m := raw(h)
	m.kind = "tool"
	m.install = func(b *build, name string) {
		b.server.AddTool(&mcp.Tool{Name: name, InputSchema: anyObject}, middleware.Tool(h, b.standard))
	}
	return m
}

// typed is a handler given to mcp.AddTool.
func typed[In, Out any](h mcp.ToolHandlerFor[In, Out], args any) mount {
	return mount{kind: "typed", method: middleware.MethodCallTool, target: toolTarget, call: callTool(args),
		install: func(b *build, name string) { mcp.AddTool(b.server, &mcp.Tool{Name: name}, h) }}
}

// typedAdded is a typed handler given to middleware.AddTool.
func typedAdded[In, Out any](h mcp.ToolHandlerFor[In, Out], args any) mount {
	m := typed(h, args)
	m.kind = "addtool"
	m.install = func(b *build, name string) {
		middleware.AddTool(b.server, &mcp.Tool{Name: name}, h, b.standard)
	}
	return m
}

func resource(h mcp.ResourceHandler) mount {
	return mount{kind: "resource", method: middleware.MethodReadResource, target: uriTarget("resource://"),
		install: func(b *build, name string) {
			b.server.AddResource(&mcp.Resource{URI: "resource://" + name, Name: name}, middleware.Resource(h, b.wrap()...))
		},
		call: func(ctx context.Context, p *peer, name string) (mcp.Result, error) {
			return result(p.cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: "resource://" + name}))
		}}
}

func template(h mcp.ResourceHandler) mount {
	return mount{kind: "template", method: middleware.MethodReadResource, target: uriTarget(templateURI),
		install: func(b *build, name string) { b.templates[name] = middleware.Resource(h, b.wrap()...) },
		call: func(ctx context.Context, p *peer, name string) (mcp.Result, error) {
			return result(p.cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: templateURI + name}))
		}}
}

func prompt(h mcp.PromptHandler) mount {
	return mount{kind: "prompt", method: middleware.MethodGetPrompt, target: promptTarget,
		install: func(b *build, name string) {
			b.server.AddPrompt(&mcp.Prompt{Name: name}, middleware.Prompt(h, b.wrap()...))
		},
		call: func(ctx context.Context, p *peer, name string) (mcp.Result, error) {
			return result(p.cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: map[string]string{"secret": canary(name)}}))
		}}
}

func completion(h func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error)) mount {
	return mount{kind: "completion", method: middleware.MethodComplete, target: noTarget,
		install: func(b *build, name string) { b.completions[name] = h },
		call: func(ctx context.Context, p *peer, name string) (mcp.Result, error) {
			return result(p.cs.Complete(ctx, &mcp.CompleteParams{
				Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "slow"},
				Argument: mcp.CompleteParamsArgument{Name: name, Value: canary(name)},
			}))
		}}
}

// customParams and customResult are those of custom methods.
type (
	customParams struct {
		mcp.ParamsBase
		Secret string `json:"secret"`
	}
	customResult struct {
		mcp.ResultBase
		Value any `json:"value"`
	}
)

func custom(h func(context.Context, *customParams) (*customResult, error)) mount {
	return mount{kind: "custom", method: "acme/", target: noTarget,
		install: func(b *build, name string) {
			err := mcp.AddReceivingCustomMethod(b.server, "acme/"+name, func(ctx context.Context, _ *mcp.ServerSession, params *customParams) (*customResult, error) {
				return h(ctx, params)
			})
			if err != nil {
				panic(err)
			}
		},
		call: func(ctx context.Context, p *peer, name string) (mcp.Result, error) {
			return result(mcp.CallCustomMethod[*customParams, *customResult](ctx, p.cs, "acme/"+name, &customParams{Secret: canary(name)}))
		}}
}

// customNotification is a custom method whose name is that of a notification, so
// that no client of the SDK waits for the answer.
func customNotification(h func(name string) (*customResult, error)) mount {
	return mount{kind: "notification", target: noTarget,
		install: func(b *build, name string) {
			err := mcp.AddReceivingCustomMethod(b.server, name, func(context.Context, *mcp.ServerSession, *customParams) (*customResult, error) {
				return h(name)
			})
			if err != nil {
				panic(err)
			}
		},
		call: func(ctx context.Context, p *peer, name string) (mcp.Result, error) {
			_, err := p.raw(ctx, name, map[string]any{})
			return nil, err
		}}
}

// subscription is a handler of subscriptions: resources/subscribe until 2025-11-25,
// and since then a part of subscriptions/listen, to which no client of the SDK
// waits for the answer.
func subscription(h func(context.Context) error) mount {
	return mount{kind: "subscription", method: "resources/subscribe", target: uriTarget(subscribeURI),
		install: func(b *build, name string) {
			b.subscriptions[name] = func(ctx context.Context, _ *mcp.SubscribeRequest) error { return h(ctx) }
		},
		call: func(ctx context.Context, p *peer, name string) (mcp.Result, error) {
			if p.version < version2026 {
				return nil, p.cs.Subscribe(ctx, &mcp.SubscribeParams{URI: subscribeURI + name})
			}
			_, err := p.raw(ctx, "subscriptions/listen", map[string]any{
				"notifications": map[string]any{"resourceSubscriptions": []string{subscribeURI + name}},
			})
			return nil, err
		}}
}

// everywhere returns all mounts of a handler that needs to do nothing but fail.
func everywhere(fail func(ctx context.Context) error) []mount {
	tool := func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		err := fail(ctx)
		return nil, err
	}
	typedTool := func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, output, error) {
		return nil, output{}, fail(ctx)
	}
	read := func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, fail(ctx)
	}
	return []mount{
		raw(tool),
		wrapped(tool),
		typed(typedTool, nil),
		typedAdded(typedTool, nil),
		resource(read),
		template(read),
		prompt(func(ctx context.Context, _ *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return nil, fail(ctx)
		}),
		completion(func(ctx context.Context, _ *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return nil, fail(ctx)
		}),
		custom(func(ctx context.Context, _ *customParams) (*customResult, error) {
			return nil, fail(ctx)
		}),
		subscription(fail),
		innerBefore(fail),
		innerAfter(fail),
	}
}

// innerBefore is a user's own middleware that fails before it calls the handler.
func innerBefore(fail func(context.Context) error) mount {
	return inner("inner-before", func(mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			return nil, fail(ctx)
		}
	})
}

// innerAfter is one that fails when the handler has answered.
func innerAfter(fail func(context.Context) error) mount {
	return inner("inner-after", func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if _, err := next(ctx, method, req); err != nil {
				return nil, err
			}
			return nil, fail(ctx)
		}
	})
}

func inner(kind string, mw mcp.Middleware) mount {
	m := raw(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"ok":true}`)}, nil
	})
	m.kind = kind
	install := m.install
	m.install = func(b *build, name string) {
		install(b, name)
		b.inner[name] = mw
	}
	return m
}
