package whole_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/words"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
)

// invisible are characters and sequences of which a reader sees nothing.
var invisible = []string{
	"\x1b[31m", "\x1b[0;1;38;5;208m", "\x1b(B", "\x1b]0;t\a", "\x1b", "\u009b1m", "\x00", "\a", "\b", "\x7f", "\u0085\u0084"[2:], "\u200b", "\u200d", "\u00ad", "\ufeff",
	"\u202e", "\u2066", "\ufe0f", "\U000e0100", "\U000e0041", "\u3164", "\u115f", "\u034f", "\u180e", "\u2060",
}

// seenOf returns what a reader sees of a JSON value that was sent: every text and name in it, one a line.
func seenOf(t *testing.T, raw string) string {
	var b strings.Builder
	dec := json.NewDecoder(strings.NewReader(raw))
	for dec.More() {
		token, err := dec.Token()
		require.NoError(t, err, raw)
		if text, ok := token.(string); ok {
			require.Equal(t, text, mask.ScrubCredentials(text), "nothing more is hidden in what was scrubbed")
			seen := words.Visible(text)
			require.Equal(t, seen, mask.ScrubCredentials(seen), "nor in what is seen of it: %q", text)
			b.WriteString(seen + "\n")
		}
	}
	return b.String()
}

// TestInvisibleCharactersHideNothing puts what nobody sees into credentials, in every part of an answer, of a log and of an
// audit: none is put together when the rest is cleaned.
func TestInvisibleCharactersHideNothing(t *testing.T) {
	harness.Each(t, append(harness.Tools(), harness.Others()...), func(t *testing.T, at harness.Place) {
		clean, lines := harness.NewLog(slog.LevelDebug), ""
		options := &mcpchain.Options{
			Logger:    slog.New(mask.LogHandler(clean.Handler(), nil)),
			Correlate: &correlate.Options{Advanced: correlate.Advanced{ArgumentValues: 1024}},
			Audit: audit.New(&audit.Options{Log: audit.NewLog(func(entries []audit.Entry) error {
				for _, e := range entries {
					lines += string(e.Line) + "\n"
				}
				return nil
			}, nil)}),
		}
		handlers := map[string]harness.Handler{}
		some := invisible
		if at.Shape != harness.ServerRaw || at.Era != harness.Current { // the rest is the same everywhere
			some = some[len(t.Name())%3*3:][:1]
			if soaking() {
				some = some[:3]
			}
		}
		for i, u := range some {
			for name, h := range invisibleFailures(at, u) {
				handlers[fmt.Sprint(name, i)] = h
			}
		}
		s := harness.Start(t, at, harness.Setup{Handlers: handlers, Middleware: []mcp.Middleware{mcpchain.Standard(options)}})
		for name := range handlers {
			answer := s.Call(t, name)
			require.NotEmpty(t, answer.Wire, name)
			require.NotContains(t, seenOf(t, string(answer.Wire)), canary, name)
		}
		if at.Shape.Tool() {
			for _, u := range some {
				s.CallTool(t.Context(), "plain0", map[string]any{"word": "pass" + u + "word=" + canary, "pass" + u + "word": canary})
				s.CallTool(t.Context(), "pass"+u+"word="+canary, nil)
			}
		}
		require.Equal(t, at.Shape == harness.ServerCompletion, lines == "", "completions are not audited")
		for _, records := range []string{clean.String(), lines} {
			for line := range strings.Lines(records) {
				require.NotContains(t, seenOf(t, line), canary)
			}
		}
	})
}

// invisibleFailures are handlers that fail with credentials that have u in them.
func invisibleFailures(at harness.Place, u string) map[string]harness.Handler {
	name := "pass" + u + "word"
	text := "order 17: " + name + "=" + canary
	key := "gh" + u + "p_16C7e42F292c6912E7710c838347Ae" + canary
	value := map[string]any{name: canary, "note": text, text: 1, "list": []any{text, map[string]string{name: canary}}, key: true, "raw": json.RawMessage(`{"pass\u200bword":"` + canary + `"}`)}
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	full := fault.FromData(fault.Data{
		Type: "deployment_in_progress", Message: text, Suggestion: text, Code: text, Field: text, Received: text, Expected: text, Examples: []string{text},
		Violations:   []fault.Violation{{Field: text, Pointer: text, Rule: text, Expected: text, Received: text, Suggestion: text}},
		ResourceType: text, Identifier: key, SimilarMatches: []string{text, key}, Action: text, Resource: text, RequiredPermission: text,
		Retry:         &fault.Retry{Reason: text},
		RecoverySteps: []fault.Step{{Action: text, Description: text, Options: []fault.Option{{Action: text, Tool: text, Parameters: value}}}, {Action: text, Tool: text, Parameters: value}},
		Details:       value, CorrectedTool: text, CorrectedArguments: value,
	})
	handlers := map[string]harness.Handler{
		"full":     harness.Fail(full),
		"plain":    harness.Fail(errors.New(text)),
		"panic":    harness.Panic(text),
		"missing":  harness.Fail(fault.NotFound(text, key, text, key, "other")),
		"exists":   harness.Fail(fault.AlreadyExists(text, text)),
		"denied":   harness.Fail(fault.Denied(text, text).Needs(text)),
		"limited":  harness.Fail(fault.RateLimited(text, 0)),
		"late":     harness.Fail(fault.Timeout(text, 0)),
		"down":     harness.Fail(fault.Unavailable(text).Suggest(text).Never(text)),
		"invalid":  harness.Fail(fault.Violations(fault.Violation{Field: text, Message: text}, fault.Violation{Field: name, Received: canary, Expected: text})),
		"one":      harness.Fail(fault.Invalid(name, canary, "an integer", text)),
		"joined":   harness.Fail(fault.Join(full, fault.New("own", text).Suggest(text))),
		"protocol": harness.Fail(&jsonrpc.Error{Code: 4711, Message: text, Data: raw}),
		"wrapped":  harness.Fail(fmt.Errorf("%s: %w", text, fault.New("own", text).With(name, canary).With("value", value).Because(errors.New(text)))),
		"parts": func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
			status, err := degrade.Run(ctx, degrade.Optional(text, new(int), func(context.Context) (int, error) { return 0, full }).Impact(text),
				degrade.Optional("b", new(int), func(context.Context) (int, error) { return 0, errors.New(text) }))
			return nil, errors.Join(err, fault.New("own", status.Text()))
		},
	}
	if at.Shape.Tool() && !at.Shape.Typed() {
		handlers["told"] = harness.Return(func() *mcp.CallToolResult {
			return middleware.NextSteps(&mcp.CallToolResult{
				IsError: true, Meta: mcp.Meta{name: canary, "list": []any{text}}, StructuredContent: value,
				Content: []mcp.Content{&mcp.TextContent{Text: text, Meta: mcp.Meta{name: canary}}, &mcp.ResourceLink{URI: "https://x.example.com/?" + name + "=" + canary, Name: text}, &mcp.TextContent{Text: string(raw)}},
			}, fault.Step{Action: text, Tool: "it", Parameters: value})
		})
		handlers["items"] = func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
			return batch.Run(ctx, []string{text, key, "other"}, func(_ context.Context, item string) (any, error) {
				return nil, fault.New("own", item).With("value", value)
			}, &batch.RunOptions[string]{KeyName: text}).ToolResult(), nil
		}
	}
	return handlers
}
