package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
)

// A scenario is one failure at one place.
type scenario struct {
	name string
	mount
	want want

	adjust  func(chain, kind string, w *want)
	bare    fate // what becomes of a bare server
	bareOld fate // with a client of 2025-11-25

	// skip says why the scenario makes no sense with a client, or returns "".
	skip func(p *peer) string
}

// scenarios returns the whole table: each failure in each place, and what can go
// wrong in one place only.
var scenarios = sync.OnceValue(func() []scenario {
	var all []scenario
	for _, f := range failures() {
		for _, m := range everywhere(func(ctx context.Context) error { return f.fail(ctx, canary(f.name)) }) {
			if f.only != nil && !slices.Contains(f.only, m.kind) {
				continue
			}
			w := f.want
			if w.log == nil {
				w.log = []string{canary(f.name)}
			}
			s := scenario{adjust: f.adjust, name: f.name + "." + m.kind, mount: m, want: w, bare: lives, bareOld: lives}
			if m.kind == "raw" {
				s.bare, s.bareOld = f.bare, f.bare
			}
			all = append(all, s)
		}
	}
	all = append(all, nilResults()...)
	all = append(all, unmarshalableResults()...)
	all = append(all, ownResults()...)
	all = append(all, argumentFailures()...)
	all = append(all, goexits()...)
	return all
})

// mistake returns what is wanted where a handler broke the rules.
func mistake(log ...string) want {
	return want{public: internal(), outcome: "internal_error", log: log}
}

func panicked(log ...string) want {
	return want{public: internal(), outcome: "panic", stack: true, log: log}
}

// goexits are handlers that end their goroutine, which is the end of their call, too,
// where the SDK runs them in the goroutine that answers.
func goexits() []scenario {
	all := everywhere(func(context.Context) error { runtime.Goexit(); return nil })
	all = slices.DeleteFunc(all, func(m mount) bool { // outside of the limit, or without one
		return slices.Contains([]string{"custom", "subscription", "inner-before", "inner-after"}, m.kind)
	})
	scenarios := make([]scenario, len(all))
	for i, m := range all {
		scenarios[i] = scenario{name: "goexit." + m.kind, mount: m, want: panicked("runtime.Goexit"), skip: func(p *peer) string {
			if p.cfg.Chain != chainAll {
				return "nobody could answer it"
			}
			return ""
		}}
	}
	return scenarios
}

func nilResults() []scenario {
	nothing := "neither a result nor an error"
	return []scenario{
		{name: "nil-tool", want: mistake(nothing), bare: dies, bareOld: lives,
			mount: raw(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })},
		{name: "nil-tool-wrapped", want: mistake(nothing),
			mount: wrapped(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })},
		{name: "nil-prompt", want: mistake(nothing), bare: dies, bareOld: lives,
			mount: prompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, nil })},
		{name: "nil-resource", want: mistake("nil information"), // the SDK's words, where it sees it first
			adjust: func(chain, _ string, w *want) {
				if chain == chainHandlers {
					w.log = []string{nothing}
				}
			},
			mount: resource(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return nil, nil })},
		{name: "nil-contents", want: mistake("read handler returned nil information"),
			mount: resource(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{}, nil
			})},
		{name: "nil-completion", want: mistake(nothing), bare: dies, bareOld: lives,
			mount: completion(func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) { return nil, nil })},
		{name: "nil-custom", want: mistake(nothing), bare: dies, bareOld: lives,
			mount: custom(func(context.Context, *customParams) (*customResult, error) { return nil, nil })},
		{name: "nil-inner", want: mistake(nothing), mount: inner("inner", func(mcp.MethodHandler) mcp.MethodHandler {
			return func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil }
		})},
		{name: "nil-inner-typed", want: mistake(nothing), mount: inner("inner", func(mcp.MethodHandler) mcp.MethodHandler {
			return func(context.Context, string, mcp.Request) (mcp.Result, error) { return (*mcp.CallToolResult)(nil), nil }
		})},
		// The pointer is nil and the error is not: that one counts.
		{name: "nil-result-and-error", mount: raw(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("secret " + canary("nil-result-and-error"))
		}), want: mistake(canary("nil-result-and-error")), bare: leaks, bareOld: leaks},
	}
}

