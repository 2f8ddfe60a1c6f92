package validate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/validate"
)

const (
	spoilt  = `{"color":"red","items":"[{\"sku\":\"a\",\"quantity\":1}]"}`
	meant   = `{"color":"red","items":[{"quantity":1,"sku":"a"}]}`
	mendKey = "io.github.mcpchain/mended"
)

// listed adds a raw tool that nobody checks but RawTools and MendBefore.
func listed(s *mcp.Server) {
	orders(s)
	s.AddTool(&mcp.Tool{Name: "listed", InputSchema: json.RawMessage(orderSchema)}, echo)
}

// TestMend: who mends what, with each kind of tool and in both eras.
func TestMend(t *testing.T) {
	eras(t, func(t *testing.T, era harness.Era) {
		for name, c := range map[string]struct {
			mw                 []mcp.Middleware
			typed, raw, listed string // what the handler got, "" if it did not run
		}{
			"alone":                  {[]mcp.Middleware{validate.New(nil)}, meant, meant, spoilt},
			"standard":               {[]mcp.Middleware{mcpchain.Standard(nil)}, meant, meant, spoilt},
			"Tool alone":             {nil, "", meant, spoilt},
			"never":                  {[]mcp.Middleware{validate.New(&validate.Options{Mend: validate.MendNever})}, "", "", spoilt},
			"RawTools":               {[]mcp.Middleware{validate.New(&validate.Options{RawTools: true})}, meant, meant, meant},
			"RawTools, never":        {[]mcp.Middleware{validate.New(&validate.Options{RawTools: true, Mend: validate.MendNever})}, "", "", ""},
			"before":                 {[]mcp.Middleware{validate.New(&validate.Options{Mend: validate.MendBefore})}, meant, meant, meant},
			"AfterFailure":           {[]mcp.Middleware{validate.New(&validate.Options{AfterFailure: true})}, meant, "", spoilt},
			"AfterFailure, before":   {[]mcp.Middleware{validate.New(&validate.Options{AfterFailure: true, Mend: validate.MendBefore})}, meant, meant, meant},
			"observe":                {[]mcp.Middleware{mcpchain.Standard(&mcpchain.Options{Observe: true})}, "", "", spoilt},
			"observe, before":        {[]mcp.Middleware{mcpchain.Standard(&mcpchain.Options{Observe: true, Validate: &validate.Options{Mend: validate.MendBefore}})}, "", "", spoilt},
			"observe, RawTools":      {[]mcp.Middleware{mcpchain.Standard(&mcpchain.Options{Observe: true, Validate: &validate.Options{RawTools: true}})}, "", "", spoilt},
			"twice, the outer never": {[]mcp.Middleware{validate.New(&validate.Options{Mend: validate.MendNever}), validate.New(nil)}, meant, "", spoilt},
		} {
			s := serve(t, era, listed, c.mw...)
			for tool, want := range map[string]string{"typed": c.typed, "raw": c.raw, "listed": c.listed} {
				got := invoke(t, s, tool, spoilt)
				require.Equal(t, want == "", got.Fault() != nil, "%s %s: %s", name, tool, got.Text())
				if want == "" {
					require.NotContains(t, string(got.Wire), mendKey)
					continue
				}
				require.JSONEq(t, want, got.Text(), "%s %s", name, tool)
				if want == meant {
					require.JSONEq(t, `[{"argument":"items","change":"text_to_list"}]`, marshal(t, got.Tool().Meta[mendKey]), "%s %s", name, tool)
				} else {
					require.NotContains(t, got.Tool().Meta, mendKey, "%s %s", name, tool)
				}
				require.Len(t, got.Tool().Content, 1)
			}
			// What is not certain is refused or passed on as before, and a right call is left alone.
			for _, tool := range []string{"typed", "raw", "listed"} {
				require.NotContains(t, string(invoke(t, s, tool, `{"colour":"red","items":"[]"}`).Wire), mendKey, name)
				right := invoke(t, s, tool, meant)
				require.False(t, right.Tool().IsError, name)
				require.NotContains(t, right.Tool().Meta, mendKey, name)
			}
		}
	})
}

