package whole_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/store"
	"github.com/mcpchain/mcpchain/validate"
)

const canary = "kanarienvogel7x"

// canaryJSON has the canary where only a decoder sees that a name or a text is a secret's.
const canaryJSON = `{"kept":"order 17","\u0070assword":"` + canary + `","url":"https:\/\/bob:` + canary + `@h.example.com\/x",` +
	`"inner":"{\"token\":\"` + canary + `\"}","deeper":"{\"a\":\"{\\\"api_key\\\":\\\"` + canary + `\\\"}\"}",` +
	`"list":[{"client_secret":["` + canary + `"]},"Authorization: Bearer ` + canary + `"],"token":"first","token":"` + canary + `"}`

type account struct {
	Name   string `json:"name"`
	APIKey string `json:"api_key"`
	Err    error  `json:"err"`
	Raw    []byte `json:"raw"`
}

// canaryValue is what a handler may put into an answer without a thought.
func canaryValue() map[string]any {
	return map[string]any{
		"kept": "order 17", "password": canary, "note": "the password=" + canary + " was refused", "raw": json.RawMessage(canaryJSON),
		"err":             &url.Error{Op: "Get", URL: "https://" + canary, Err: errors.New(canary)},
		"account":         account{Name: "bob", APIKey: canary, Err: errors.New(canary), Raw: []byte("token=" + canary)},
		"many":            []any{map[string]string{"access_token": canary}, []error{errors.New(canary)}},
		"token=" + canary: 1,
	}
}

// TestNoCanaryLeaves puts secrets into every part of an answer, and searches every byte that left.
func TestNoCanaryLeaves(t *testing.T) {
	secret := errors.New(canary)
	failures := map[string]error{
		"plain":   fmt.Errorf("query of %s: %w", canary, secret),
		"worded":  fault.New("deployment_in_progress", "order 17: a deployment runs, password="+canary).Because(secret),
		"details": fault.New("deployment_in_progress", "order 17 waits").With("value", canaryValue()).With("secret", canary).With("err", secret).With("raw", json.RawMessage(canaryJSON)),
		"steps": fault.New("deployment_in_progress", "order 17 waits").Suggest("Use token="+canary+".").
			Step("log in with password="+canary, "login", map[string]any{"password": canary, "value": canaryValue(), "header": "Authorization: Bearer " + canary}),
		"protocol": &jsonrpc.Error{Code: 4711, Message: "order 17 is locked, token=" + canary, Data: json.RawMessage(canaryJSON)},
		"wrapped":  fmt.Errorf("%s: %w", canary, &jsonrpc.Error{Code: 4711, Message: "order 17", Data: json.RawMessage(canaryJSON)}),
		"broken":   &jsonrpc.Error{Code: 4711, Message: "order 17", Data: json.RawMessage(`{"password":"` + canary)},
	}
	harness.Each(t, append(harness.Tools(), harness.Others()...), func(t *testing.T, at harness.Place) {
		handlers := map[string]harness.Handler{"panic": harness.Panic(canary), "panics with an error": harness.Panic(secret)}
		for name, err := range failures {
			handlers[name] = harness.Fail(err)
		}
		if at.Shape.Tool() && !at.Shape.Typed() {
			maps.Copy(handlers, canaryResults(canaryValue))
		}
		s := harness.Start(t, at, harness.Setup{Handlers: handlers, Middleware: []mcp.Middleware{mcpchain.Standard(nil)}})
		for name := range handlers {
			answer := s.Call(t, name)
			require.NotEmpty(t, answer.Wire, name)
			require.NotContains(t, string(answer.Wire), canary, name)
			if name != "plain" && name != "panic" && name != "panics with an error" {
				require.Contains(t, string(answer.Wire), "order 17", name)
			}
		}
		require.NotContains(t, s.Sent(), canary)
	})
}

// valueOfSuccess is without the error that encoding/json writes field by field: nobody sees that its URL is a secret.
func valueOfSuccess() map[string]any {
	v := canaryValue()
	delete(v, "err")
	return v
}

