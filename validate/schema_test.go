package validate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/call"
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

func TestSchemasAreBounded(t *testing.T) {
	var c schemas
	for i := range 4 * maxSchemas {
		require.NotNil(t, c.get(&jsonschema.Schema{Type: "object", Title: fmt.Sprint(i)}))
	}
	require.Len(t, c.kept, 2*maxSchemas)
}

// TestFlood: of the calls that fail at the same time in one session, one asks for
// the definition, and nothing of it is kept.
func TestFlood(t *testing.T) {
	const flood = 50
	var refused, lists atomic.Int32
	all := make(chan struct{}) // closed when every call has been refused
	inner := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			switch method {
			case "tools/call":
				if refused.Add(1) == flood {
					close(all)
				}
			case "tools/list":
				lists.Add(1)
				<-all
			}
			return res, err
		}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "it"}, func(context.Context, *mcp.CallToolRequest, struct{ N int }) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	var r *validator
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		r = newValidator("test", nil)
		return call.Wrap(r.Call)(inner(next))
	})
	here, there := mcp.NewInMemoryTransports()
	_, err := s.Connect(t.Context(), here, nil)
	require.NoError(t, err)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), there, nil)
	require.NoError(t, err)
	defer client.Close()
	var calls sync.WaitGroup
	for range flood {
		calls.Go(func() {
			res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "it", Arguments: map[string]any{"N": "x"}})
			if err != nil || res.Content[0].(*mcp.TextContent).Text != "Validation Error: Argument 'N' expected an integer, but received 'x'." {
				t.Errorf("%v %v", res, err)
			}
		})
	}
	calls.Wait()
	// A call may have been refused, and not be waiting yet, when the first list was
	// answered: it asks again.
	require.Less(t, int(lists.Load()), flood/2)
	r.lookups.Range(func(key, _ any) bool { t.Error("a lookup is kept", key); return true })
	require.Len(t, r.schemas.kept, 2, "by its hash and by its pointer")
}

// TestWhoAskedGaveUp: a call does not fail because another one, whose lookup it
// shares, was cancelled.
func TestWhoAskedGaveUp(t *testing.T) {
	var lists atomic.Int32
	asked := make(chan struct{})
	inner := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" && lists.Add(1) == 1 {
				close(asked)
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return next(ctx, method, req)
		}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "it"}, func(context.Context, *mcp.CallToolRequest, struct{ N int }) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	s.AddReceivingMiddleware(New(nil), inner)
	here, there := mcp.NewInMemoryTransports()
	_, err := s.Connect(t.Context(), here, nil)
	require.NoError(t, err)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), there, nil)
	require.NoError(t, err)
	defer client.Close()
	params := &mcp.CallToolParams{Name: "it", Arguments: map[string]any{"N": "x"}}
	first, giveUp := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	calls.Go(func() { _, _ = client.CallTool(first, params) })
	<-asked
	calls.Go(func() {
		res, err := client.CallTool(t.Context(), params)
		if err != nil || res.Content[0].(*mcp.TextContent).Text != "Validation Error: Argument 'N' expected an integer, but received 'x'." {
			t.Errorf("%v %v", res, err)
		}
	})
	giveUp()
	calls.Wait()
}

// TestWhoAskedFailed: a lookup that failed for one call is not shared, so that no
// call passes unchecked because of another one, and none does that was given up.
func TestWhoAskedFailed(t *testing.T) {
	var lists, ran atomic.Int32
	asked, shared := make(chan struct{}), make(chan struct{})
	inner := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" && lists.Add(1) == 1 {
				close(asked)
				<-ctx.Done()
				<-shared
				return nil, errors.New("the store of tools is closed") // not in the words of package context
			}
			return next(ctx, method, req)
		}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	s.AddTool(&mcp.Tool{Name: "it", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ran.Add(1)
		return &mcp.CallToolResult{}, nil
	})
	second := make(chan struct{})
	arrive := func(next mcp.MethodHandler) mcp.MethodHandler {
		var calls atomic.Int32
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" && calls.Add(1) == 2 {
				close(second)
			}
			return next(ctx, method, req)
		}
	}
	s.AddReceivingMiddleware(arrive, New(&Options{RawTools: true}), inner)
	here, there := mcp.NewInMemoryTransports()
	_, err := s.Connect(t.Context(), here, nil)
	require.NoError(t, err)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), there, nil)
	require.NoError(t, err)
	defer client.Close()
	params := &mcp.CallToolParams{Name: "it", Arguments: map[string]any{"n": "x"}}
	first, giveUp := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	calls.Go(func() { _, _ = client.CallTool(first, params) })
	<-asked
	calls.Go(func() {
		res, err := client.CallTool(t.Context(), params)
		if err != nil || res.Content[0].(*mcp.TextContent).Text != "Validation Error: Argument 'n' expected an integer, but received 'x'." {
			t.Errorf("%v %v", res, err)
		}
	})
	<-second
	giveUp()
	close(shared)
	calls.Wait()
	_, err = client.ListTools(t.Context(), nil) // behind what the call that was given up does
	require.NoError(t, err)
	require.Zero(t, ran.Load())
}