// TestMendDefaults: a mended call gets the defaults of the schema, as any other.
func TestMendDefaults(t *testing.T) {
	s := serve(t, harness.Current, raw(echo), validate.New(&validate.Options{RawTools: true}))
	got := invoke(t, s, "list", `{"arguments":{"owner":"a"}}`)
	require.JSONEq(t, `{"owner":"a","limit":10}`, got.Text())
	require.JSONEq(t, `[{"argument":"arguments","change":"unwrapped"}]`, marshal(t, got.Tool().Meta[mendKey]))
}

// TestMendNullByAnnotation: only a tool that is annotated as read-only is called without an argument that was null.
func TestMendNullByAnnotation(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		s := serve(t, harness.Current, func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "t", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly}}, func(_ context.Context, req *mcp.CallToolRequest, _ order) (*mcp.CallToolResult, any, error) {
				return said(string(req.Params.Arguments)), nil, nil
			})
		}, validate.New(nil))
		got := invoke(t, s, "t", `{"color":"red","note":null}`)
		require.Equal(t, readOnly, !got.Tool().IsError)
		if readOnly {
			require.JSONEq(t, `{"color":"red"}`, got.Text())
		}
	}
}

// TestMendAddTool: one typed tool with middlewares of its own.
func TestMendAddTool(t *testing.T) {
	s := serve(t, harness.Current, func(s *mcp.Server) {
		middleware.AddTool(s, &mcp.Tool{Name: "t"}, func(_ context.Context, req *mcp.CallToolRequest, _ order) (*mcp.CallToolResult, any, error) {
			return said(string(req.Params.Arguments)), nil, nil
		}, validate.New(nil))
	}, validate.New(nil))
	got := invoke(t, s, "t", spoilt)
	require.False(t, got.Tool().IsError)
	require.JSONEq(t, meant, got.Text())
}

// TestMendIsOneCall: limits count one call, what refused it leaves no trace in the loop breaker, the record and the audit
// have one call, and what ran is named without a value.
func TestMendIsOneCall(t *testing.T) {
	eras(t, func(t *testing.T, era harness.Era) {
		log := harness.NewLog(slog.LevelDebug)
		var records []audit.Record
		var ran atomic.Int64
		var fail error
		s := serve(t, era, func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "t"}, func(_ context.Context, req *mcp.CallToolRequest, _ order) (*mcp.CallToolResult, any, error) {
				ran.Add(1)
				return said("fine"), nil, fail
			})
		}, mcpchain.Standard(&mcpchain.Options{
			Logger: log.Logger(),
			Limit:  limit.New(&limit.Options{Limits: []limit.Limit{{Calls: 4, Per: time.Hour}}, Wait: -1}),
			Retry:  &retry.Options{MaxAttempts: 3},
			Audit: audit.New(&audit.Options{Log: audit.NewLog(func(entries []audit.Entry) error {
				for _, e := range entries {
					records = append(records, e.Record)
				}
				return nil
			}, nil)}),
		}))
		for range 3 {
			require.False(t, invoke(t, s, "t", `{"color":"red","password":"`+harness.Canary+`","items":"[]"}`).Tool().IsError)
		}
		require.EqualValues(t, 3, ran.Load())
		require.Len(t, records, 6)
		require.Equal(t, "begin", records[0].Event)
		require.JSONEq(t, `{"color":"red","password":"[redacted]","items":"[]"}`, string(records[0].Arguments))
		require.Empty(t, records[0].Mended)
		require.Equal(t, "end", records[1].Event)
		require.Equal(t, "ok", records[1].Outcome)
		require.JSONEq(t, `{"color":"red","password":"[redacted]","items":[]}`, string(records[1].Arguments))
		require.Equal(t, []audit.Mended{{Argument: "items", Change: "text_to_list"}}, records[1].Mended)

		fail = errors.New(harness.Canary)
		failed := invoke(t, s, "t", spoilt)
		require.Contains(t, failed.Text(), "Internal error")
		require.NotContains(t, failed.Text(), "attempt 3", "the refused try is none")
		require.JSONEq(t, `[{"argument":"items","change":"text_to_list"}]`, marshal(t, failed.Tool().Meta[mendKey]))
		require.Contains(t, invoke(t, s, "t", meant).Text(), "Rate limited", "the fifth call")

		mended := 0
		for _, r := range log.Records() {
			if r["mended"] != nil {
				require.Equal(t, []any{"items: text_to_list"}, r["mended"])
				mended++
			}
			require.NotEqual(t, "validation", r["outcome"])
		}
		require.Equal(t, 4, mended)
		require.NotContains(t, s.Sent(), harness.Canary)
	})
}

