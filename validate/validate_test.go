package validate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/validate"
)

const fiveText = "Validation Error: Argument 'items[0].quantity' expected an integer, but received 'five'."

// TestTypedAndRaw proves that a caller reads the same of the same mistake, whoever
// found it.
func TestTypedAndRaw(t *testing.T) {
	eras(t, func(t *testing.T, era harness.Era) {
		for _, c := range []struct {
			name, args string
			want       []string
			fields     []string
		}{
			{"one", `{"color":"red","items":[{"sku":"a","quantity":"five"}]}`, []string{fiveText}, []string{"items[0].quantity"}},
			{"several", `{"color":5,"items":[{"sku":"a"}],"note":true}`, []string{
				"Validation Error: 3 arguments are wrong.", "'items[0].quantity' is required", "'color' expected a string, but received 5", "'note' expected a string, but received true",
			}, []string{"items[0].quantity", "color", "note"}},
			{"misspelled", `{"colour":"red"}`, []string{"Validation Error: Argument 'colour' is unknown, and 'color' is missing. Did you mean 'color'?"}, []string{"colour"}},
			{"list", `[1]`, []string{"Validation Error: The arguments must be an object with 'color', but were a list with 1 item."}, []string{""}},
			{"text", `"{\"color\":\"red\"}"`, []string{"Send the object itself, not a string"}, []string{""}},
			{"number", `7`, []string{"The arguments must be an object with 'color', but were 7"}, []string{""}},
			{"absent", ``, []string{"'color' is required"}, []string{"color"}},
			{"empty", `{}`, []string{"'color' is required"}, []string{"color"}},
			{"null", `null`, []string{"Validation Error: "}, nil},
		} {
			t.Run(c.name, func(t *testing.T) {
				log := harness.NewLog(slog.LevelInfo)
				s := serve(t, era, orders, standard(&mcpchain.Options{Logger: log.Logger(), Validate: &validate.Options{Mend: validate.MendNever}}))
				var texts []string
				for _, tool := range []string{"typed", "raw"} {
					got := invoke(t, s, tool, c.args)
					require.NoError(t, got.Err)
					require.True(t, got.Tool().IsError)
					require.Len(t, got.Tool().Content, 1)
					for _, want := range c.want {
						require.Contains(t, got.Text(), want)
					}
					texts = append(texts, strings.ReplaceAll(got.Text(), "Try: "+tool, "Try: it"))
					d := got.Fault().Data()
					require.Equal(t, fault.KindValidation, d.Type)
					require.NotEmpty(t, d.ReferenceID)
					require.NotContains(t, got.Text(), "Reference", "it was made for the caller")
					require.NotContains(t, s.Sent(), "validating", "the SDK's text is not for a caller")
					for _, field := range c.fields {
						require.Contains(t, fields(d), field)
					}
				}
				require.Equal(t, texts[0], texts[1])
				records := log.Records()
				require.Len(t, records, 2)
				for _, record := range records {
					require.Equal(t, "INFO", record["level"])
					require.Equal(t, "validation", record["outcome"])
				}
				require.Equal(t, `validating "arguments"`, records[0]["error"], "the violations say the rest, without values that must not be shown")
			})
		}
	})
}

func fields(d fault.Data) []string {
	var names []string
	for _, v := range d.Violations {
		names = append(names, v.Field)
	}
	return names
}

