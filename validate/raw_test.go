package validate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/validate"
)

const listSchema = `{"type":"object","properties":{"limit":{"type":"integer","maximum":100,"default":10},"owner":{"type":"string"}},"required":["owner"]}`

// raw adds a raw tool without a check of its own.
func raw(h mcp.ToolHandler) func(*mcp.Server) {
	return func(s *mcp.Server) {
		s.AddTool(&mcp.Tool{Name: "list", InputSchema: json.RawMessage(listSchema)}, h)
	}
}

// TestAfterFailure: nothing is refused that works, and what fails is compared with the
// schema, beside the tool's own words.
func TestAfterFailure(t *testing.T) {
	eras(t, func(t *testing.T, era harness.Era) {
		var res *mcp.CallToolResult
		var failure error
		got := ""
		log := harness.NewLog(slog.LevelInfo)
		s := serve(t, era, raw(func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			got = string(req.Params.Arguments)
			return res, failure
		}), standard(&mcpchain.Options{Logger: log.Logger(), Validate: &validate.Options{AfterFailure: true}}))

		res = said("fine")
		for _, args := range []string{`{"owner":"a","limit":"12"}`, `{"limit":500}`, `{}`} {
			require.Equal(t, "fine", invoke(t, s, "list", args).Text())
			require.Equal(t, args, got, "no default is filled in")
		}
		require.Equal(t, "fine", invoke(t, s, "list", "").Text())

		res, failure = nil, errors.New(harness.Canary)
		require.Equal(t, "Validation Error: Argument 'limit' expected an integer of at most 100, but received '12'. Send 12 without quotes.\nTry: list {\"limit\":12,\"owner\":\"a\"}",
			invoke(t, s, "list", `{"owner":"a","limit":"12"}`).Text())
		require.Contains(t, invoke(t, s, "list", "").Text(), "Argument 'owner' is required")
		require.Equal(t, fault.KindInternal, invoke(t, s, "list", `{"owner":"a"}`).Fault().Kind(), "the arguments are right")

		failure = fault.NotFound("repository", "a")
		worded := invoke(t, s, "list", `{"owner":7}`)
		require.Equal(t, fault.KindNotFound, worded.Fault().Kind())
		require.Contains(t, worded.Text(), "Not found: repository 'a' does not exist.")
		require.Contains(t, worded.Text(), "The arguments do not fit the tool's input schema, which may be why. Argument 'owner' expected a string, but received 7.")
		require.Equal(t, []string{"owner"}, fields(worded.Fault().Data()))

		own := said("no such owner")
		own.IsError = true
		res, failure = own, nil
		told := invoke(t, s, "list", `{"owner":7}`).Text()
		require.Contains(t, told, "no such owner")
		require.Contains(t, told, "Argument 'owner' expected a string")
		require.Equal(t, "no such owner", invoke(t, s, "list", `{"owner":"a"}`).Text(), "nothing is added")
		require.NotContains(t, s.Sent(), harness.Canary)
	})
}

func TestNoDefaults(t *testing.T) {
	for none, want := range map[bool]string{false: `{"limit":10,"owner":"a"}`, true: `{"owner":"a"}`} {
		s := serve(t, harness.Current, raw(echo), validate.New(&validate.Options{RawTools: true, NoDefaults: none}))
		require.Equal(t, want, invoke(t, s, "list", `{"owner":"a"}`).Text())
	}
}

