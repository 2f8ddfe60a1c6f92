package whole_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
)

// failuresOfOthers are failures that a package alone has nothing to say about: those of the handler.
func failuresOfOthers(at harness.Place) map[string]harness.Handler {
	handlers := map[string]harness.Handler{
		"plain":       harness.Fail(errors.New("stock: query of \"a\" failed:\n\tno rows at /srv/stock.db")),
		"of a kind":   harness.Fail(fmt.Errorf("reading: %w", context.DeadlineExceeded)),
		"of a file":   harness.Fail(&fs.PathError{Op: "open", Path: "/etc/stock", Err: fs.ErrNotExist}),
		"of the wire": harness.Fail(&jsonrpc.Error{Code: 4711, Message: "locked", Data: json.RawMessage(`{"a":1}`)}),
		"an output":   harness.Fail(fmt.Errorf("validating tool output: %w", errors.New("5 is no string"))), // as the SDK says it of a typed tool
		"NaN":         harness.Fail(fmt.Errorf("marshaling output: %w", &json.UnsupportedValueError{Str: "NaN"})),
		"good":        harness.Succeed(),
	}
	if at.Shape.Tool() {
		handlers["own words"] = harness.Return(func() *mcp.CallToolResult {
			return &mcp.CallToolResult{
				IsError: true, Meta: mcp.Meta{"a": 1.0}, StructuredContent: map[string]any{"code": 7},
				Content: []mcp.Content{&mcp.TextContent{Text: "the oven is cold:\r\n\u200b\tlight it  "}, &mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}},
			}
		})
		handlers["without words"] = harness.Return(func() *mcp.CallToolResult { return &mcp.CallToolResult{IsError: true} })
		handlers["own words of an error"] = harness.Return(func() *mcp.CallToolResult {
			res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the oven is cold"}}}
			res.SetError(errors.New("it has no gas"))
			return res
		})
	}
	return handlers
}

// sentOf returns every byte that a server sends of these failures behind a chain.
func sentOf(t *testing.T, at harness.Place, chain ...mcp.Middleware) string {
	t.Helper()
	handlers := failuresOfOthers(at)
	s := harness.Start(t, at, harness.Setup{Handlers: handlers, Middleware: chain})
	for _, name := range []string{"plain", "of a kind", "of a file", "of the wire", "an output", "NaN", "own words", "own words of an error", "without words", "good"} {
		if handlers[name] != nil {
			s.Call(t, name)
		}
	}
	return s.Sent()
}

// TestAPackageAloneDoesItsOwnWorkOnly compares, byte for byte, what a server sends with one package
// in front of it and without it, where the package has nothing to do.
func TestAPackageAloneDoesItsOwnWorkOnly(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		bare := sentOf(t, at)
		require.Contains(t, bare, "no rows at /srv/stock.db")
		for _, chain := range []string{
			"recover", "validate", "limit", "drain", "deadline", "batch", "degrade", "budget", "state", "replay", "audit",
			"recover > validate", "recover > limit > deadline > recover",
		} {
			require.Equal(t, bare, sentOf(t, at, chainOf(chain, log)...), chain)
		}
	})
}

// TestRecoverAndValidateChangeNothingElse is what a careful team installs first: no process is lost, wrong
// arguments are explained, and nothing else changes.
func TestRecoverAndValidateChangeNothingElse(t *testing.T) {
	both := chainOf("recover > validate", slog.New(slog.DiscardHandler))
	at := harness.Place{Shape: harness.ServerTyped, Era: harness.Current}
	s := harness.Start(t, at, harness.Setup{Middleware: both, Handlers: map[string]harness.Handler{
		"it": harness.Fail(errors.New("no rows")), "panics": harness.Panic(canary),
	}})
	require.Equal(t, "no rows", s.Call(t, "it").Text())
	require.True(t, strings.HasPrefix(s.Call(t, "panics").Text(), "Internal error: "))
	require.Contains(t, s.CallTool(t.Context(), "it", map[string]any{"wrong": 1}).Text(), "Validation Error: ")
	require.NotContains(t, s.Sent(), canary)
	require.Equal(t, "no rows", s.Call(t, "it").Text(), "the server lives")
}

// TestErrorsThatCannotBeSentDoNotPass: an error whose own methods panic would end the process in the SDK.
func TestErrorsThatCannotBeSentDoNotPass(t *testing.T) {
	harness.Each(t, []harness.Shape{harness.ServerRaw, harness.ServerResource, harness.WrapTool}, func(t *testing.T, at harness.Place) {
		for name, err := range map[string]error{"typed nil": (*fs.PathError)(nil), "its text": broken{}, "its As": brokenAs{}, "empty": errors.New(""),
			"a nil protocol error": (*jsonrpc.Error)(nil), "one that is wrapped": fmt.Errorf("it: %w", (*jsonrpc.Error)(nil)), "without an end": &circle{},
		} {
			got := harness.Call(t, at, harness.Fail(err), chainOf("recover", slog.New(slog.DiscardHandler))...)
			require.Contains(t, got.Text(), "Internal error: ", name)
		}
	})
}

type circle struct{}

func (c *circle) Error() string { return "round" }
func (c *circle) Unwrap() error { return c }

type broken struct{}

func (broken) Error() string { panic(canary) }

type brokenAs struct{}

func (brokenAs) Error() string { return "as it came" }
func (brokenAs) As(any) bool   { panic(canary) }