// TestNothingOfTheSDK runs everything that cannot be explained: the caller reads a
// generic text, with a mask and without.
func TestNothingOfTheSDK(t *testing.T) {
	imitation := errors.New(`validating "arguments": ` + harness.Canary)
	for name, inner := range map[string]mcp.Middleware{
		"not listed": replace("tools/list", func(mcp.Result, error) (mcp.Result, error) { return &mcp.ListToolsResult{}, nil }),
		"no list":    replace("tools/list", func(mcp.Result, error) (mcp.Result, error) { return nil, errors.New(harness.Canary) }),
		"nil list":   replace("tools/list", func(mcp.Result, error) (mcp.Result, error) { return nil, nil }),
		"panic":      replace("tools/list", func(mcp.Result, error) (mcp.Result, error) { panic(harness.Canary) }),
		"schema that is none": replace("tools/list", func(mcp.Result, error) (mcp.Result, error) {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "typed", InputSchema: json.RawMessage(`{"type":"` + harness.Canary + `"}`)}}}, nil
		}),
		"schema that is no JSON": replace("tools/list", func(mcp.Result, error) (mcp.Result, error) {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "typed", InputSchema: json.RawMessage(`{` + harness.Canary)}}}, nil
		}),
		"schema that is elsewhere": replace("tools/list", func(mcp.Result, error) (mcp.Result, error) {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "typed", InputSchema: json.RawMessage(`{"$ref":"file:///etc/passwd"}`)}}}, nil
		}),
		"schema that allows it": replace("tools/list", func(mcp.Result, error) (mcp.Result, error) {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "typed", InputSchema: json.RawMessage(`{"type":"object"}`)}}}, nil
		}),
		"imitated": replace("tools/call", func(mcp.Result, error) (mcp.Result, error) {
			var res mcp.CallToolResult
			res.SetError(imitation)
			return &res, nil
		}),
	} {
		for word, outer := range map[string][]mcp.Middleware{"alone": nil, "masked": {mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)})}} {
			t.Run(name+"/"+word, func(t *testing.T) {
				s := serve(t, harness.Current, orders, append(outer, validate.New(nil), inner)...)
				args := `{"color":["` + harness.Canary + `"]}`
				if name == "imitated" {
					args = `{"color":"red"}`
				}
				got := invoke(t, s, "typed", args)
				require.Equal(t, fault.Generic(fault.KindValidation).Text(), got.Text())
				require.NotContains(t, s.Sent(), harness.Canary)
			})
		}
	}
}

// replace returns a middleware that answers in the place of the server, from the
// second call of a method on when that is a list, which clients ask for themselves.
func replace(method string, answer func(mcp.Result, error) (mcp.Result, error)) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, m string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, m, req)
			if m == method {
				return answer(res, err)
			}
			return res, err
		}
	}
}

// TestImitatedByARawHandler: only a typed tool's refusal comes in a result.
func TestImitatedByARawHandler(t *testing.T) {
	s := serve(t, harness.Current, func(s *mcp.Server) {
		s.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(orderSchema)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New(`validating "arguments": ` + harness.Canary)
		})
	}, mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)}), validate.New(nil))
	got := invoke(t, s, "raw", `{"color":5}`)
	require.NotContains(t, s.Sent(), harness.Canary)
	require.NotContains(t, got.Text(), "'color'")
}

// TestNullArguments: the SDK panics when it fills in the defaults of null.
func TestNullArguments(t *testing.T) {
	type input struct {
		Size int `json:"size,omitempty"`
	}
	eras(t, func(t *testing.T, era harness.Era) {
		var outside, inside []byte
		note := func(to *[]byte) mcp.Middleware {
			return func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					res, err := next(ctx, method, req)
					if r, ok := req.(*mcp.CallToolRequest); ok {
						*to = r.Params.Arguments
					}
					return res, err
				}
			}
		}
		s := serve(t, era, func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "it", InputSchema: json.RawMessage(`{"type":"object","properties":{"size":{"type":"integer","default":3}}}`)},
				func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
					return said(fmt.Sprint(in.Size)), nil, nil
				})
		}, note(&outside), validate.New(nil), note(&inside))
		require.Equal(t, "3", invoke(t, s, "it", `null`).Text())
		require.Equal(t, "null", string(outside), "the caller's request is not written to")
		require.Equal(t, "{}", string(inside))
	})
}