// TestMendObserved: what would have been mended is recorded.
func TestMendObserved(t *testing.T) {
	for name, o := range map[string]*validate.Options{"typed": nil, "listed": {RawTools: true}} {
		log := harness.NewLog(slog.LevelInfo)
		s := serve(t, harness.Current, listed, mcpchain.Standard(&mcpchain.Options{Logger: log.Logger(), Observe: true, Validate: o}))
		invoke(t, s, name, spoilt)
		found := false
		for _, r := range log.Records() {
			if r["would_mend"] != nil {
				found = true
				require.Equal(t, "mcpchain: observed: the call would have been made with mended arguments", r["msg"])
				require.Equal(t, []any{"items: text_to_list"}, r["would_mend"])
			}
		}
		require.True(t, found, name)
	}
}

// TestMendNotTwice: a handler that has begun something is not called again, although it answers as the SDK does.
func TestMendNotTwice(t *testing.T) {
	imitation := errors.New(`validating "arguments": it imitates`)
	for name, c := range map[string]struct {
		do   func(ctx context.Context) *mcp.CallToolResult
		runs int64
	}{
		"begun":  {func(ctx context.Context) *mcp.CallToolResult { retry.Began(ctx); return refusing(imitation) }, 1},
		"words":  {func(context.Context) *mcp.CallToolResult { r := said(imitation.Error()); r.IsError = true; return r }, 1},
		"worded": {func(context.Context) *mcp.CallToolResult { r := said("no"); r.SetError(imitation); return r }, 1},
		"other":  {func(context.Context) *mcp.CallToolResult { return refusing(fmt.Errorf("arguments: %w", imitation)) }, 1},
		"silent": {func(context.Context) *mcp.CallToolResult { return refusing(imitation) }, 1},
	} {
		var ran atomic.Int64
		s := serve(t, harness.Current, func(s *mcp.Server) {
			s.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(orderSchema)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				ran.Add(1)
				return c.do(ctx), nil
			})
		}, mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
		require.True(t, invoke(t, s, "t", spoilt).Tool().IsError)
		require.Equal(t, c.runs, ran.Load(), name)
	}
}

func refusing(err error) *mcp.CallToolResult {
	res := &mcp.CallToolResult{}
	res.SetError(err)
	return res
}

// TestMendCredentials: a credential that only shows when the arguments are mended is refused as any other.
func TestMendCredentials(t *testing.T) {
	s := serve(t, harness.Current, func(s *mcp.Server) {
		s.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":{"more":{"type":"object"}}}`)}, echo)
	}, validate.New(&validate.Options{RawTools: true, Credentials: validate.RefuseCredentials}))
	got := invoke(t, s, "t", `{"more":"{\"api_key\":\"`+harness.Canary+`\"}"}`)
	require.True(t, got.Tool().IsError)
	require.False(t, invoke(t, s, "t", `{"more":"{\"city\":\"Bern\"}"}`).Tool().IsError)
}

// TestMendIsNoted: a middleware outside learns before the mended call what runs.
func TestMendIsNoted(t *testing.T) {
	var told []string
	outer := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		if c.Method() == middleware.MethodCallTool {
			c.OnMended(func(args json.RawMessage) { told = append(told, string(args)) })
		}
		res, err := next(ctx, c.Method(), req)
		if args, ok := c.Mended(); ok {
			require.Equal(t, told[len(told)-1], string(args))
		}
		return res, err
	})
	s := serve(t, harness.Current, orders, outer, validate.New(nil))
	invoke(t, s, "typed", meant)
	require.Empty(t, told)
	invoke(t, s, "typed", spoilt)
	invoke(t, s, "raw", spoilt)
	require.Len(t, told, 2)
	require.JSONEq(t, meant, told[0])
	require.JSONEq(t, meant, told[1])
}

