package mcpgo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	wrapped "github.com/mcpchain/mcpchain/contrib/mcpgo"
	"github.com/mcpchain/mcpchain/fault"
)

// helper makes a handler of one of mcp-go's argument helpers.
func helper[T any](require func(mcpgo.CallToolRequest, string) (T, error), name string) func(mcpgo.CallToolRequest) error {
	return func(req mcpgo.CallToolRequest) error {
		_, err := require(req, name)
		return err
	}
}

type order struct {
	Count int `json:"count"`
	Item  struct {
		Price float64 `json:"price"`
	} `json:"item"`
	Tags []string `json:"tags"`
}

// TestArgumentHelpers calls every helper with an argument that is missing and one of the
// wrong type, and expects the argument to be named.
func TestArgumentHelpers(t *testing.T) {
	chain, _ := standard(mcpchain.Options{})
	args := map[string]any{"text": "abc", "number": 7.5, "list": []any{"a", map[string]any{}}, "object": map[string]any{}}
	bind := func(req mcpgo.CallToolRequest) error { return req.BindArguments(&order{}) }
	for name, c := range map[string]struct {
		helper func(mcpgo.CallToolRequest) error
		args   map[string]any
		field  string
		text   string
	}{
		"missing string": {helper(mcpgo.CallToolRequest.RequireString, "a \"b\""), args, `a "b"`, `Validation Error: Argument 'a "b"' is required.`},
		"missing int":    {helper(mcpgo.CallToolRequest.RequireInt, "x"), args, "x", "Validation Error: Argument 'x' is required."},
		"missing float":  {helper(mcpgo.CallToolRequest.RequireFloat, "x"), args, "x", "Validation Error: Argument 'x' is required."},
		"missing bool":   {helper(mcpgo.CallToolRequest.RequireBool, "x"), args, "x", "Validation Error: Argument 'x' is required."},
		"missing list":   {helper(mcpgo.CallToolRequest.RequireStringSlice, "x"), args, "x", "Validation Error: Argument 'x' is required."},
		"string":         {helper(mcpgo.CallToolRequest.RequireString, "number"), args, "number", "Validation Error: Argument 'number' expected a string, but received 7.5."},
		"int":            {helper(mcpgo.CallToolRequest.RequireInt, "text"), args, "text", "Validation Error: Argument 'text' expected an integer, but received 'abc'."},
		"int object":     {helper(mcpgo.CallToolRequest.RequireInt, "object"), args, "object", "Validation Error: Argument 'object' expected an integer, but received an empty object."},
		"float":          {helper(mcpgo.CallToolRequest.RequireFloat, "text"), args, "text", "Validation Error: Argument 'text' expected a number, but received 'abc'."},
		"bool":           {helper(mcpgo.CallToolRequest.RequireBool, "text"), args, "text", "Validation Error: Argument 'text' expected true or false, but received 'abc'."},
		"strings":        {helper(mcpgo.CallToolRequest.RequireStringSlice, "text"), args, "text", "Validation Error: Argument 'text' expected a list of strings, but received 'abc'."},
		"string item":    {helper(mcpgo.CallToolRequest.RequireStringSlice, "list"), args, "list[1]", "Validation Error: Argument 'list[1]' expected a string, but received an empty object."},
		"int item":       {helper(mcpgo.CallToolRequest.RequireIntSlice, "list"), args, "list[0]", "Validation Error: Argument 'list[0]' expected an integer, but received 'a'."},
		"float item":     {helper(mcpgo.CallToolRequest.RequireFloatSlice, "list"), args, "list[0]", "Validation Error: Argument 'list[0]' expected a number, but received 'a'."},
		"bool item":      {helper(mcpgo.CallToolRequest.RequireBoolSlice, "list"), args, "list[0]", "Validation Error: Argument 'list[0]' expected true or false, but received 'a'."},
		"bind":           {bind, map[string]any{"count": "five"}, "count", "Validation Error: Argument 'count' expected an integer, but received 'five'."},
		"bind below":     {bind, map[string]any{"item": map[string]any{"price": true}}, "item.price", "Validation Error: Argument 'item.price' expected a number, but received true."},
		"bind list":      {bind, map[string]any{"tags": "a"}, "tags", "Validation Error: Argument 'tags' expected a list, but received 'a'."},
	} {
		t.Run(name, func(t *testing.T) {
			for shape, h := range map[string]server.ToolHandlerFunc{
				"error": func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
					return nil, c.helper(req)
				},
				"wrapped": func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
					return nil, fmt.Errorf("reading the arguments: %w", c.helper(req))
				},
				"text": func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
					prefix := ""
					if _, binds := c.helper(req).(*json.UnmarshalTypeError); binds { //nolint:errorlint // it is returned bare
						prefix = "failed to bind arguments: "
					}
					return mcpgo.NewToolResultError(prefix + c.helper(req).Error()), nil
				},
			} {
				t.Run(shape, func(t *testing.T) {
					res, err := wrapped.Tool(h, chain)(t.Context(), request(c.args))
					require.NoError(t, err)
					require.True(t, res.IsError)
					f := faultOf(t, res)
					require.Equal(t, fault.KindValidation, f.Kind(), textOf(t, res))
					require.Equal(t, c.field, f.Data().Field)
					require.Contains(t, textOf(t, res), c.text)
				})
			}
		})
	}
}