func TestDefaultsOfRawTools(t *testing.T) {
	const schema = `{"type":"object","properties":{"size":{"type":"integer","default":3},"name":{"type":"string"}},"required":["name"]}`
	for name, add := range map[string]func(s *mcp.Server){
		"Tool": func(s *mcp.Server) {
			s.AddTool(&mcp.Tool{Name: "it", InputSchema: json.RawMessage(schema)}, validate.Tool(json.RawMessage(schema), echo))
		},
		"RawTools": func(s *mcp.Server) { s.AddTool(&mcp.Tool{Name: "it", InputSchema: json.RawMessage(schema)}, echo) },
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, harness.Current, add, validate.New(&validate.Options{RawTools: true}))
			require.JSONEq(t, `{"name":"a","size":3}`, invoke(t, s, "it", `{"name":"a"}`).Text())
			require.JSONEq(t, `{"name":"a","size":4}`, invoke(t, s, "it", `{"name":"a","size":4}`).Text())
			require.Contains(t, invoke(t, s, "it", `{"name":"a","size":"x"}`).Text(), "Validation Error: Argument 'size' expected an integer, but received 'x'.")
			require.Contains(t, invoke(t, s, "it", ``).Text(), "'name' is required")
		})
	}
}

// TestRawTools: every tool is checked, the typed ones twice, and the tools that
// nobody lists are not.
func TestRawTools(t *testing.T) {
	eras(t, func(t *testing.T, era harness.Era) {
		ran := 0
		s := serve(t, era, func(s *mcp.Server) {
			orders(s)
			s.AddTool(&mcp.Tool{Name: "bare", InputSchema: json.RawMessage(orderSchema)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				ran++
				return said("ran"), nil
			})
		}, standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler), Validate: &validate.Options{RawTools: true}}))
		want := "Validation Error: Argument 'color' expected a string, but received 5. Send it in quotes: \"5\".\nTry: %s {\"color\":\"5\"}"
		for _, tool := range []string{"bare", "typed", "raw"} {
			require.Equal(t, fmt.Sprintf(want, tool), invoke(t, s, tool, `{"color":5}`).Text(), tool)
		}
		require.Zero(t, ran)
		require.Equal(t, "ran", invoke(t, s, "bare", `{"color":"red"}`).Text())
		require.Contains(t, invoke(t, s, "none", `{"color":5}`).Text(), "unknown tool")
	})
}

// TestRenamed: what is checked and explained is what runs, also where a middleware
// outside has put another name in the place of the caller's.
func TestRenamed(t *testing.T) {
	rename := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch r := req.(type) {
			case *mcp.CallToolRequest:
				request, params := *r, *r.Params
				params.Name = strings.TrimPrefix(params.Name, "old_")
				request.Params, req = &params, &request
			case *mcp.GetPromptRequest:
				request, params := *r, *r.Params
				params.Name = strings.TrimPrefix(params.Name, "old_")
				request.Params, req = &params, &request
			}
			return next(ctx, method, req)
		}
	}
	eras(t, func(t *testing.T, era harness.Era) {
		for _, rawTools := range []bool{false, true} {
			log := harness.NewLog(slog.LevelInfo)
			s := serve(t, era, func(s *mcp.Server) {
				orders(s)
				prompts(new(int))(s)
				s.AddTool(&mcp.Tool{Name: "bare", InputSchema: json.RawMessage(orderSchema)}, echo)
				s.AddTool(&mcp.Tool{Name: "old_bare", InputSchema: json.RawMessage(`{"type":"object"}`)}, echo)
			}, standard(&mcpchain.Options{Logger: log.Logger(), Validate: &validate.Options{RawTools: rawTools, StrictPrompts: true}}, rename))
			tools := []string{"old_typed", "old_raw"}
			if rawTools {
				tools = append(tools, "old_bare")
			}
			for _, tool := range tools {
				require.Equal(t, "Validation Error: Argument 'color' expected a string, but received 5. Send it in quotes: \"5\".", invoke(t, s, tool, `{"color":5}`).Text(), tool)
				require.False(t, invoke(t, s, tool, `{"color":"red"}`).Tool().IsError, tool)
			}
			_, err := s.Client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "old_review"})
			require.ErrorContains(t, err, "Argument 'language' is required")
			require.Len(t, log.Records(), len(tools)+1, "lookups are not recorded")
		}
	})
}

