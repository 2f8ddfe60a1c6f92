package degrade_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

var errRule = errors.New("rule")

// partly returns a handler whose answer lacks a part, for each of the ways to lack one.
func partly(t *testing.T) harness.Handler {
	return func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
		status, err := degrade.Run(ctx,
			degrade.Required("main", nil, give(1)),
			degrade.Optional("broken", nil, fail[int](errSecret)),
			degrade.Optional("ruled", nil, fail[int](errRule)),
			degrade.Optional("panics", nil, func(context.Context) (int, error) { panic(harness.Canary) }))
		if err != nil {
			t.Errorf("the answer is worth something: %v", err)
		}
		switch req.(type) {
		case *mcp.CallToolRequest:
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: status.Text()}}}, nil
		case *mcp.GetPromptRequest:
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: status.Text()}}}}, nil
		case *mcp.ReadResourceRequest:
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: status.Text()}}}, nil
		default:
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{status.Text()}}}, nil
		}
	}
}

// TestReasonsAreMasked wants what is said of a part as safe as what is said of a call,
// with the same rules, everywhere.
func TestReasonsAreMasked(t *testing.T) {
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		log := harness.NewLog(slog.LevelInfo)
		rules := []mask.Rule{mask.Is(errRule, fault.New(fault.KindConflict, "somebody else is editing"))}
		got := harness.Start(t, at, harness.Setup{
			Handlers: map[string]harness.Handler{"it": partly(t)},
			Middleware: []mcp.Middleware{
				mcprecover.New(nil), correlate.New(&correlate.Options{Logger: log.Logger()}), mask.New(&mask.Options{Rules: rules}),
			},
		})
		answer := got.Call(t, "it")
		require.NoError(t, answer.Err)
		require.Contains(t, answer.Text(), "Partial answer: it has 1 of 4 components.")
		require.Contains(t, answer.Text(), "- broken: MISSING. This answer comes without broken. Internal error: ")
		require.Contains(t, answer.Text(), "Conflict: somebody else is editing.")
		require.NotContains(t, got.Sent(), harness.Canary)

		records := log.Records()
		require.Len(t, records, 3, log.String())
		for _, r := range records {
			reference, _ := r["reference"].(string)
			require.Regexp(t, `^[0-9a-f-]{36}\.(broken|ruled|panics)$`, reference)
			require.Contains(t, answer.Text(), reference)
			require.Equal(t, at.Shape.Method(), r["method"])
			if r["stack"] != nil {
				require.Contains(t, r["stack"], "partly")
			}
		}
	})
}

// TestRequiredPartFailsTheCall in every shape, as a failure of the call itself.
func TestRequiredPartFailsTheCall(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		text string
		kind fault.Kind
	}{
		"unknown":  {errSecret, "Internal error: ", fault.KindInternal},
		"known":    {context.DeadlineExceeded, "Timeout: ", fault.KindTimeout},
		"worded":   {fault.NotFound("city", "Oz").Because(errSecret), "Not found: could not get 'main': city 'Oz' does not exist.", fault.KindNotFound},
		"protocol": {&jsonrpc.Error{Code: 4711, Message: "as it is"}, "as it is", fault.KindServerError},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
				log := harness.NewLog(slog.LevelInfo)
				got := harness.Call(t, at, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
					_, err := degrade.Run(ctx, degrade.Required("main", nil, fail[int](c.err)))
					return nil, err
				}, mcprecover.New(nil), mask.New(&mask.Options{Logger: log.Logger()}))
				require.Contains(t, got.Text(), c.text)
				require.NotContains(t, string(got.Wire), harness.Canary)
				if name == "protocol" {
					return
				}
				require.Equal(t, c.kind, got.Fault().Kind())
				require.Equal(t, map[string]any{"component": "main"}, got.Machine()["details"])
				record := log.Only(t)
				if name == "worded" { // its text stands once
					require.NotContains(t, record, "error")
					require.Equal(t, "could not get 'main': "+middleware.Classify(c.err).Message(), record["fault"].(map[string]any)["message"])
				} else {
					require.Contains(t, record["error"], c.err.Error())
				}
			})
		})
	}
}

type embedded struct {
	Main string `json:"main"`
	degrade.Status
}

type bare struct {
	Main string `json:"main"`
}