func TestArgumentHelpersTogether(t *testing.T) {
	chain, _ := standard(mcpchain.Options{})
	res, err := wrapped.Tool(func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		_, a := req.RequireString("a")
		_, b := req.RequireInt("b")
		return nil, errors.Join(a, b)
	}, chain)(t.Context(), request(map[string]any{"b": "x"}))
	require.NoError(t, err)
	require.Len(t, faultOf(t, res).Data().Violations, 2)
}

// TestTypedHandlers: what mcp-go's own handlers make of wrong arguments, and of errors.
func TestTypedHandlers(t *testing.T) {
	chain, log := standard(mcpchain.Options{})
	h := mcpgo.NewTypedToolHandler(func(context.Context, mcpgo.CallToolRequest, order) (*mcpgo.CallToolResult, error) {
		return nil, errors.New(canary)
	})
	res, err := wrapped.Tool(h, chain)(t.Context(), request(map[string]any{"count": "five"}))
	require.NoError(t, err)
	require.Equal(t, "count", faultOf(t, res).Data().Field)
	res, err = wrapped.Tool(h, chain)(t.Context(), request(nil))
	require.NoError(t, err)
	require.Equal(t, fault.KindInternal, faultOf(t, res).Kind())
	require.NotContains(t, textOf(t, res), canary)

	// Text that is no JSON for the type, in a way that names no field.
	var req mcpgo.CallToolRequest
	req.Params.RawArguments = json.RawMessage(`{"count":`)
	res, err = wrapped.Tool(h, chain)(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, fault.KindValidation, faultOf(t, res).Kind())

	structured := mcpgo.NewStructuredToolHandler(func(_ context.Context, _ mcpgo.CallToolRequest, o order) (order, error) {
		if o.Count == 0 {
			return o, errors.New("dial tcp " + canary)
		}
		return o, nil
	})
	log.Reset()
	res, err = wrapped.Tool(structured, chain)(t.Context(), request(nil))
	require.NoError(t, err)
	require.Equal(t, fault.KindInternal, faultOf(t, res).Kind())
	require.NotContains(t, textOf(t, res), canary)
	require.Contains(t, log.String(), canary, "the operator reads it")
	res, err = wrapped.Tool(structured, chain)(t.Context(), request(map[string]any{"count": 1}))
	require.NoError(t, err)
	require.False(t, res.IsError)
}

// TestNotOfHelpers: a tool's own words, and words that only look like a helper's, stay.
func TestNotOfHelpers(t *testing.T) {
	chain, _ := standard(mcpchain.Options{})
	for text, args := range map[string]map[string]any{
		"the shop is closed":                            nil,
		`required argument "a" not found`:               {"a": 1},
		`argument "a" is not a string`:                  {"b": 1},
		`required argument "a" not found in the config`: nil,
		`line 1: required argument "a" not found`:       nil,
	} {
		res, err := wrapped.Tool(returns(mcpgo.NewToolResultError(text), nil), chain)(t.Context(), request(args))
		require.NoError(t, err)
		require.True(t, res.IsError)
		require.Equal(t, text, textOf(t, res))
		require.Empty(t, faultOf(t, res).Data().Violations, text)
	}
}