// TestNoCanaryLeavesInASuccess puts secrets into every part of a success of a tool whose successes are scrubbed, in
// front of what keeps answers, cuts them and puts them together.
func TestNoCanaryLeavesInASuccess(t *testing.T) {
	long := strings.Repeat("An ordinary line of a report about order 17.\n", 400)
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		handlers := map[string]harness.Handler{"text": harness.Return(func() *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: long + "token=" + canary + "\n" + long + "token=" + canary}}}
		})}
		names := []string{"text"}
		for name, h := range canaryResults(valueOfSuccess) {
			handlers[name] = func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
				res, err := h(ctx, req)
				tool, _ := res.(*mcp.CallToolResult)
				tool.IsError = false
				return middleware.NextSteps(tool, fault.Step{Action: "Use token=" + canary, Tool: "it", Parameters: map[string]any{"value": valueOfSuccess()}}), err
			}
			names = append(names, name)
		}
		options := everything(slog.New(slog.DiscardHandler))
		options.Budget = budget.New(&budget.Options{Size: 2000})
		options.Batch = batch.New(&batch.Options{Lists: []batch.List{{Tool: "content", Item: "word", As: "many"}}})
		options.Replay = replay.New(&replay.Options{Store: store.NewMemory(nil), Logger: slog.New(slog.DiscardHandler)})
		inner := func(next mcp.MethodHandler) mcp.MethodHandler { // a middleware of the program's, which adds something
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				res, err := next(ctx, method, req)
				if tool, ok := res.(*mcp.CallToolResult); ok && tool != nil && err == nil {
					cp := *tool
					cp.Content = append(slices.Clone(tool.Content), &mcp.TextContent{Text: "order 17, password=" + canary})
					return &cp, nil
				}
				return res, err
			}
		}
		s := harness.Start(t, harness.Place{Shape: harness.ServerTyped, Era: era}, harness.Setup{
			Handlers: handlers, Middleware: []mcp.Middleware{mcpchain.Standard(options, mask.Successes(names...), inner)},
		})
		for _, name := range names {
			answer := s.Call(t, name)
			require.Nil(t, answer.Fault(), "%s: %s", name, answer.Text())
			require.Contains(t, string(answer.Wire), "order 17", name)
		}
		cut := s.Call(t, "text")
		_, cursor, found := strings.Cut(cut.Tool().Content[len(cut.Tool().Content)-1].(*mcp.TextContent).Text, `call read_more {"cursor":"`)
		require.True(t, found, "the answer is cut")
		rest := s.CallTool(t.Context(), "read_more", map[string]any{"cursor": cursor[:strings.IndexByte(cursor, '"')]})
		require.Nil(t, rest.Fault(), rest.Text())
		require.Contains(t, s.CallTool(t.Context(), "many", map[string]any{"words": []string{"a", "b"}}).Text(), "order 17")
		require.NotContains(t, s.Sent(), canary)
	}
}

// TestNoCanaryInArguments: a credential that a caller sends reaches neither the handler nor a log, and does not come back.
func TestNoCanaryInArguments(t *testing.T) {
	for _, policy := range []validate.Credentials{validate.RefuseCredentials, validate.RecordCredentials} {
		harness.Each(t, []harness.Shape{harness.ServerTyped, harness.ServerRaw}, func(t *testing.T, at harness.Place) {
			log, records := harness.NewLog(slog.LevelDebug), ""
			options := everything(log.Logger())
			options.Validate = &validate.Options{Credentials: policy}
			options.Correlate = &correlate.Options{Advanced: correlate.Advanced{ArgumentValues: 1024}}
			options.Audit = audit.New(&audit.Options{Log: audit.NewLog(func(entries []audit.Entry) error {
				for _, e := range entries {
					records += string(e.Line)
				}
				return nil
			}, nil)})
			reached := 0
			s := harness.Start(t, at, harness.Setup{
				Handlers: map[string]harness.Handler{"it": func(_ context.Context, req mcp.Request) (mcp.Result, error) {
					reached++
					return harness.Success(req), nil
				}},
				Middleware: []mcp.Middleware{mcpchain.Standard(options)},
			})
			for _, args := range []string{
				canaryJSON, `{"word":"password=` + canary + `"}`, `{"word":"x","password":"` + canary + `"}`, `{"ghp_` + canary + `F292c6912E7710c838347Ae178B4":1}`,
				`{"word":"https://bob:` + canary + `@example.com/"}`, `{"word":"x","\u0070assword":{"\n- Argument":["` + canary + `"]}}`,
			} {
				s.CallTool(t.Context(), "it", json.RawMessage(args))
			}
			if policy == validate.RefuseCredentials {
				require.Zero(t, reached)
			}
			require.NotContains(t, s.Sent(), canary)
			require.NotContains(t, log.String(), canary)
			require.NotContains(t, records, canary)
		})
	}
}

// canaryResults are failures that a handler made by hand.
func canaryResults(canaryValue func() map[string]any) map[string]harness.Handler {
	result := func(change func(*mcp.CallToolResult)) harness.Handler {
		return func(context.Context, mcp.Request) (mcp.Result, error) {
			res := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "order 17: token=" + canary}}}
			change(res)
			return res, nil
		}
	}
	return map[string]harness.Handler{
		"content": result(func(res *mcp.CallToolResult) {
			res.Content = append(res.Content,
				&mcp.TextContent{Text: canaryJSON},
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "https://bob:" + canary + "@h.example.com/x", Text: "password=" + canary}},
				&mcp.ResourceLink{URI: "https://bob:" + canary + "@h.example.com/x", Name: "token=" + canary, Title: "password=" + canary, Description: "Bearer " + canary})
		}),
		"meta":           result(func(res *mcp.CallToolResult) { res.Meta = mcp.Meta{"value": canaryValue(), "token": canary} }),
		"structured":     result(func(res *mcp.CallToolResult) { res.StructuredContent = canaryValue() }),
		"structured raw": result(func(res *mcp.CallToolResult) { res.StructuredContent = json.RawMessage(canaryJSON) }),
		"structured struct": result(func(res *mcp.CallToolResult) {
			res.StructuredContent = account{APIKey: canary, Err: errors.New(canary)}
		}),
		"structured pointer": result(func(res *mcp.CallToolResult) {
			res.StructuredContent = &account{APIKey: canary, Raw: []byte("token=" + canary)}
		}),
	}
}