// BenchmarkMend compares a typed call that succeeds, one that is mended and one that is refused.
func BenchmarkMend(b *testing.B) {
	for name, args := range map[string]string{"right": meant, "mended": spoilt, "refused": `{"colour":"red"}`} {
		for word, never := range map[string]validate.Mending{"never": validate.MendNever, "default": validate.MendRefused} {
			b.Run(name+"/"+word, func(b *testing.B) {
				s := serve(b, harness.Current, orders, mcpchain.Standard(&mcpchain.Options{
					Logger: slog.New(slog.DiscardHandler), Validate: &validate.Options{Mend: never},
				}))
				b.ReportAllocs()
				for b.Loop() {
					invoke(b, s, "typed", args)
				}
			})
		}
	}
}

// TestMended: what was certainly meant runs, once, whoever would have refused it; what is a guess stays words.
func TestMended(t *testing.T) {
	eras(t, func(t *testing.T, era harness.Era) {
		for name, opts := range map[string]*validate.Options{"refused": nil, "before": {Mend: validate.MendBefore}, "raw tools": {RawTools: true}, "after failure": {AfterFailure: true, Mend: validate.MendBefore}, "never": {Mend: validate.MendNever}} {
			log := harness.NewLog(slog.LevelDebug)
			s := serve(t, era, orders, mcpchain.Standard(&mcpchain.Options{Logger: log.Logger(), Validate: opts}))
			for _, tool := range []string{"typed", "raw"} {
				for args, want := range map[string]struct{ ran, changes string }{
					`{"color":"red","items":"[{\"sku\":\"a\",\"quantity\":2}]"}`: {`{"color":"red","items":[{"sku":"a","quantity":2}]}`, `[{"argument":"items","change":"text_to_list"}]`},
					`{"color":"red","items":[{"sku":"a","quantity":"2"}]}`:       {`{"color":"red","items":[{"sku":"a","quantity":2}]}`, `[{"argument":"items[0].quantity","change":"text_to_number"}]`},
					`{"arguments":{"color":"red"}}`:                              {`{"color":"red"}`, `[{"argument":"arguments","change":"unwrapped"}]`},
					`"{\"color\":\"red\"}"`:                                      {`{"color":"red"}`, `[{"argument":"","change":"text_to_arguments"}]`},
					`{"color":"red","items":[{"sku":"a","quantity":"02"}]}`:      {},
					`{"colour":"red"}`:                                           {},
					`{"color":"red","note":null}`:                                {},
					`{"color":"red","items":"[]x"}`:                              {},
				} {
					got := invoke(t, s, tool, args)
					require.NoError(t, got.Err, args)
					res := got.Tool()
					if want.ran == "" || name == "never" {
						require.True(t, res.IsError, "%s %s %s", name, tool, args)
						require.NotContains(t, res.Meta, "io.github.mcpchain/mended", args)
						continue
					}
					require.False(t, res.IsError, "%s %s %s: %s", name, tool, args, got.Text())
					require.JSONEq(t, want.ran, got.Text())
					require.Len(t, res.Content, 1, "it is said in the _meta alone")
					require.JSONEq(t, want.changes, marshal(t, res.Meta["io.github.mcpchain/mended"]))
				}
			}
		}
	})
}