// TestRawToolsAreNotSilent: a tool that cannot be checked is recorded once.
func TestRawToolsAreNotSilent(t *testing.T) {
	for name, list := range map[string]func(mcp.Result, error) (mcp.Result, error){
		"fails":  func(mcp.Result, error) (mcp.Result, error) { return nil, errors.New("no list") },
		"hidden": func(mcp.Result, error) (mcp.Result, error) { return &mcp.ListToolsResult{}, nil },
		"endless": func() func(mcp.Result, error) (mcp.Result, error) {
			page := 0
			return func(mcp.Result, error) (mcp.Result, error) {
				page++
				return &mcp.ListToolsResult{NextCursor: fmt.Sprint(page)}, nil
			}
		}(),
		"no schema": func(res mcp.Result, err error) (mcp.Result, error) {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "list", InputSchema: json.RawMessage(`{"$ref":"#"}`)}}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := harness.NewLog(slog.LevelWarn)
			s := serve(t, harness.Current, raw(echo), standard(&mcpchain.Options{Logger: log.Logger(), Validate: &validate.Options{RawTools: true}}), replace("tools/list", list))
			for range 3 {
				require.Equal(t, `{"limit":500}`, invoke(t, s, "list", `{"limit":500}`).Text())
			}
			record := log.Only(t)
			require.Equal(t, "WARN", record["level"])
			require.Contains(t, record["msg"], "RawTools cannot check")
			require.Equal(t, "list", record["tool"])
			require.Contains(t, invoke(t, s, "list", `[1]`).Text(), "The arguments must be an object, but were a list with 1 item.", "every tool takes an object")
		})
	}
}

// TestNoObject: arguments that are no object are the caller's mistake, whatever fails.
func TestNoObject(t *testing.T) {
	failing := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in map[string]any
		return nil, json.Unmarshal(req.Params.Arguments, &in)
	}
	s := serve(t, harness.Current, raw(failing), standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
	for args, want := range map[string]string{`[1]`: "a list with 1 item", `"x"`: "'x'", `7`: "7"} {
		require.Equal(t, "Validation Error: The arguments must be an object, but were "+want+".", invoke(t, s, "list", args).Text())
	}
	single := middleware.Tool(failing, validate.New(nil))
	res, err := single(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "list", Arguments: json.RawMessage(`[1]`)}})
	e, _ := middleware.FaultOf(res, err)
	require.Equal(t, fault.KindValidation, e.Kind())
}

