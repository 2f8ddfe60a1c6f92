package task_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/task"
)

// listed returns the tools that a client sees.
func listed(t testing.TB, s *server) map[string]*mcp.Tool {
	t.Helper()
	all := map[string]*mcp.Tool{}
	for tool, err := range s.Client.Tools(t.Context(), nil) {
		require.NoError(t, err)
		require.NotContains(t, all, tool.Name, "it is listed twice")
		all[tool.Name] = tool
	}
	return all
}

// legal checks a structured answer by the schema that is listed for it.
func legal(t testing.TB, schema any, answer any) error {
	t.Helper()
	raw, err := json.Marshal(schema)
	require.NoError(t, err)
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(raw, &s), string(raw))
	resolved, err := s.Resolve(nil)
	require.NoError(t, err, string(raw))
	return resolved.Validate(answer)
}

// TestOutputSchemas: of each tool the handle and the answer are legal by the schema that is listed, and nothing else
// becomes legal. A schema that would not stay true is left out.
func TestOutputSchemas(t *testing.T) {
	const rows = `{"rows":7}`
	for name, c := range map[string]struct {
		schema, answer string
		kept           bool
	}{
		"strict":         {`{"type":"object","properties":{"rows":{"type":"integer"}},"required":["rows"],"additionalProperties":false}`, rows, true},
		"open":           {`{"type":"object","properties":{"rows":{"type":"integer"}},"required":["rows"]}`, rows, true},
		"nothing needed": {`{"type":"object","properties":{"rows":{"type":"integer"}},"additionalProperties":false}`, rows, true},
		"any object":     {`{"type":"object"}`, rows, true},
		"no properties":  {`{"type":"object","additionalProperties":{"type":"integer"},"required":["rows"]}`, rows, true},
		"described":      {`{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"t","description":"d","type":"object","required":["rows"],"examples":[{"rows":1}]}`, rows, true},
		"definitions":    {`{"type":"object","$defs":{"n":{"type":"integer"}},"properties":{"rows":{"$ref":"#/$defs/n"}},"required":["rows"],"additionalProperties":false}`, rows, true},
		"recursive":      {`{"type":"object","properties":{"rows":{"type":"integer"},"next":{"$ref":"#"}},"required":["rows"],"additionalProperties":false}`, `{"rows":7,"next":{"rows":8}}`, true},
		"a reference":    {`{"type":"object","$ref":"#/$defs/r","$defs":{"r":{"type":"object","required":["rows"]}}}`, rows, false},
		"one of":         {`{"type":"object","oneOf":[{"required":["rows"]},{"required":["columns"]}]}`, rows, false},
		"any of":         {`{"type":"object","anyOf":[{"required":["rows"]}]}`, rows, false},
		"all of":         {`{"type":"object","allOf":[{"required":["rows"]}]}`, rows, false},
		"not":            {`{"type":"object","not":{"required":["still_running"]}}`, rows, false},
		"if":             {`{"type":"object","if":{"required":["rows"]},"else":false}`, rows, false},
		"dependent":      {`{"type":"object","dependentRequired":{"rows":["columns"]}}`, rows, false},
		"counted":        {`{"type":"object","maxProperties":1,"minProperties":1}`, rows, false},
		"names":          {`{"type":"object","propertyNames":{"maxLength":4}}`, rows, false},
		"patterns":       {`{"type":"object","patternProperties":{"^still":{"type":"string"}}}`, rows, false},
		"unevaluated":    {`{"type":"object","properties":{"rows":{"type":"integer"}},"unevaluatedProperties":false}`, rows, false},
		"constant":       {`{"type":"object","const":{"rows":7}}`, rows, false},
		"taken":          {`{"type":"object","properties":{"still_running":{"type":"boolean"}}}`, rows, false},
	} {
		t.Run(name, func(t *testing.T) {
			inStandard(t, func(t *testing.T, s *server) {
				s.at.Shape = harness.ServerRaw
				s.tool = func(tool *mcp.Tool) { tool.OutputSchema = json.RawMessage(c.schema) }
				s.start(t, map[string]harness.Handler{"report": harness.Return(func() *mcp.CallToolResult {
					return &mcp.CallToolResult{StructuredContent: json.RawMessage(c.answer)}
				})})
				schema := listed(t, s)["report"].OutputSchema
				require.Equal(t, c.kept, schema != nil)
				began := s.CallTool(t.Context(), "report", nil)
				id := idOf(t, began)
				require.Equal(t, map[string]any{"still_running": map[string]any{"id": id, "text": began.Text()}}, began.Tool().StructuredContent)
				still := s.ask(t, "task_result", id)
				require.Equal(t, "running", statusOf(still))
				require.Nil(t, still.Tool().StructuredContent, "task_result has no output schema")
				got := s.result(t, id)
				want, err := json.Marshal(got.Tool().StructuredContent)
				require.NoError(t, err)
				require.JSONEq(t, string(want), c.answer)
				if schema == nil {
					return
				}
				require.NoError(t, legal(t, schema, began.Tool().StructuredContent))
				require.NoError(t, legal(t, schema, got.Tool().StructuredContent))
				require.Error(t, legal(t, schema, map[string]any{"still_running": 1}))
				if legal(t, json.RawMessage(c.schema), map[string]any{}) != nil {
					require.Error(t, legal(t, schema, map[string]any{}))
				}
			})
		})
	}
}