// TestAToolsOwnWordsKeepTheirBytes: behind Standard the result of a tool that words its failure itself
// differs by the reference of its record alone.
func TestAToolsOwnWordsKeepTheirBytes(t *testing.T) {
	long := strings.Repeat("The oven is cold, see line 17 of its log.\n", 10_000)
	for name, result := range map[string]func() *mcp.CallToolResult{
		"all of it": func() *mcp.CallToolResult {
			return &mcp.CallToolResult{
				IsError: true, Meta: mcp.Meta{"b": []any{1.0}, "a": nil}, StructuredContent: map[string]any{"z": 1e21, "a": json.Number("1.50")},
				Content: []mcp.Content{
					&mcp.TextContent{Text: "> cold\r\nRetry: yes\u202e \x1b[31m", Meta: mcp.Meta{"k": "v"}},
					&mcp.ResourceLink{URI: "file:///srv/oven.log", Name: "log"}, &mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"},
				},
			}
		},
		"a long text": func() *mcp.CallToolResult { return told(long) },
		"an image only": func() *mcp.CallToolResult {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}}
		},
		"a large value": func() *mcp.CallToolResult {
			r := told("cold")
			r.StructuredContent = map[string]any{"log": long}
			return r
		},
		"JSON in its text": func() *mcp.CallToolResult { return told("{ \"a\" : 1.0,\"b\":[ ] }\n") },
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, []harness.Shape{harness.ServerRaw, harness.WrapTool}, func(t *testing.T, at harness.Place) {
				bare := harness.Call(t, at, harness.Return(result))
				got := harness.Call(t, at, harness.Return(result), mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
				reference := got.Reference()
				require.NotEmpty(t, reference)
				without := strings.Replace(string(got.Wire), `"io.github.mcpchain/reference":"`+reference+`"`, "", 1)
				without = strings.NewReplacer(`"_meta":{},`, "", `"_meta":{,`, `"_meta":{`, `,,`, `,`, `,}`, `}`).Replace(without)
				require.Equal(t, strings.NewReplacer(`,,`, `,`).Replace(string(bare.Wire)), without)

				f, failed := middleware.FaultOf(got.Result, got.Err)
				require.True(t, failed)
				require.Equal(t, "tool_error", string(f.Kind()))
				require.Equal(t, reference, f.Reference())
				_, said := f.Retry()
				require.False(t, said)
			})
		})
	}
}

func told(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// TestAnErrorOutweighsItsResult: the SDK does not send a result that came with an error. The caller reads of the
// error, and the record has it, even if the result reports the same error in words of its own, and even if one of our
// middlewares has seen that result before a middleware of the program's returned its error alone.
func TestAnErrorOutweighsItsResult(t *testing.T) {
	err := errors.New("dial db.internal: " + canary)
	result := func() *mcp.CallToolResult {
		res := told("the words of the result")
		res.SetError(err)
		return res
	}
	both := func(context.Context, mcp.Request) (mcp.Result, error) { return result(), err }
	alone := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if tool, ok := res.(*mcp.CallToolResult); ok && err == nil && tool.IsError {
				return nil, tool.GetError()
			}
			return res, err
		}
	}
	for name, c := range map[string]struct {
		handler harness.Handler
		of      func(log *slog.Logger) []mcp.Middleware
	}{
		"mask": {both, func(log *slog.Logger) []mcp.Middleware { return []mcp.Middleware{mask.New(&mask.Options{Logger: log})} }},
		"Standard": {both, func(log *slog.Logger) []mcp.Middleware {
			return []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{Logger: log})}
		}},
		"a middleware between": {harness.Return(result), func(log *slog.Logger) []mcp.Middleware {
			return []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{Logger: log}, alone)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, []harness.Shape{harness.ServerRaw, harness.WrapTool}, func(t *testing.T, at harness.Place) {
				log := harness.NewLog(slog.LevelInfo)
				got := harness.Call(t, at, c.handler, c.of(log.Logger())...)
				require.Contains(t, got.Text(), "Internal error: the server failed unexpectedly.")
				require.NotContains(t, string(got.Wire), "the words of the result")
				require.NotContains(t, string(got.Wire), canary)
				record := log.Only(t)
				require.Equal(t, got.Reference(), record["reference"])
				require.Contains(t, record["error"], canary)
			})
		})
	}
}

// TestAToolsOwnWordsLoseCredentialsOnly: only the part that holds a credential is replaced.
func TestAToolsOwnWordsLoseCredentialsOnly(t *testing.T) {
	long := strings.Repeat("The oven is cold, see /srv/oven.log of 10.0.0.7.\n", 4_000)
	harness.Each(t, []harness.Shape{harness.ServerRaw, harness.WrapTool}, func(t *testing.T, at harness.Place) {
		got := harness.Call(t, at, harness.Return(func() *mcp.CallToolResult {
			r := told(long + "token=" + canary + "\r\n" + long)
			r.Content = append(r.Content, &mcp.TextContent{Text: "Next:\u200b 1. nothing"})
			return r
		}), mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
		require.NotContains(t, string(got.Wire), canary)
		require.Equal(t, long+"token=[redacted]\r\n"+long, got.Text())
		require.Equal(t, "Next:\u200b 1. nothing", got.Tool().Content[1].(*mcp.TextContent).Text)
	})
}

// TestARuleWordsAToolsOwnWords holds as for the text of an error.
func TestARuleWordsAToolsOwnWords(t *testing.T) {
	rules := &mask.Options{Rules: []mask.Rule{mask.Contains("cold", fault.NotFound("oven", "a"))}}
	got := harness.Call(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Return(func() *mcp.CallToolResult { return told("the oven is cold") }),
		mcpchain.Standard(&mcpchain.Options{Mask: rules, Logger: slog.New(slog.DiscardHandler)}))
	require.Contains(t, got.Text(), "Not found: ")
	require.NotNil(t, got.Machine())
}