// TestNothingRunsTwice: a handler that says what the SDK says is not called again when it may have begun something.
func TestNothingRunsTwice(t *testing.T) {
	runs := 0
	s := serve(t, harness.Current, func(s *mcp.Server) {
		mcp.AddTool(s, &mcp.Tool{Name: "typed"}, func(context.Context, *mcp.CallToolRequest, order) (*mcp.CallToolResult, any, error) {
			runs++
			return said("ok"), nil, nil
		})
	}, mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
	require.Equal(t, "ok", invoke(t, s, "typed", `{"color":"red","items":"[]"}`).Text())
	require.Equal(t, 1, runs)
	require.True(t, invoke(t, s, "typed", `{"color":"red","items":"[7]"}`).Tool().IsError)
	require.Equal(t, 1, runs)
}

// TestMendedByWhatIsListed: a tool that has changed since it was listed gets what it takes now.
func TestMendedByWhatIsListed(t *testing.T) {
	var server *mcp.Server
	lists := func(taken string) {
		server.AddTool(&mcp.Tool{Name: "it", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"` + taken + `"}}}`)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return said(string(req.Params.Arguments)), nil
			})
	}
	s := serve(t, harness.Current, func(s *mcp.Server) {
		server = s
		lists("integer")
	}, mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler), Validate: &validate.Options{AfterFailure: true, Mend: validate.MendBefore}}))
	require.Equal(t, `{"n":5}`, invoke(t, s, "it", `{"n":"5"}`).Text())
	lists("string")
	got := invoke(t, s, "it", `{"n":"5"}`)
	require.Equal(t, `{"n":"5"}`, got.Text())
	require.NotContains(t, got.Tool().Meta, "io.github.mcpchain/mended")
}

// TestAnInnerRefusalIsNotMended: a handler that was refused by another tool has run, and is not called again.
func TestAnInnerRefusalIsNotMended(t *testing.T) {
	inner := validate.Tool(json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said("ok"), nil
	})
	ran := 0
	s := serve(t, harness.Current, func(s *mcp.Server) {
		s.AddTool(&mcp.Tool{Name: "outer", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ran++
			params := *req.Params
			params.Name = "inner"
			return inner(ctx, &mcp.CallToolRequest{Session: req.Session, Params: &params, Extra: req.Extra})
		})
	}, mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
	require.True(t, invoke(t, s, "outer", `{"n":"5"}`).Tool().IsError)
	require.Equal(t, 1, ran)
}

// TestWhatRanIsExplained: the failure of a mended call is not explained by the arguments that did not run.
func TestWhatRanIsExplained(t *testing.T) {
	for name, o := range map[string]*validate.Options{
		"refused": nil, "before": {Mend: validate.MendBefore}, "after failure": {Mend: validate.MendBefore, AfterFailure: true}, "raw tools": {RawTools: true},
	} {
		s := serve(t, harness.Current, func(s *mcp.Server) {
			s.AddTool(&mcp.Tool{Name: "it", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return refusing(errors.New("the disk is full")), nil
			})
		}, mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler), Validate: o}))
		got := invoke(t, s, "it", `{"n":"5"}`)
		require.True(t, got.Tool().IsError)
		require.NotContains(t, got.Text(), "Try:", name)
		require.NotContains(t, got.Text(), "Argument", name)
		require.Contains(t, got.Text(), "Internal error", name)
	}
}

// TestMendGateway: a handler that passes on what another server says of its arguments has run, and is not called again.
func TestMendGateway(t *testing.T) {
	ran := 0
	s := serve(t, harness.Current, func(s *mcp.Server) {
		s.AddTool(&mcp.Tool{Name: "it", InputSchema: json.RawMessage(`{"type":"object","properties":{"seats":{"type":"integer"}}}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ran++
			return refusing(errors.New(`validating "arguments": validating root: validating /properties/weight: type: heavy has type "string", want "integer"`)), nil
		})
	}, mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
	require.True(t, invoke(t, s, "it", `{"seats":"2"}`).Tool().IsError)
	require.Equal(t, 1, ran)
}

// TestMendSeveral: of several mistakes the SDK names one, which is any of them.
func TestMendSeveral(t *testing.T) {
	type in struct {
		A, B, C, D int
		On         bool
	}
	s := serve(t, harness.Current, func(s *mcp.Server) {
		mcp.AddTool(s, &mcp.Tool{Name: "it"}, func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
			return said("fine"), nil, nil
		})
	}, validate.New(nil))
	for range 20 {
		require.Equal(t, "fine", invoke(t, s, "it", `{"A":"1","B":"2","C":3,"D":4,"On":"true"}`).Text())
	}
}