func TestProgrammersMistakes(t *testing.T) {
	for want, f := range map[string]func(){
		"validate.Tool: h is nil; give the tool's handler":                                                  func() { validate.Tool(map[string]any{}, nil) },
		"validate.Tool: schema is a <nil> that is no JSON Schema; give the tool's InputSchema":              func() { validate.Tool(nil, echo) },
		"validate.Tool: schema is a func() that is no JSON Schema; give the tool's InputSchema":             func() { validate.Tool(func() {}, echo) },
		"validate.Tool: schema is a json.RawMessage that is no JSON Schema; give the tool's InputSchema":    func() { validate.Tool(json.RawMessage(`{`), echo) },
		"validate.Tool: schema is a *jsonschema.Schema that is no JSON Schema; give the tool's InputSchema": func() { validate.Tool(nilSchema, echo) },
	} {
		require.PanicsWithValue(t, want, f)
	}
	require.Panics(t, func() { validate.Tool(map[string]any{"type": "nonsense"}, echo) })
}

func TestProtocolError(t *testing.T) {
	eras(t, func(t *testing.T, era harness.Era) {
		s := serve(t, era, orders, standard(&mcpchain.Options{
			Logger: slog.New(slog.DiscardHandler), Validate: &validate.Options{ProtocolError: true},
		}))
		for _, tool := range []string{"typed", "raw"} {
			got := invoke(t, s, tool, `{"color":"red","items":[{"sku":"a","quantity":"five"}]}`)
			wire := got.Protocol()
			require.NotNil(t, wire, tool)
			require.EqualValues(t, jsonrpc.CodeInvalidParams, wire.Code)
			require.Equal(t, fiveText, wire.Message)
			require.Equal(t, []string{"items[0].quantity"}, fields(got.Fault().Data()))
			require.NotEmpty(t, got.Fault().Reference())
		}
	})
}

func TestHideReceived(t *testing.T) {
	s := serve(t, harness.Current, func(s *mcp.Server) {
		orders(s)
		failing("checks", func(in struct{ When string }) error { return parseDate(in.When) })(s)
	}, validate.New(&validate.Options{HideReceived: true}))
	for tool, args := range map[string]string{
		"typed": `{"color":"red","items":[{"sku":"a","quantity":"` + harness.Canary + `"}]}`, "raw": `{"color":"red","items":[{"sku":"a","quantity":"` + harness.Canary + `"}]}`,
		"checks": `{"When":"` + harness.Canary + `"}`,
	} {
		require.Contains(t, invoke(t, s, tool, args).Text(), "expected a", tool)
	}
	require.NotContains(t, s.Sent(), harness.Canary)
}

// TestManyViolations: what is not counted on is not told as if it were.
func TestManyViolations(t *testing.T) {
	s := serve(t, harness.Current, orders, validate.New(nil))
	for n, want := range map[int]string{300: "Validation Error: 900 arguments are wrong.\n", 5000: "Validation Error: At least 1000 arguments are wrong.\n"} {
		args := `{"color":"red","items":[` + strings.Repeat(`{"a":1},`, n-1) + `{"a":1}]}`
		require.True(t, strings.HasPrefix(invoke(t, s, "raw", args).Text(), want), n)
	}
}

