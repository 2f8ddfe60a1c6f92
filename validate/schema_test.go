package validate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/explain"
)

func TestSchemasAreKept(t *testing.T) {
	var c schemas
	pointer := &jsonschema.Schema{Type: "object", Title: "a"}
	compiled := func(schema any) *explain.Schema {
		s, err := c.get(schema)()
		require.NoError(t, err)
		return s
	}
	first := compiled(pointer)
	require.Same(t, first, compiled(pointer))
	require.Same(t, first, compiled(&jsonschema.Schema{Type: "object", Title: "a"}), "the same text")
	require.Same(t, compiled(map[string]any{"a": 1, "b": 2}), compiled(json.RawMessage(`{"a":1,"b":2}`)))
	raw := map[string]any{"type": "object"}
	before := compiled(raw)
	raw["type"] = "string"
	require.NotSame(t, before, compiled(raw), "it was changed")
	text := json.RawMessage(`{ "a": 1, "b": 2 }`)
	before = compiled(map[string]any{"a": 1, "b": 2})
	require.Same(t, before, compiled(text), "other spaces")
	require.Same(t, before, compiled(text))
	require.Contains(t, c.kept, any(sha256.Sum256(text)), "and is not written as JSON again")
	copy(text, `{ "a": 3`)
	require.NotSame(t, before, compiled(text), "it was changed")
	for _, none := range []any{nil, (*jsonschema.Schema)(nil), json.RawMessage(`{`), func() {}} {
		require.Nil(t, c.get(none))
	}
}

func TestSchemasAreCompiledOnce(t *testing.T) {
	var c schemas
	s := c.get(json.RawMessage(`{"type":"object"}`))
	first, err := s()
	require.NoError(t, err)
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if again, _ := s(); again != first {
				t.Error("compiled again")
			}
		})
	}
	calls.Wait()
	_, err = c.get(json.RawMessage(`{"type":"nonsense"}`))()
	require.Error(t, err)
}

// TestSchemasAreBounded: whatever a server lists, no more text is kept than is allowed, and what is
// kept is what is counted.
func TestSchemasAreBounded(t *testing.T) {
	var c schemas
	description := strings.Repeat("x", 64<<10)
	for i := range 3 * maxText >> 16 {
		require.NotNil(t, c.get(&jsonschema.Schema{Type: "object", Title: fmt.Sprint(i), Description: description}))
		kept := 0
		for _, s := range c.kept {
			kept += s.text
		}
		require.Equal(t, kept, c.text)
		require.LessOrEqual(t, kept, maxText)
	}
	require.Greater(t, c.text, maxText-2*len(description), "there is no room for one more")
	before := c.text
	require.NotNil(t, c.get(json.RawMessage(`{"description":"`+strings.Repeat("x", maxText)+`"}`)), "it is compiled for each call")
	require.Equal(t, before, c.text)
}

// TestGivenUpBeforeTheCheck: a call that nobody waits for does not pass unchecked because the
// list failed.
func TestGivenUpBeforeTheCheck(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	asked, ended := make(chan struct{}), make(chan struct{})
	s.AddTool(&mcp.Tool{Name: "it", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		t.Error("the handler ran")
		return &mcp.CallToolResult{}, nil
	})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" {
				defer close(ended)
			}
			return next(ctx, method, req)
		}
	}, New(&Options{RawTools: true}), func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				close(asked)
				<-ctx.Done()
				return nil, errors.New("the store of tools is closed") // not in the words of package context
			}
			return next(ctx, method, req)
		}
	})
	here, there := mcp.NewInMemoryTransports()
	_, err := s.Connect(t.Context(), here, nil)
	require.NoError(t, err)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), there, nil)
	require.NoError(t, err)
	defer client.Close()
	ctx, giveUp := context.WithCancel(t.Context())
	go func() { <-asked; giveUp() }()
	_, err = client.CallTool(ctx, &mcp.CallToolParams{Name: "it"})
	require.ErrorIs(t, err, context.Canceled)
	<-ended
}
