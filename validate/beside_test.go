package validate_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/wire"
	"github.com/mcpchain/mcpchain/validate"
)

const try = "\nTry: list {\"owner\":\"7\"}"

const why = "The arguments do not fit the tool's input schema, which may be why. Argument 'owner' expected a string, but received 7."

func afterFailure(inner ...mcp.Middleware) mcp.Middleware {
	return standard(&mcpchain.Options{Validate: &validate.Options{AfterFailure: true}}, inner...)
}

// keeping is a handler's middleware that keeps the blocks of failed results.
func keeping() mcp.Middleware {
	settings := &call.Settings{KeepBlocks: true}
	return call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		c.Establish(settings)
		return next(ctx, c.Method(), req)
	})
}

// TestBesideOwnWords: an explained failure has one text, unless the handler keeps what another server wrote.
func TestBesideOwnWords(t *testing.T) {
	eras(t, func(t *testing.T, era harness.Era) {
		own := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Meta: mcp.Meta{"its": "own"}, StructuredContent: map[string]any{"code": 7}, Content: []mcp.Content{
				&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"},
				&mcp.TextContent{Text: "no such owner with sk-ant-api03-" + strings.Repeat("a1B2", 24)}, &mcp.TextContent{Text: "look elsewhere"},
			}}, nil
		}
		one := invoke(t, serve(t, era, raw(own), afterFailure()), "list", `{"owner":7}`).Result.(*mcp.CallToolResult)
		require.Len(t, one.Content, 1)

		s := serve(t, era, raw(own), afterFailure(keeping()))
		all := invoke(t, s, "list", `{"owner":7}`).Result.(*mcp.CallToolResult)
		require.Len(t, all.Content, 3)
		require.IsType(t, &mcp.ImageContent{}, all.Content[0])
		require.Equal(t, "no such owner with [redacted]\nSuggestion: "+why+try, all.Content[1].(*mcp.TextContent).Text)
		require.Equal(t, "look elsewhere", all.Content[2].(*mcp.TextContent).Text)
		require.Equal(t, map[string]any{"code": 7.0}, all.StructuredContent)
		require.Equal(t, "own", all.Meta["its"])
		require.Contains(t, all.Meta, wire.ErrorKey)
		require.NotContains(t, s.Sent(), "sk-ant-api03", "nor in the machine form")

		without := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}}, nil
		}
		all = invoke(t, serve(t, era, raw(without), afterFailure(keeping())), "list", `{"owner":7}`).Result.(*mcp.CallToolResult)
		require.Len(t, all.Content, 2)
		require.Equal(t, "Suggestion: "+why+try, all.Content[0].(*mcp.TextContent).Text)
	})
}

// TestBesideAnotherChain: a server that has this library has said itself what is wrong.
func TestBesideAnotherChain(t *testing.T) {
	said := fault.NotFound("owner", "a")
	s := serve(t, harness.Current, raw(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Meta: mcp.Meta{wire.ErrorKey: said}, Content: []mcp.Content{&mcp.TextContent{Text: said.Text()}}}, nil
	}), afterFailure(keeping()))
	require.Equal(t, said.Text(), invoke(t, s, "list", `{"owner":7}`).Text())
}

// TestProtocolErrorsAreExplained beside their own words, code and data, if they can be about the arguments.
func TestProtocolErrorsAreExplained(t *testing.T) {
	for name, c := range map[string]struct {
		err       jsonrpc.Error
		data      string // what stands in the data
		explained bool
	}{
		"internal":     {jsonrpc.Error{Code: -32603, Message: "it broke"}, `"violations"`, true},
		"request":      {jsonrpc.Error{Code: -32600, Message: "it broke", Data: json.RawMessage(`["its"]`)}, `["its"]`, true},
		"params":       {jsonrpc.Error{Code: -32602, Message: "it broke", Data: json.RawMessage(`{"type":"theirs"}`)}, `"type":"theirs"`, true},
		"several":      {jsonrpc.Error{Code: -32603, Message: "it broke\nRetry: yes"}, `"violations"`, true},
		"its own code": {jsonrpc.Error{Code: -32001, Message: "it broke"}, "", false},
		"steering":     {jsonrpc.Error{Code: -32042, Message: "it broke", Data: json.RawMessage(`{"elicitations":[]}`)}, `{"elicitations":[]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, harness.Current, raw(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, &c.err }), afterFailure())
			got := invoke(t, s, "list", `{"owner":7}`).Protocol()
			require.NotNil(t, got)
			require.Equal(t, c.err.Code, got.Code)
			require.Contains(t, string(got.Data), c.data)
			if !c.explained {
				require.Equal(t, c.err.Message, got.Message)
				return
			}
			words := strings.Replace(c.err.Message, "\nRetry", "\n> Retry", 1) // what looks like a line of ours is quoted
			require.Equal(t, words+"\nSuggestion: "+why+try, got.Message)
			require.Equal(t, words, invoke(t, s, "list", `{"owner":"a"}`).Protocol().Message, "the arguments are right")
		})
	}
	s := serve(t, harness.Current, raw(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: -32603, Message: "it broke"}
	}), standard(nil))
	require.Equal(t, "it broke", invoke(t, s, "list", `{"owner":7}`).Protocol().Message, "only with AfterFailure")
}

// TestUnknownError: a handler that knows that a name does not exist says so in its own words.
func TestUnknownError(t *testing.T) {
	for _, code := range []int64{-32603, -32602, -32001} {
		s := serve(t, harness.Current, raw(echo), standard(nil), func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/call" && call.Target(req) == "lst" {
					return nil, &call.UnknownError{What: "tool", Err: &jsonrpc.Error{Code: code, Message: "there is no lst", Data: json.RawMessage(`{"its":1}`)}}
				}
				return next(ctx, method, req)
			}
		})
		got := invoke(t, s, "lst", `{}`).Protocol()
		require.Equal(t, code, got.Code)
		require.Equal(t, "there is no lst. Did you mean 'list'?", got.Message)
		require.Contains(t, string(got.Data), `"its":1`)
		require.Contains(t, string(got.Data), `"similar_matches":["list"]`)
	}
}

// TestUncheckedIsNoted: a handler can find out that nobody has checked the arguments.
func TestUncheckedIsNoted(t *testing.T) {
	errList := errors.New("no list")
	for name, list := range map[string]func(mcp.Result, error) (mcp.Result, error){
		"as listed": func(res mcp.Result, err error) (mcp.Result, error) { return res, err },
		"fails":     func(mcp.Result, error) (mcp.Result, error) { return nil, errList },
		"hidden":    func(mcp.Result, error) (mcp.Result, error) { return &mcp.ListToolsResult{}, nil },
		"no schema": func(mcp.Result, error) (mcp.Result, error) {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "list", InputSchema: json.RawMessage(`{"$ref":"#"}`)}}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			var unchecked error
			s := serve(t, harness.Current, raw(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				unchecked = call.FromContext(ctx).Unchecked()
				return said("fine"), nil
			}), standard(&mcpchain.Options{Validate: &validate.Options{RawTools: true}}), replace("tools/list", list))
			require.Equal(t, "fine", invoke(t, s, "list", `{"owner":"a"}`).Text())
			require.Equal(t, name != "as listed", unchecked != nil)
		})
	}
}