// typedServer has a typed tool with each sort of output, and a raw one.
func typedServer(t *testing.T, era harness.Era, broken bool, opts *degrade.Options) *harness.Session {
	run := func(ctx context.Context) degrade.Status {
		fetch := give("there")
		if broken {
			fetch = fail[string](fault.Unavailable("the other"))
		}
		status, err := degrade.Run(ctx, degrade.Optional("other", nil, fetch), degrade.Optional("third", nil, give("there")))
		require.NoError(t, err)
		return status
	}
	return harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
		Middleware: []mcp.Middleware{mcprecover.New(nil), mask.New(nil), degrade.New(opts), degrade.New(opts)},
		More: func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "left"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, embedded, error) {
				run(ctx)
				return nil, embedded{Main: "x"}, nil
			})
			mcp.AddTool(s, &mcp.Tool{Name: "filled"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, embedded, error) {
				return nil, embedded{"x", run(ctx)}, nil
			})
			mcp.AddTool(s, &mcp.Tool{Name: "strict"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, bare, error) {
				run(ctx)
				return nil, bare{"x"}, nil
			})
			mcp.AddTool(s, &mcp.Tool{Name: "other"}, func(_ context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, bare, error) {
				return nil, bare{"x"}, nil
			})
			s.AddTool(&mcp.Tool{Name: "raw", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				run(ctx)
				return &mcp.CallToolResult{StructuredContent: bare{"x"}, Content: []mcp.Content{&mcp.TextContent{Text: "x"}}}, nil
			})
			s.AddTool(&mcp.Tool{Name: "failed", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				run(ctx)
				return nil, fault.NotFound("x", "y")
			})
		},
	})
}

func TestNewTellsWhatIsMissing(t *testing.T) {
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		t.Run(string(era), func(t *testing.T) {
			s := typedServer(t, era, true, nil)
			for _, tool := range []string{"left", "filled", "strict", "raw"} {
				res := s.CallTool(t.Context(), tool, nil).Tool()
				require.False(t, res.IsError, tool)
				last := res.Content[len(res.Content)-1].(*mcp.TextContent).Text
				require.Equal(t, "Partial answer: it has 1 of 2 components.\n- other: MISSING. This answer comes without other. "+
					"Service unavailable: the other is not available now.", last, tool)
				require.Len(t, res.Content, 2)
				meta, _ := res.Meta[degrade.MetaKey].(map[string]any)
				require.Equal(t, true, meta["degraded"], tool)

				raw, err := json.Marshal(res.StructuredContent)
				require.NoError(t, err)
				var out embedded
				require.NoError(t, json.Unmarshal(raw, &out))
				require.Equal(t, "x", out.Main)
				first := res.Content[0].(*mcp.TextContent).Text
				switch tool {
				case "strict", "raw":
					require.Equal(t, embedded{Main: "x"}, out, "added to an output whose schema forbids it")
					require.Contains(t, []string{"x", `{"main":"x"}`}, first)
				default:
					require.JSONEq(t, string(raw), first, "the text of the output")
					require.True(t, out.Degraded)
					require.Len(t, out.Warnings, 1)
					require.InDelta(t, 0.5, out.Metadata.Completeness, 0)
				}
			}
			require.Len(t, s.CallTool(t.Context(), "other", nil).Tool().Content, 1)
			failed := s.CallTool(t.Context(), "failed", nil)
			require.Contains(t, failed.Text(), "Not found: x 'y' does not exist.")
			require.NotContains(t, failed.Tool().Meta, degrade.MetaKey)
		})
	}
}

func TestNewLeavesACompleteAnswer(t *testing.T) {
	s := typedServer(t, harness.Current, false, nil)
	for _, tool := range []string{"left", "filled", "strict", "raw", "other"} {
		res := s.CallTool(t.Context(), tool, nil).Tool()
		require.Len(t, res.Content, 1)
		require.NotContains(t, res.Meta, degrade.MetaKey)
		raw, err := json.Marshal(res.StructuredContent)
		require.NoError(t, err)
		if tool == "left" || tool == "filled" {
			require.JSONEq(t, `{"main":"x","degraded":false,"metadata":{"components_requested":["other","third"],"components_returned":["other","third"],"completeness":1}}`, string(raw))
		} else {
			require.JSONEq(t, `{"main":"x"}`, string(raw))
		}
	}
}