// TestNoOracle: what a handler's error is about does not show, whatever the caller sends.
func TestNoOracle(t *testing.T) {
	const private = "4711x"
	s := serve(t, harness.Current, checkers(atoi(private)), standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
	right, wrong := invoke(t, s, "typed", `{"count":"`+private+`"}`), invoke(t, s, "typed", `{"count":"4712x"}`)
	require.Equal(t, faults.WithReference(wrong.Fault(), "").Text(), faults.WithReference(right.Fault(), "").Text())
}

// TestCorrected: the machine form has the whole corrected arguments, or none.
func TestCorrected(t *testing.T) {
	s := serve(t, harness.Current, orders, validate.New(nil))
	d := invoke(t, s, "raw", `{"colour":"red","items":[{"sku":"a","quantity":"5"}]}`).Fault().Data()
	require.JSONEq(t, `{"color":"red","items":[{"sku":"a","quantity":5}]}`, marshal(t, d.CorrectedArguments))
	d = invoke(t, s, "raw", `{"colour":"red","password":"x"}`).Fault().Data()
	require.Nil(t, d.CorrectedArguments, "a value in it is withheld")
	for _, args := range []string{`{"colour":"red","note":5,"items":5}`, `{"color":5,"color":6}`} {
		got := invoke(t, s, "raw", args)
		require.Nil(t, got.Fault().Data().CorrectedArguments, args)
		require.NotContains(t, got.Text(), "Try:")
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

// TestToolInsideNew: what Tool has explained is not explained again where a middleware outside
// would say the same, and where it would not it says it in its own way.
func TestToolInsideNew(t *testing.T) {
	for name, of := range map[string]struct{ schema, says string }{
		"argument": {`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`, "Argument 'a' expected an integer"},
		"default":  {`{"type":"object","properties":{"b":{"type":"integer","default":"five"}}}`, "Argument 'b' expected an integer"},
	} {
		tool := validate.Tool(json.RawMessage(of.schema), echo)
		inner := func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
			return tool(ctx, req.(*mcp.CallToolRequest))
		}
		var text string
		allocs := func(h mcp.MethodHandler) float64 {
			return testing.AllocsPerRun(20, func() {
				res, err := h(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it", Arguments: json.RawMessage(`{"a":"x"}`)}})
				require.NoError(t, err)
				text = res.(*mcp.CallToolResult).Content[0].(*mcp.TextContent).Text
			})
		}
		alone := allocs(inner)
		words := text
		require.Contains(t, words, of.says, name)
		require.Less(t, allocs(validate.New(&validate.Options{Mend: validate.MendNever})(inner)), alone+20, name)
		require.Equal(t, words, text, name)
		allocs(validate.New(&validate.Options{HideReceived: true, Mend: validate.MendNever})(inner))
		if name == "argument" {
			require.Contains(t, text, "a string that is not shown")
		}
	}
}

// TestRawToolsAndInventedNames: a caller that invents names of tools writes no warnings.
func TestRawToolsAndInventedNames(t *testing.T) {
	log := harness.NewLog(slog.LevelWarn)
	hide := func(mcp.Result, error) (mcp.Result, error) { return &mcp.ListToolsResult{}, nil }
	s := serve(t, harness.Current, raw(echo), standard(&mcpchain.Options{Logger: log.Logger(), Validate: &validate.Options{RawTools: true}}), replace("tools/list", hide))
	for i := range 50 {
		require.Contains(t, invoke(t, s, fmt.Sprintf("invented-%d", i), `{}`).Text(), "unknown tool")
	}
	require.Empty(t, log.Records())
	require.Equal(t, `{}`, invoke(t, s, "list", `{}`).Text())
	require.Equal(t, "list", log.Only(t)["tool"], "the one that is served, and cannot be checked")
}

// TestCorrectedForAnotherTool: the arguments that were sent with the name of another tool are not
// corrected for this one.
func TestCorrectedForAnotherTool(t *testing.T) {
	s := serve(t, harness.Current, raw(echo), validate.New(&validate.Options{RawTools: true}))
	for name, same := range map[string]bool{"list": true, "mcp__shop__list": true, "shop.list": true, "mcp_shop_list": true, "mcp__shop_list": true, "delete": false, "unlist": false, "list_all": false, "delete_list": false, "mcp_unlist": false} {
		got := invoke(t, s, "list", `{"arguments":{"owner":"a"},"tool":"`+name+`"}`)
		require.Contains(t, got.Text(), "The arguments were sent inside of 'arguments'. Send them as they are.", name)
		require.Equal(t, same, got.Fault().Data().CorrectedArguments != nil, name)
	}
}

// TestNumbersAreKept: a correction has all digits of a number that stands beside what is wrong, in the text and in
// the machine form. A float64 would make another ID of it.
func TestNumbersAreKept(t *testing.T) {
	type input struct {
		Channel int64  `json:"channel"`
		Message string `json:"message"`
	}
	typed := func(s *mcp.Server) {
		mcp.AddTool(s, &mcp.Tool{Name: "post"}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
			return said("posted"), nil, nil
		})
	}
	untyped := func(s *mcp.Server) {
		s.AddTool(&mcp.Tool{Name: "post", InputSchema: json.RawMessage(`{"type":"object","properties":{"channel":{"type":"integer"},"message":{"type":"string"}},"required":["channel","message"],"additionalProperties":false}`)}, echo)
	}
	for _, tool := range []func(*mcp.Server){typed, untyped} {
		s := serve(t, harness.Current, tool, validate.New(&validate.Options{RawTools: true}))
		for _, id := range []string{"9007199254740993", "1234567890123456789", "-1234567890123456789"} {
			want := `{"channel":` + id + `,"message":"a"}`
			for _, sent := range []string{`{"channel":` + id + `,"mesage":"a"}`, `{"channel":"` + id + `","message":"a"}`} {
				got := invoke(t, s, "post", sent)
				require.Contains(t, got.Text(), "Try: post "+want)
				require.Contains(t, s.Sent(), `"corrected_arguments":`+want)
			}
		}
		for sent, want := range map[string]string{`"5.0"`: "5", `5.0`: "5", `1e16`: "10000000000000000"} { // which Go reads into an integer
			require.Contains(t, invoke(t, s, "post", `{"channel":`+sent+`,"mesage":"a"}`).Text(), `Try: post {"channel":`+want+`,"message":"a"}`)
		}
	}
}