// TestHugeArguments: what comes in does not go out again.
func TestHugeArguments(t *testing.T) {
	const megabytes = 2 << 20
	long := strings.Repeat(harness.Canary, megabytes/len(harness.Canary))
	s := serve(t, harness.Current, func(s *mcp.Server) {
		orders(s)
		failing("checks", func(in struct{ When string }) error { return parseDate(in.When) })(s)
	}, standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
	for name, args := range map[string]string{
		"value": `{"color":["` + long + `"]}`, "name": `{"` + long + `":1}`, "password": `{"color":"red","password":["` + long + `"]}`,
		"many names": `{"a` + strings.Join(strings.Split(long[:1<<20], "o"), `":1,"a`) + `":1}`,
		"deep":       `{"color":` + strings.Repeat("[", 1500) + strings.Repeat("]", 1500) + `}`,
		"text":       `"` + long + `"`,
	} {
		for _, tool := range []string{"typed", "raw", "checks"} {
			from := len(s.Sent())
			got := invoke(t, s, tool, args)
			require.NotNil(t, got.Fault(), name)
			require.Less(t, len(s.Sent())-from, 4096, "%s of %s: %s", name, tool, s.Sent()[from:min(len(s.Sent()), from+6000)])
		}
	}
}

// TestSecretsAreNotShown: values of secrets stay where they came from.
func TestSecretsAreNotShown(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"password":{"type":"string","minLength":50},"api_key":{"type":"integer"},
		"pin":{"type":"integer","writeOnly":true},"code":{"type":"string","format":"password","maxLength":2},
		"nested":{"type":"object","properties":{"pin":{"type":"integer","writeOnly":true}}}}}`
	args := `{"password":"` + harness.Canary + `","api_key":"` + harness.Canary + `","pin":"` + harness.Canary + `","code":"` + harness.Canary + `","nested":{"pin":"` + harness.Canary + `"}}`
	s := serve(t, harness.Current, func(s *mcp.Server) {
		s.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(schema)}, validate.Tool(json.RawMessage(schema), echo))
		mcp.AddTool(s, &mcp.Tool{Name: "typed", InputSchema: json.RawMessage(schema)}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
		mcp.AddTool(s, &mcp.Tool{Name: "checks", InputSchema: json.RawMessage(`{"type":"object","properties":{"pin":{"type":"string","writeOnly":true},"token":{"type":"string"}}}`)},
			func(_ context.Context, _ *mcp.CallToolRequest, in struct {
				Pin   string `json:"pin"`
				Token string `json:"token"`
			}) (*mcp.CallToolResult, any, error) {
				return nil, nil, parseDate(in.Pin + in.Token)
			})
	}, validate.New(nil))
	for _, tool := range []string{"raw", "typed"} {
		require.Contains(t, invoke(t, s, tool, args).Text(), "5 arguments are wrong", tool)
	}
	for _, name := range []string{"pin", "token"} {
		require.Contains(t, invoke(t, s, "checks", `{"`+name+`":"`+harness.Canary+`"}`).Text(), "Argument '"+name+"' expected a date such as 2026-01-31")
	}
	require.NotContains(t, s.Sent(), harness.Canary)
}

// TestSecretsOfHandlersErrors: what the schema hides stays hidden in what a handler
// says of it, wherever the schema says so.
func TestSecretsOfHandlersErrors(t *testing.T) {
	const schema = `{"type":"object","properties":{"ref":{"$ref":"#/$defs/hidden"},"prefix":{"type":"array","prefixItems":[{"writeOnly":true}]},
		"more":{"type":"object","additionalProperties":{"format":"password"}},"all":{"allOf":[{"type":"string"},{"$ref":"#/$defs/hidden"}]},
		"around":{"type":"object","writeOnly":true,"properties":{"a/b":{"type":"string"}}},"shown":{"type":"string"}},
		"patternProperties":{"^x":{"writeOnly":true}},"$defs":{"hidden":{"type":"string","format":"password"}}}`
	s := serve(t, harness.Current, func(s *mcp.Server) {
		s.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(schema)}, validate.Tool(json.RawMessage(schema), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, parseDate(harness.Canary)
		}))
	}, validate.New(nil))
	for field, args := range map[string]string{
		"ref": `{"ref":"@"}`, "prefix[0]": `{"prefix":["@"]}`, "more.z": `{"more":{"z":"@"}}`, "all": `{"all":"@"}`, `around["a/b"]`: `{"around":{"a/b":"@"}}`, "x1": `{"x1":"@"}`,
	} {
		want := "Validation Error: Argument '" + field + "' expected a date such as 2026-01-31, but received a string that is not shown."
		require.Equal(t, want, invoke(t, s, "raw", strings.ReplaceAll(args, "@", harness.Canary)).Text())
	}
	require.NotContains(t, s.Sent(), harness.Canary)
	require.Contains(t, invoke(t, s, "raw", `{"shown":"`+harness.Canary+`"}`).Text(), "but received '")
}

// TestPairs proves that the answer is the same whatever else stands in the chain,
// and where.
func TestPairs(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	v, m := validate.New(nil), mask.New(&mask.Options{Logger: quiet})
	c, r := correlate.New(&correlate.Options{Logger: quiet}), mcprecover.New(&mcprecover.Options{Logger: quiet})
	for name, chain := range map[string][]mcp.Middleware{
		"validate mask": {v, m}, "mask validate": {m, v}, "correlate validate": {c, v}, "validate correlate": {v, c},
		"recover validate": {r, v}, "validate recover": {v, r}, "twice": {v, validate.New(nil)}, "all": {r, c, m, v, r},
		"render": {middleware.Render(nil), v},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, harness.Older, orders, chain...)
			for _, tool := range []string{"typed", "raw"} {
				require.Equal(t, fiveText, invoke(t, s, tool, `{"color":"red","items":[{"sku":"a","quantity":"five"}]}`).Text())
			}
			require.Equal(t, "unknown tool \"typd\". Did you mean 'typed'?", invoke(t, s, "typd", ``).Text())
		})
	}
}

// TestInnerMiddlewares: those of the user's see the SDK's own values.
func TestInnerMiddlewares(t *testing.T) {
	var outside, inside error
	look := func(at *error) mcp.Middleware {
		return harness.Look(func(_ context.Context, res mcp.Result, err error) {
			if tool, ok := res.(*mcp.CallToolResult); ok && err == nil {
				err = tool.GetError()
			}
			*at = err
		})
	}
	s := serve(t, harness.Current, orders, mcprecover.New(nil), look(&outside), validate.New(nil), look(&inside))
	require.Contains(t, invoke(t, s, "typed", `{}`).Text(), "'color' is required")
	require.ErrorContains(t, outside, `validating "arguments": `)
	require.Equal(t, outside, inside)
}

// TestOutput: an output that breaks its schema is the server's fault.
func TestOutput(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	s := serve(t, harness.Current, func(s *mcp.Server) {
		mcp.AddTool(s, &mcp.Tool{Name: "it", OutputSchema: json.RawMessage(`{"type":"object","properties":{"color":{"type":"string","enum":["red"]}},"required":["color"]}`)},
			func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, order, error) {
				return nil, order{Color: harness.Canary}, nil
			})
	}, standard(&mcpchain.Options{Logger: log.Logger()}))
	got := invoke(t, s, "it", `{}`)
	require.Equal(t, fault.KindInternal, got.Fault().Kind())
	require.NotContains(t, s.Sent(), harness.Canary)
	record := log.Only(t)
	require.Equal(t, "ERROR", record["level"])
	require.Contains(t, record["error"], "/properties/color")
}

// TestLoad adds, changes and removes tools while wrong calls come in.
func TestLoad(t *testing.T) {
	harness.NoLeaks(t)
	s := serve(t, harness.Current, orders, standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
	stop := make(chan struct{})
	var changing, calls sync.WaitGroup
	changing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			schema := json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"n":{"type":"integer","maximum":%d}},"required":["n"]}`, i))
			mcp.AddTool(s.Server, &mcp.Tool{Name: "moving", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			})
			if i%3 == 0 {
				s.Server.RemoveTools("moving")
			}
		}
	})
	for range 8 {
		calls.Go(func() {
			for range 50 {
				got := s.CallTool(t.Context(), "moving", json.RawMessage(`{"n":"x"}`))
				text := got.Text()
				if !strings.HasPrefix(text, "unknown tool") && !strings.Contains(text, "'n' expected an integer") && text != fault.Generic(fault.KindValidation).Text() {
					t.Errorf("%q %v", text, got.Err)
				}
			}
		})
	}
	calls.Wait()
	close(stop)
	changing.Wait()
	require.NotContains(t, s.Sent(), "validating")
}