// TestMendCancelled: a caller that has given up while the tools were listed is not served.
func TestMendCancelled(t *testing.T) {
	ran := 0
	ctx, cancel := context.WithCancel(t.Context())
	cancels := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				cancel()
			}
			return next(ctx, method, req)
		}
	}
	handler := validate.New(nil)(cancels(func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "it", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}}}, nil
		}
		ran++
		return refusing(errors.New(`validating "arguments": validating root: validating /properties/n: type: 5 has type "string", want "integer"`)), nil
	}))
	_, _ = handler(ctx, middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it", Arguments: json.RawMessage(`{"n":"5"}`)}})
	require.Equal(t, 1, ran, "the call as it came")
}

// TestMendItems: what was changed of an item is named with its place, and "never" holds for items.
func TestMendItems(t *testing.T) {
	for _, never := range []bool{false, true} {
		var records []audit.Record
		lists := batch.New(&batch.Options{Lists: []batch.List{{Tool: "pay", Item: "amount", As: "pay_all"}}})
		o := &mcpchain.Options{Logger: slog.New(slog.DiscardHandler), Batch: lists, Audit: audit.New(&audit.Options{Log: audit.NewLog(func(entries []audit.Entry) error {
			for _, e := range entries {
				records = append(records, e.Record)
			}
			return nil
		}, nil)})}
		if never {
			o.Validate = &validate.Options{Mend: validate.MendNever}
		}
		s := serve(t, harness.Current, func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "pay"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
				Amount int `json:"amount"`
			},
			) (*mcp.CallToolResult, any, error) {
				return said(fmt.Sprint(in.Amount)), nil, nil
			})
		}, mcpchain.Standard(o))
		got := invoke(t, s, "pay_all", `{"amounts":[6,"5"]}`)
		if never {
			require.NotContains(t, got.Tool().Meta, mendKey)
			continue
		}
		require.JSONEq(t, `[{"argument":"amounts[1].amount","change":"text_to_number"}]`, marshal(t, got.Tool().Meta[mendKey]))
		require.Equal(t, []audit.Mended{{Argument: "amounts[1].amount", Change: "text_to_number"}}, records[len(records)-1].Mended)
	}
}

// TestMendOutsideOfReplay: a repetition of a mended call gets the first answer, whichever of the two stands outside.
func TestMendOutsideOfReplay(t *testing.T) {
	owner := func(context.Context, mcp.Request) string { return "alice" }
	ran := 0
	s := serve(t, harness.Current, func(s *mcp.Server) {
		mcp.AddTool(s, &mcp.Tool{Name: "it"}, func(context.Context, *mcp.CallToolRequest, struct{ N int }) (*mcp.CallToolResult, any, error) {
			ran++
			return said("paid"), nil, nil
		})
	}, validate.New(nil), replay.New(&replay.Options{Owner: owner, Logger: slog.New(slog.DiscardHandler)}))
	for range 3 {
		res, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "it", Arguments: json.RawMessage(`{"N":"5"}`), Meta: mcp.Meta{"io.github.mcpchain/idempotency_key": "k"}})
		require.NoError(t, err)
		require.False(t, res.IsError)
	}
	require.Equal(t, 1, ran)
}

// lostAnswer is an error that does not know what its call has changed.
type lostAnswer struct{}

func (lostAnswer) Error() string        { return "the connection broke" }
func (lostAnswer) Effect() fault.Effect { return fault.EffectUnknown }

// TestUnknownEffectIsSaid: where nobody knows whether a call took effect, no corrected call is offered.
func TestUnknownEffectIsSaid(t *testing.T) {
	s := serve(t, harness.Current, func(s *mcp.Server) {
		s.AddTool(&mcp.Tool{Name: "it", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return refusing(lostAnswer{}), nil
		})
	}, mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler), Validate: &validate.Options{AfterFailure: true}}))
	got := invoke(t, s, "it", `{"n":"5"}`)
	require.Contains(t, got.Text(), "unless you see that it did not take effect")
	require.NotContains(t, got.Text(), "Try:")
}