// TestSharedResultIsNotWrittenTo wants a result that a handler returns to everybody
// left as it is.
func TestSharedResultIsNotWrittenTo(t *testing.T) {
	shared := &mcp.CallToolResult{
		Meta: mcp.Meta{"a": 1}, StructuredContent: map[string]any{"b": 2}, Content: append(make([]mcp.Content, 0, 4), &mcp.TextContent{Text: "c"}),
	}
	s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
		Handlers: map[string]harness.Handler{"it": func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
			_, err := degrade.Run(ctx, degrade.Optional("a", nil, fail[int](fault.Unavailable("it"))))
			return shared, err
		}},
		Middleware: []mcp.Middleware{degrade.New(nil)},
	})
	for range 3 {
		require.Len(t, s.Call(t, "it").Tool().Content, 2)
	}
	require.Equal(t, mcp.Meta{"a": 1}, shared.Meta)
	require.Equal(t, map[string]any{"b": 2}, shared.StructuredContent)
	require.Len(t, shared.Content, 1)
	require.Nil(t, shared.Content[:2][1])
}

// TestNewDoesNotMistake a member of an output's own for that of a Status, and never says
// null where there is nothing.
func TestNewDoesNotMistake(t *testing.T) {
	type own struct {
		Degraded bool `json:"degraded"`
	}
	s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
		Middleware: []mcp.Middleware{mcprecover.New(nil), mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)}), degrade.New(nil)},
		More: func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "own"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, own, error) {
				_, err := degrade.Run(ctx, degrade.Optional("it", nil, fail[int](errSecret)))
				return nil, own{}, err
			})
		},
	})
	res := s.CallTool(t.Context(), "own", nil).Tool()
	raw, err := json.Marshal(res.StructuredContent)
	require.NoError(t, err)
	require.JSONEq(t, `{"degraded":false}`, string(raw), "added to an output whose schema forbids it")
	require.Len(t, res.Content, 2)
	raw, err = json.Marshal(res.Meta[degrade.MetaKey])
	require.NoError(t, err)
	require.Contains(t, string(raw), `"components_requested":["it"],"components_returned":[]`)
}

// TestNewLeavesAnAnswerThatIsNotOne of a part that is missing: nothing is said where there was
// no Run, and nothing added to a failure or to a question.
func TestNewLeavesAnAnswerThatIsNotOne(t *testing.T) {
	asks := mcp.InputRequestMap{"q": &mcp.ElicitParams{Message: "which?"}}
	for name, c := range map[string]struct {
		res *mcp.CallToolResult
		err error
		ran bool
	}{
		"no Run":         {&mcp.CallToolResult{StructuredContent: embedded{Main: "x"}}, nil, false},
		"failed":         {&mcp.CallToolResult{IsError: true}, nil, true},
		"asks":           {&mcp.CallToolResult{InputRequests: asks}, nil, true},
		"error as well":  {&mcp.CallToolResult{}, errRule, true},
		"none, no error": {nil, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			quiet(t)
			res, err := degrade.New(nil)(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
				if c.ran {
					_, err := degrade.Run(ctx, degrade.Optional("it", nil, fail[int](errSecret)))
					require.NoError(t, err)
				}
				return c.res, c.err
			})(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}})
			require.Equal(t, c.err, err)
			tool := res.(*mcp.CallToolResult)
			require.Same(t, c.res, tool)
		})
	}
}

// TestNewReplacesOnlyTheTextOfTheOutput among the blocks of an answer.
func TestNewReplacesOnlyTheTextOfTheOutput(t *testing.T) {
	raw, err := json.Marshal(embedded{Main: "x"})
	require.NoError(t, err)
	for name, output := range map[string]any{"raw": json.RawMessage(raw), "value": embedded{Main: "x"}} {
		t.Run(name, func(t *testing.T) {
			quiet(t)
			image, empty := &mcp.ImageContent{Data: raw, MIMEType: "image/png"}, &mcp.TextContent{}
			res, err := degrade.New(nil)(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
				_, err := degrade.Run(ctx, degrade.Optional("it", nil, fail[int](errSecret)))
				return &mcp.CallToolResult{
					StructuredContent: output, Content: []mcp.Content{image, empty, (*mcp.TextContent)(nil), &mcp.TextContent{Text: string(raw)}},
				}, err
			})(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}})
			require.NoError(t, err)
			content := res.(*mcp.CallToolResult).Content
			require.Len(t, content, 5)
			require.Same(t, image, content[0])
			require.Same(t, empty, content[1])
			require.Nil(t, content[2])
			require.Equal(t, name == "value", content[3].(*mcp.TextContent).Text == string(raw))
		})
	}
}