// TestOutputOfTypedTools: a typed tool's schema, which the SDK makes, is one of those that stay.
func TestOutputOfTypedTools(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		type out struct {
			Rows int      `json:"rows"`
			Tags []string `json:"tags,omitempty"`
		}
		s.more = func(server *mcp.Server) {
			mcp.AddTool(server, &mcp.Tool{Name: "report"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, out, error) {
				time.Sleep(30 * time.Second)
				return nil, out{7, []string{"a"}}, nil
			})
		}
		s.start(t, nil)
		schema := listed(t, s)["report"].OutputSchema
		began := s.CallTool(t.Context(), "report", nil)
		require.NoError(t, legal(t, schema, began.Tool().StructuredContent))
		got := s.result(t, idOf(t, began))
		require.NoError(t, legal(t, schema, got.Tool().StructuredContent))
		require.JSONEq(t, `{"rows":7,"tags":["a"]}`, got.Text())
	})
}

// TestListOfTools: the two tools stand on the last page, unless the server has them itself.
func TestListOfTools(t *testing.T) {
	names := func(t *testing.T, s *server) (names []string) {
		for name := range listed(t, s) {
			names = append(names, name)
		}
		return names
	}
	for name, c := range map[string]struct{ has, want []string }{
		"its tools":       {[]string{"a", "z"}, []string{"a", "z", "task_result", "task_cancel"}},
		"no tools":        {nil, nil},
		"has task_result": {[]string{"a", "task_result", "z"}, []string{"a", "task_result", "z"}},
		"has task_cancel": {[]string{"a", "task_cancel", "z"}, []string{"a", "task_cancel", "z", "task_result"}},
	} {
		for _, page := range []int{1, 100} {
			t.Run(name, func(t *testing.T) {
				each(t, func(t *testing.T, s *server) {
					s.server = &mcp.ServerOptions{PageSize: page, HasTools: true}
					ends := map[string]harness.Handler{}
					for _, tool := range c.has {
						ends[tool] = harness.Succeed()
					}
					s.start(t, ends)
					require.ElementsMatch(t, c.want, names(t, s))
				})
			})
		}
	}
}

// TestTheServersOwnTaskResult: calls of a server whose task_result is another tool get no handles, and its tools are
// its own.
func TestTheServersOwnTaskResult(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.start(t, map[string]harness.Handler{"report": harness.Succeed(), "task_result": harness.Return(func() *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the server's own"}}}
		})})
		require.Equal(t, "fine", s.CallTool(t.Context(), "report", nil).Text())
		require.Equal(t, "fine", s.CallTool(t.Context(), "report", nil).Text())
		require.Equal(t, "the server's own", s.CallTool(t.Context(), "task_result", map[string]any{"word": "1s"}).Text())
		warnings := 0
		for _, r := range s.log.Records() {
			if r["msg"] == "mcpchain: task: the server has a tool of its own with the name task_result, so its calls get no handles" {
				warnings++
			}
		}
		require.Equal(t, 1, warnings, s.log)
	})
}

// TestTheServersOwnTaskCancel: IDs of handles are for this package, and all others for the server's tool.
func TestTheServersOwnTaskCancel(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.start(t, map[string]harness.Handler{"report": harness.Succeed(), "task_cancel": harness.Succeed()})
		require.Equal(t, "fine", s.CallTool(t.Context(), "task_cancel", map[string]any{"word": "1s"}).Text())
		id := s.handle(t, "report", "10m")
		require.Contains(t, s.ask(t, "task_cancel", id).Text(), "It was told to stop.")
	})
}

// TestTwiceInAChain: one of two middlewares gives the handles, and each call is run once.
func TestTwiceInAChain(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.report(t)
		s.Server.AddReceivingMiddleware(task.New(&task.Options{After: 30 * time.Second}))
		id := s.handle(t, "report", "1m")
		require.Equal(t, "fine", s.result(t, id).Text())
		require.EqualValues(t, 1, s.runs.Load())
		require.Len(t, listed(t, s), 3)

		// The outer one leaves these calls to the inner one.
		s.Server.AddReceivingMiddleware(task.New(&task.Options{Tools: func(string) bool { return false }}))
		require.Equal(t, "fine", s.result(t, s.handle(t, "report", "2m")).Text())
	})
}

// TestAServerThatDoesNotList: a server that lists nothing while a call runs gives handles, whose output may be anything.
func TestAServerThatDoesNotList(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.inner = []mcp.Middleware{func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/list" {
					select {
					case <-ctx.Done():
					case <-t.Context().Done():
					}
					return nil, ctx.Err()
				}
				return next(ctx, method, req)
			}
		}}
		s.report(t)
		began := time.Now()
		got := s.CallTool(t.Context(), "report", nil)
		id := idOf(t, got)
		require.Less(t, time.Since(began), 30*time.Second)
		require.NotNil(t, got.Tool().StructuredContent)
		require.Equal(t, "fine", s.result(t, id).Text())
	})
}

// TestOneHandler: around a handler alone there is no task_result, so calls are answered when they end.
func TestOneHandler(t *testing.T) {
	for _, shape := range []harness.Shape{harness.WrapTool, harness.WrapAddTool} {
		each(t, func(t *testing.T, s *server) {
			s.at.Shape = shape
			s.report(t)
			require.Equal(t, "fine", s.CallTool(t.Context(), "report", nil).Text())
		})
	}
}