// marshalers that do not.
type (
	failingJSON  struct{ secret string }
	panickyJSON  struct{ secret string }
	brokenJSON   struct{ secret string }
	numberOutput struct {
		N float64 `json:"n"`
	}
	anyOutput struct {
		V any `json:"v"`
	}
)

func (v failingJSON) MarshalJSON() ([]byte, error) {
	return nil, errors.New("cannot marshal " + v.secret)
}
func (v panickyJSON) MarshalJSON() ([]byte, error) { panic("MarshalJSON of " + v.secret) }
func (v brokenJSON) MarshalJSON() ([]byte, error)  { return []byte(`{"secret":"` + v.secret), nil }

func unmarshalableResults() []scenario {
	text := &mcp.TextContent{Text: "fine"}
	nan := math.NaN()
	var all []scenario
	tool := func(name string, bare fate, res func(canary string) *mcp.CallToolResult, log ...string) {
		name = "unsendable-" + name
		all = append(all, scenario{name: name, want: mistake(log...), bare: bare, bareOld: bare,
			mount: raw(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return res(canary(name)), nil
			})})
	}
	structured := func(name string, bare fate, v func(c string) any, log ...string) {
		tool("structured-"+name, bare, func(c string) *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: []mcp.Content{text}, StructuredContent: v(c)}
		}, log...)
	}
	contents := func(name string, bare fate, c func(c string) mcp.Content, log ...string) {
		tool("content-"+name, bare, func(s string) *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: []mcp.Content{text, c(s)}}
		}, log...)
	}
	structured("nan", hangs, func(string) any { return map[string]any{"x": nan} }, "structuredContent", "NaN")
	structured("infinite", hangs, func(string) any { return []float64{math.Inf(-1)} }, "structuredContent", "-Inf")
	structured("channel", hangs, func(string) any { return map[string]any{"x": make(chan int)} }, "chan int")
	structured("function", hangs, func(string) any { return func() {} }, "func()")
	structured("failing", hangs, func(c string) any { return failingJSON{c} }, canary("unsendable-structured-failing"))
	structured("panicking", dies, func(c string) any { return map[string]any{"x": panickyJSON{c}} }, canary("unsendable-structured-panicking"))
	structured("broken", hangs, func(c string) any { return brokenJSON{c} }, "unexpected end of JSON input")
	structured("broken-raw", hangs, func(c string) any { return json.RawMessage(`{"secret":"` + c) }, "raw JSON that is not valid")
	structured("broken-raw-inside", hangs, func(c string) any { return map[string]any{"x": json.RawMessage(c)} }, "invalid character")
	structured("cycle", hangs, func(string) any {
		m := map[string]any{}
		m["self"] = m
		return m
	}, "cycle")
	structured("nan-pointer", hangs, func(string) any { return &numberOutput{N: nan} }, "NaN")
	structured("empty-raw", hangs, func(string) any { return json.RawMessage{} }, "raw JSON that is not valid")

	tool("meta-nan", hangs, func(string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Meta: mcp.Meta{"x": nan}, Content: []mcp.Content{text}}
	}, "_meta[x]", "NaN")
	tool("meta-channel", hangs, func(string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Meta: mcp.Meta{"x": []any{make(chan int)}}, Content: []mcp.Content{text}}
	}, "_meta[x]", "chan int")
	tool("meta-panicking", dies, func(c string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Meta: mcp.Meta{"x": panickyJSON{c}}, Content: []mcp.Content{text}}
	}, canary("unsendable-meta-panicking"))
	tool("content-nil", lives, func(string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{text, nil}}
	}, "content[1]", "nil")
	contents("nil-text", dies, func(string) mcp.Content { return (*mcp.TextContent)(nil) }, "content[1]")
	contents("nil-image", dies, func(string) mcp.Content { return (*mcp.ImageContent)(nil) }, "content[1]")
	contents("nil-link", dies, func(string) mcp.Content { return (*mcp.ResourceLink)(nil) }, "content[1]")
	contents("annotation-nan", hangs, func(string) mcp.Content {
		return &mcp.TextContent{Text: "x", Annotations: &mcp.Annotations{Priority: nan}}
	}, "Annotations.priority", "NaN")
	contents("image-annotation", hangs, func(string) mcp.Content {
		return &mcp.ImageContent{MIMEType: "image/png", Annotations: &mcp.Annotations{Priority: math.Inf(1)}}
	}, "Annotations.priority", "Inf")
	contents("meta-function", hangs, func(string) mcp.Content {
		return &mcp.TextContent{Text: "x", Meta: mcp.Meta{"f": func() {}}}
	}, "Meta[f]", "func()")
	contents("embedded-meta", hangs, func(c string) mcp.Content {
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a:b", Text: "x", Meta: mcp.Meta{"f": failingJSON{c}}}}
	}, canary("unsendable-content-embedded-meta"))
	contents("audio-meta", hangs, func(string) mcp.Content { return &mcp.AudioContent{Meta: mcp.Meta{"f": nan}} }, "Meta[f]")
	contents("nested-result", hangs, func(string) mcp.Content {
		return &mcp.ToolResultContent{ToolUseID: "1", StructuredContent: map[string]any{"x": nan}, Content: []mcp.Content{}}
	}, "NaN")
	tool("input-schema", hangs, func(string) *mcp.CallToolResult {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": &mcp.ElicitParams{Message: "?", RequestedSchema: map[string]any{"x": nan}}}}
	}, "NaN")
	// An older client is asked by the server itself, which fails before.
	all[len(all)-1].skip = onlyNew

	// Typed tools: the SDK marshals the output inside of the chain.
	typedTool := func(name string, w want, bare fate, m mount) {
		all = append(all, scenario{name: "unsendable-typed-" + name, want: w, bare: bare, bareOld: bare, mount: m})
	}
	typedTool("nan", mistake("NaN"), lives, typed(func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, numberOutput, error) {
		return nil, numberOutput{nan}, nil
	}, nil))
	typedTool("failing", mistake(canary("unsendable-typed-failing")), leaks, typed(func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, anyOutput, error) {
		return nil, anyOutput{failingJSON{canary("unsendable-typed-failing")}}, nil
	}, nil))
	typedTool("panicking", panicked(canary("unsendable-typed-panicking")), dies, typed(func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, anyOutput, error) {
		return nil, anyOutput{panickyJSON{canary("unsendable-typed-panicking")}}, nil
	}, nil))
	typedTool("panicking-added", panicked(canary("unsendable-typed-panicking-added")), lives, typedAdded(func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, anyOutput, error) {
		return nil, anyOutput{panickyJSON{canary("unsendable-typed-panicking-added")}}, nil
	}, nil))
	typedTool("meta", mistake("_meta[x]", "NaN"), hangs, typed(func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, output, error) {
		return &mcp.CallToolResult{Meta: mcp.Meta{"x": nan}}, output{true}, nil
	}, nil))
	breaksSchema := typed(func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return nil, map[string]any{"level": "secret " + canary("unsendable-typed-schema")}, nil
	}, nil)
	breaksSchema.install = func(b *build, name string) {
		mcp.AddTool(b.server, &mcp.Tool{Name: name, OutputSchema: &jsonschema.Schema{
			Type: "object", Properties: map[string]*jsonschema.Schema{"level": {Enum: []any{"low", "high"}}},
		}}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			return nil, map[string]any{"level": "secret " + canary("unsendable-typed-schema")}, nil
		})
	}
	typedTool("schema", mistake("validating tool output"), leaks, breaksSchema)

	// The other features.
	all = append(all,
		scenario{name: "unsendable-prompt-content", want: mistake("messages[1]"), bare: hangs, bareOld: hangs,
			mount: prompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				res := promptResult("x")
				res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: &mcp.TextContent{Meta: mcp.Meta{"x": nan}}})
				return res, nil
			})},
		scenario{name: "unsendable-prompt-nil-message", want: mistake("messages[1]", "nil"), bare: lives, bareOld: lives,
			mount: prompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				res := promptResult("x")
				res.Messages = append(res.Messages, nil)
				return res, nil
			})},
		scenario{name: "unsendable-prompt-nil-content", want: mistake("messages[0]", "nil"), bare: lives, bareOld: lives,
			mount: prompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user"}}}, nil
			})},
		scenario{name: "unsendable-prompt-meta", want: mistake(canary("unsendable-prompt-meta")), bare: dies, bareOld: dies,
			mount: prompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{Meta: mcp.Meta{"x": panickyJSON{canary("unsendable-prompt-meta")}}}, nil
			})},
		scenario{name: "unsendable-resource-meta", want: mistake("contents[0]", "chan int"), bare: hangs, bareOld: hangs,
			mount: resource(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "x", Meta: mcp.Meta{"x": make(chan int)}}}}, nil
			})},
		scenario{name: "unsendable-resource-nil", want: panicked("nil pointer dereference"), bare: dies, bareOld: dies,
			adjust: func(_, _ string, w *want) { w.frame = "readResource" }, // the SDK panics when the handler has returned
			mount: template(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{nil}}, nil
			})},
		scenario{name: "unsendable-completion-meta", want: mistake("_meta[x]", "NaN"), bare: hangs, bareOld: hangs,
			mount: completion(func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
				return &mcp.CompleteResult{Meta: mcp.Meta{"x": nan}}, nil
			})},
		scenario{name: "unsendable-custom", want: mistake("chan int"), bare: hangs, bareOld: hangs,
			mount: custom(func(context.Context, *customParams) (*customResult, error) {
				return &customResult{Value: make(chan int)}, nil
			})},
		scenario{name: "unsendable-custom-panicking", want: mistake(canary("unsendable-custom-panicking")), bare: dies, bareOld: dies,
			mount: custom(func(context.Context, *customParams) (*customResult, error) {
				return &customResult{Value: panickyJSON{canary("unsendable-custom-panicking")}}, nil
			})},
		scenario{name: "unsendable-inner", want: mistake("structuredContent", "NaN"),
			mount: inner("inner", func(mcp.MethodHandler) mcp.MethodHandler {
				return func(context.Context, string, mcp.Request) (mcp.Result, error) {
					return &mcp.CallToolResult{StructuredContent: nan}, nil
				}
			})},
		scenario{name: "unsendable-inner-type", want: mistake(""),
			mount: inner("inner", func(mcp.MethodHandler) mcp.MethodHandler {
				return func(context.Context, string, mcp.Request) (mcp.Result, error) {
					return &customResult{Value: nan}, nil
				}
			})},
	)
	return all
}

