package mcpchain_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
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
			maps.Copy(handlers, canaryResults())
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

// canaryResults are failures that a handler made by hand.
func canaryResults() map[string]harness.Handler {
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