func onlyNew(p *peer) string {
	if p.version < version2026 {
		return "the server asks an older client itself"
	}
	return ""
}

// ownResults are failures that a tool tells in a result of its own.
func ownResults() []scenario {
	var all []scenario
	own := func(name string, result func(c string) *mcp.CallToolResult, texts ...string) {
		name = "own-" + name
		handler := func() *mcp.CallToolResult { return result(canary(name)) }
		w := want{worded: true, outcome: "tool_error", own: append([]string{}, texts...), log: []string{""}}
		switch name {
		case "own-secret":
			w.log = []string{canary(name)}
		case "own-structured":
			w.structured = `{"dsn":"[redacted]"}`
		}
		all = append(all,
			scenario{name: name + ".raw", want: w, mount: raw(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return handler(), nil
			})},
			scenario{name: name + ".tool", want: w, mount: wrapped(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return handler(), nil
			})},
			scenario{name: name + ".typed", want: w, mount: typed(func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
				return handler(), nil, nil
			}, nil)},
			scenario{name: name + ".addtool", want: w, mount: typedAdded(func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
				return handler(), nil, nil
			}, nil)},
		)
	}
	failed := func(texts ...string) *mcp.CallToolResult {
		res := &mcp.CallToolResult{IsError: true}
		for _, text := range texts {
			res.Content = append(res.Content, &mcp.TextContent{Text: text})
		}
		return res
	}
	own("plain", func(string) *mcp.CallToolResult { return failed("The printer is out of paper.") }, "The printer is out of paper.")
	own("secret", func(c string) *mcp.CallToolResult {
		return failed("Cannot reach postgres://svc:"+c+"@db:5432/prod now.", "Bearer "+c, "See /etc/app/x?token="+c)
	}, "Cannot reach postgres://svc:[redacted]@db:5432/prod now.", "Bearer [redacted]", "See /etc/app/x?token=[redacted]")
	own("huge", func(c string) *mcp.CallToolResult {
		return failed(strings.Repeat("password="+c+"; ", 200_000))
	}, "")
	own("structured", func(c string) *mcp.CallToolResult {
		res := failed("It failed.")
		res.StructuredContent = map[string]any{"dsn": "postgres://svc:" + c + "@db:5432/prod"}
		return res
	}, "It failed.")
	own("embedded", func(c string) *mcp.CallToolResult {
		res := failed("It failed.")
		res.Content = append(res.Content, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: "https://svc:" + c + "@db/x", Text: "password=" + c,
		}})
		return res
	}, "It failed.", "")
	own("empty", func(string) *mcp.CallToolResult { return failed() }, fault.Generic(fault.KindTool).Text()) // the caller must read something

	// A result and an error: the error counts, and nothing of the result's content.
	name := "own-and-error"
	all = append(all, scenario{name: name, want: mistake("secret " + canary(name)), bare: leaks, bareOld: leaks,
		mount: raw(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{
				Content:           []mcp.Content{&mcp.TextContent{Text: canary(name)}},
				StructuredContent: map[string]any{"x": canary(name)},
				InputRequests:     mcp.InputRequestMap{"a": &mcp.ElicitParams{Message: canary(name)}},
				RequestState:      canary(name),
			}, errors.New("secret " + canary(name))
		})})
	// The same where the result could not be sent.
	all = append(all, scenario{name: "own-and-error-nan", want: mistake("secret"),
		mount: raw(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Meta: mcp.Meta{"x": math.NaN()}, StructuredContent: math.NaN()}, errors.New("secret")
		})})
	// And where a failed result of the tool's own cannot be sent.
	all = append(all, scenario{name: "own-nan", want: mistake("NaN"), bare: hangs, bareOld: hangs,
		mount: raw(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res := failed("It failed.")
			res.Meta = mcp.Meta{"x": math.NaN()}
			return res, nil
		})})
	// SetError by hand: an error like any other.
	name2 := "own-set-error"
	all = append(all, scenario{name: name2, want: mistake("secret " + canary(name2)),
		mount: raw(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res := &mcp.CallToolResult{}
			res.SetError(fmt.Errorf("secret %s", canary(name2)))
			return res, nil
		})})
	return all
}

// invalid is what is told of wrong arguments, of which the SDK said something else.
func invalid(suggestion string, violations ...fault.Violation) want {
	public := fault.Violations(violations...)
	if d := public.Data(); suggestion != "" {
		d.Violations[0].Suggestion = suggestion
		public = fault.FromData(d)
	}
	return want{public: public, worded: true, whole: true, outcome: "validation", log: []string{`validating "arguments"`}}
}

// argumentFailures have what the caller sent in them.
func argumentFailures() []scenario {
	type order struct {
		Quantity int    `json:"quantity"`
		Name     string `json:"name"`
		Password string `json:"password,omitempty"`
	}
	handler := func(context.Context, *mcp.CallToolRequest, order) (*mcp.CallToolResult, output, error) {
		return nil, output{true}, nil
	}
	var all []scenario
	arguments := func(name string, args map[string]any, w want) {
		all = append(all,
			scenario{name: "arguments-" + name + ".typed", want: w, mount: typed(handler, args)},
			scenario{name: "arguments-" + name + ".addtool", want: w, mount: typedAdded(handler, args)},
		)
	}
	// What came is said where it is short and no secret.
	c := canary("arguments")
	quantity := fault.Violation{Field: "quantity", Pointer: "/quantity", Rule: "type", Expected: "an integer"}
	five, missing, null := quantity, quantity, quantity
	five.Received, five.Message = "five", "Argument 'quantity' expected an integer, but received 'five'."
	missing.Rule, missing.Message = "required", "Argument 'quantity' is required: expected an integer."
	null.Message = "Argument 'quantity' expected an integer, but received null."
	unknown := fault.Violation{Field: "secret", Pointer: "/secret", Rule: "additionalProperties",
		Message: "Argument 'secret' is unknown. Known here are 'quantity', 'name' and 'password'."}
	arguments("value", map[string]any{"quantity": "five", "name": "x", "password": c}, invalid("", five))
	arguments("name", map[string]any{"quantity": 5, "name": "x", "secret": c}, invalid("Known here are 'quantity', 'name' and 'password'.", unknown))
	arguments("missing", map[string]any{"name": c}, invalid("", missing))
	arguments("null", map[string]any{"quantity": nil, "name": c}, invalid("", null))
	// The SDK decodes what the schema allows and Go's type does not hold. Its error names the field and has
	// the value that stands there.
	tooLarge := quantity
	tooLarge.Expected, tooLarge.Received = "an integer from -9223372036854775808 to 9223372036854775807", json.Number("99999999999999999999")
	tooLarge.Message = "Argument 'quantity' expected an integer from -9223372036854775808 to 9223372036854775807, but received 99999999999999999999."
	known := invalid("", tooLarge)
	known.log = []string{"cannot unmarshal"}
	arguments("decoding", map[string]any{"quantity": json.RawMessage("99999999999999999999"), "name": c}, known)
	none := invalid("", fault.Violation{
		Field: "name", Pointer: "/name", Rule: "required", Expected: "a string", Message: "Argument 'name' is required: expected a string.",
	}, missing)
	all = append(all, scenario{name: "arguments-none.typed", want: none, mount: typed(handler, nil)})

	// Names and URIs that the server does not know. The SDK says so, and its words
	// stay, apart from what looks like a secret.
	unknownTool := rawWith(nil, nil)
	unknownTool.install = nil
	unknownTool.call = func(ctx context.Context, p *peer, _ string) (mcp.Result, error) {
		return result(p.cs.CallTool(ctx, &mcp.CallToolParams{Name: "password=" + c}))
	}
	unknownTool.target = func(string) (string, string) { return "tool", "password=" + c }
	unknownTool.kind = "unknown"
	all = append(all, scenario{name: "unknown-tool-secret", mount: unknownTool,
		want: want{wire: wireError(-32602, `unknown tool "password=[redacted]"`, ""), outcome: "protocol_error", log: []string{"unknown tool"}}})

	// A resource whose URI is in the error.
	uri := template(func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, fmt.Errorf("fetch %s: no such bucket", req.Params.URI)
	})
	uri.install = func(b *build, name string) {
		b.server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: name + "://{rest}", Name: name},
			func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return nil, fmt.Errorf("fetch %s: no such bucket", req.Params.URI)
			})
	}
	uri.call = func(ctx context.Context, p *peer, name string) (mcp.Result, error) {
		return result(p.cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: name + "://" + c}))
	}
	uri.target = func(name string) (string, string) { return "resource", name + "://" + c }
	uri.kind = "uri"
	all = append(all, scenario{name: "uri-secret", mount: uri, want: mistake("fetch uri-secret://" + c)})

	// Arguments of prompts, completions and custom methods, which their mounts send.
	all = append(all,
		scenario{name: "prompt-argument", want: panicked(canary("prompt-argument")), bare: dies, bareOld: dies,
			mount: prompt(func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				panic("argument " + req.Params.Arguments["secret"])
			})},
		scenario{name: "completion-argument", want: mistake(canary("completion-argument")), bare: leaks, bareOld: leaks,
			mount: completion(func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
				return nil, errors.New("argument " + req.Params.Argument.Value)
			})},
		scenario{name: "custom-argument", want: mistake(canary("custom-argument")), bare: leaks, bareOld: leaks,
			mount: custom(func(_ context.Context, params *customParams) (*customResult, error) {
				return nil, errors.New("argument " + params.Secret)
			})},
		// A custom method is a call, although its name says something else.
		scenario{name: "notifications/acme", want: mistake("argument notifications/acme"), bare: leaks, bareOld: leaks,
			mount: customNotification(func(name string) (*customResult, error) {
				return nil, fmt.Errorf("argument %s %s", name, canary(name))
			})},
		scenario{name: "notifications/acme/nil", want: mistake("neither a result nor an error"), bare: dies, bareOld: lives,
			mount: customNotification(func(string) (*customResult, error) { return nil, nil })},
		// A handler that looks at the clock and not at its context is as slow as it likes.
		scenario{name: "slow-failure", want: mistake("slow " + canary("slow-failure")), bare: leaks, bareOld: leaks,
			mount: raw(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				time.Sleep(20 * time.Millisecond)
				return nil, errors.New("slow " + canary("slow-failure"))
			})},
	)
	return all
}
