package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

var eras = []harness.Era{harness.Current, harness.Older}

type userIn struct {
	UserID string `json:"user_id" jsonschema:"who it is" `
	Full   bool   `json:"full,omitempty"`
}

type userOut struct {
	Name string `json:"name"`
}

var errSecret = errors.New("pq: " + harness.Canary)

// getUser has each way to end for an ID of that name.
func getUser(_ context.Context, _ *mcp.CallToolRequest, in userIn) (*mcp.CallToolResult, userOut, error) {
	switch in.UserID {
	case "missing":
		return nil, userOut{}, fault.NotFound("user", in.UserID).Because(errSecret)
	case "broken":
		return nil, userOut{}, errSecret
	case "panics":
		panic(harness.Canary)
	case "busy":
		return nil, userOut{}, fault.RateLimited("the directory", 30*time.Second)
	}
	name := strings.ToUpper(in.UserID)
	if in.Full {
		name += " the Full"
	}
	return nil, userOut{name}, nil
}

var userList = batch.List{Tool: "get_user", Item: "user_id", As: "get_users"}

// serve starts a server with get_user and the list form of it.
func serve(t testing.TB, era harness.Era, list batch.List, mw ...mcp.Middleware) *harness.Session {
	mw = append(mw, batch.New(&batch.Options{Lists: []batch.List{list}}), mcprecover.New(nil))
	return harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
		Middleware: mw,
		More: func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{
				Name: "get_user", Title: "A user", Description: "Looks somebody up.",
				Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, Title: "User"},
			}, getUser)
			mcp.AddTool(s, &mcp.Tool{Name: "another"}, getUser)
		},
	})
}

func ids(names ...any) map[string]any {
	if names == nil {
		names = []any{}
	}
	return map[string]any{"user_ids": names}
}

type output = batch.Output[json.RawMessage]

func outputOf(t testing.TB, a harness.Answer) output {
	t.Helper()
	require.NoError(t, a.Err)
	raw, err := json.Marshal(a.Tool().StructuredContent)
	require.NoError(t, err)
	var out output
	require.NoError(t, json.Unmarshal(raw, &out), string(raw))
	return out
}

func toolNames(tools []*mcp.Tool) string {
	names := make([]string, len(tools))
	for i, tool := range tools {
		names[i] = tool.Name
	}
	return strings.Join(names, " ")
}

func TestListFormIsListed(t *testing.T) {
	for _, era := range eras {
		s := serve(t, era, userList)
		list, err := s.Client.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, "another get_user get_users", toolNames(list.Tools))
		one, many := list.Tools[1], list.Tools[2]
		require.Equal(t, "A user", one.Title)
		require.Equal(t, "A user (list)", many.Title)
		require.Equal(t, "User (list)", many.Annotations.Title)
		require.True(t, many.Annotations.ReadOnlyHint)
		require.Equal(t, "Does what get_user does for each of several 'user_ids', at most 100. The answer says which succeeded, "+
			"which failed and why, and what to send again.\nget_user: Looks somebody up.", many.Description)
		raw, err := json.Marshal(many.InputSchema)
		require.NoError(t, err)
		require.JSONEq(t, `{"type":"object","additionalProperties":false,"required":["user_ids"],"properties":{
			"full":{"type":"boolean"},
			"user_ids":{"type":"array","minItems":1,"maxItems":100,"description":"The values of 'user_id' for get_user.",
				"items":{"type":"string","description":"who it is"}}}}`, string(raw))
		raw, err = json.Marshal(one.InputSchema)
		require.NoError(t, err)
		require.Contains(t, string(raw), `"user_id"`, "the tool itself was changed")
		require.NotNil(t, many.OutputSchema)
	}
}

// TestListFormIsCalled by real clients, over each transport, in both eras.
func TestListFormIsCalled(t *testing.T) {
	for _, era := range eras {
		t.Run(string(era), func(t *testing.T) {
			log := harness.NewLog(slog.LevelInfo)
			s := serve(t, era, userList, mcprecover.New(nil), correlate.New(&correlate.Options{Logger: log.Logger()}), mask.New(nil))
			args := ids("ann", "missing", "broken", "bob", "panics", "busy")
			args["full"] = true
			answer := s.CallTool(t.Context(), "get_users", args)
			out := outputOf(t, answer)
			require.False(t, answer.Tool().IsError)
			require.True(t, out.Success)
			require.Equal(t, 6, out.Total)
			require.Equal(t, 2, out.Succeeded)
			require.Equal(t, 4, out.Failed)
			require.Len(t, out.Results, 2)
			require.JSONEq(t, `{"name":"ANN the Full"}`, string(out.Results[0].Value))
			require.JSONEq(t, `{"name":"BOB the Full"}`, string(out.Results[1].Value))
			require.Equal(t, 3, out.Results[1].Index)
			kinds := make([]string, 0, 4)
			for _, e := range out.Errors {
				kinds = append(kinds, fmt.Sprint(indexOf(e), " ", e["user_id"], " ", e.Fault().Kind(), " ", e["recoverable"]))
			}
			require.Equal(t, []string{
				"1 missing not_found false", "2 broken internal_error false", "4 panics internal_error false", "5 busy rate_limited true",
			}, kinds)
			require.Equal(t, []any{"busy"}, out.RetryItems)
			require.NotContains(t, s.Sent(), harness.Canary)

			schemaHolds(t, s, answer)

			// Each failure has one record, under a reference below the call's.
			records := log.Records()
			require.Len(t, records, 4, log.String())
			references := make([]string, 0, 4)
			for _, r := range records {
				require.Equal(t, "get_user", r["tool"])
				references = append(references, fmt.Sprint(r["reference"]))
			}
			slices.Sort(references)
			for i, index := range []string{"1", "2", "4", "5"} {
				require.Regexp(t, `^[0-9a-f-]{36}\.`+index+`$`, references[i])
				require.Equal(t, references[i], out.Errors[i].Fault().Reference())
			}
		})
	}
}

// schemaHolds checks an answer against the schema that was listed, as clients do.
func schemaHolds(t *testing.T, s *harness.Session, answer harness.Answer) {
	list, err := s.Client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	i := slices.IndexFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == "get_users" })
	raw, err := json.Marshal(list.Tools[i].OutputSchema)
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(raw, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	require.NoError(t, resolved.Validate(answer.Tool().StructuredContent))
}

func TestNothingSucceeded(t *testing.T) {
	for _, era := range eras {
		s := serve(t, era, userList, mcprecover.New(nil), mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)}))
		answer := s.CallTool(t.Context(), "get_users", ids("missing", "missing", "broken"))
		require.NoError(t, answer.Err)
		require.True(t, answer.Tool().IsError)
		require.Contains(t, answer.Text(), "3 items")
		require.NotContains(t, s.Sent(), harness.Canary)
	}
}

// TestWrongLists wants each of them answered with what is right.
func TestWrongLists(t *testing.T) {
	list := userList
	list.MaxItems = 3
	for _, era := range eras {
		s := serve(t, era, list, mask.New(nil))
		for text, args := range map[string]any{
			"'user_ids' is required: expected a list of 1 to 3 values.":                            map[string]any{},
			"but received 'ann'.\nSuggestion: Send a list, even for one item.":                     map[string]any{"user_ids": "ann"},
			"'user_ids' expected a list of 1 to 3 values, but received an empty list.":             ids(),
			"but received a list with 4 items.\nSuggestion: Send them in calls of at most 3 each.": ids(1, 2, 3, 4),
			"Argument 'user_id' does not belong here. Put its value into the list 'user_ids'.":     map[string]any{"user_id": "ann", "user_ids": []string{"bob"}},
			"Argument 'user_ids' is required: expected a list of 1 to 3 values.":                   nil,
			"'user_ids' expected a list of 1 to 3 values, but received null.":                      map[string]any{"user_ids": nil},
		} {
			answer := s.CallTool(t.Context(), "get_users", args)
			require.Contains(t, answer.Text(), text)
			require.Equal(t, fault.KindValidation, answer.Fault().Kind(), text)
		}
	}
}

// TestWrongItems are failures of their own: what is wrong with an item is found where
// it is for a call.
func TestWrongItems(t *testing.T) {
	s := serve(t, harness.Current, userList, mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)}))
	out := outputOf(t, s.CallTool(t.Context(), "get_users", ids("ann", 7, nil, map[string]any{"a": 1})))
	require.Equal(t, 1, out.Succeeded)
	require.Len(t, out.Errors, 3)
	for _, e := range out.Errors {
		require.Equal(t, fault.KindValidation, e.Fault().Kind())
	}
	require.Equal(t, "7", out.Errors[0]["user_id"])
	require.NotContains(t, out.Errors[2], "user_id")
}

// TestDuplicates has items that stand in a list more than once.
func TestDuplicates(t *testing.T) {
	var calls atomic.Int64
	count := middleware.ForTools(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			calls.Add(1)
			return next(ctx, method, req)
		}
	}, "get_user")
	s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
		Middleware: []mcp.Middleware{mask.New(nil), batch.New(&batch.Options{Lists: []batch.List{userList}}), count},
		More:       func(s *mcp.Server) { mcp.AddTool(s, &mcp.Tool{Name: "get_user"}, getUser) },
	})
	out := outputOf(t, s.CallTool(t.Context(), "get_users", ids("ann", "busy", "ann", "busy", "bob")))
	require.EqualValues(t, 5, calls.Load())
	require.Equal(t, 3, out.Succeeded)
	require.Len(t, out.Errors, 2)
	require.Equal(t, 3, indexOf(out.Errors[1]))
	require.Equal(t, []any{"busy", "busy"}, out.RetryItems)
	require.Equal(t, 2, out.ErrorSummary.ByType[fault.KindRateLimited])
}

// TestItemIsACallOfItsOwn looks at what stands inside the middleware.
func TestItemIsACallOfItsOwn(t *testing.T) {
	for _, era := range eras {
		t.Run(string(era), func(t *testing.T) {
			var mu sync.Mutex
			var seen []string
			outer := &call.Call{}
			look := func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if r, ok := req.(*mcp.CallToolRequest); ok {
						c := call.FromContext(ctx)
						switch r.Params.Name {
						case "get_users":
							outer = c
							r.Params.SetMeta(withKey(r.Params.GetMeta(), "io.github.mcpchain/idempotency-key", "once"))
						case "get_user":
							require.NotSame(t, outer, c)
							require.Same(t, req, c.Request())
							require.NotNil(t, r.Session)
							require.Nil(t, r.Params.GetProgressToken())
							require.NotContains(t, r.Params.GetMeta(), "io.github.mcpchain/idempotency-key")
							require.Equal(t, string(era), r.ProtocolVersion())
							require.Equal(t, harness.ClientName, r.ClientInfo().Name)
							mu.Lock()
							seen = append(seen, c.ID()+" "+string(r.Params.Arguments))
							mu.Unlock()
						}
					}
					return next(ctx, method, req)
				}
			}
			s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
				Middleware: []mcp.Middleware{
					correlate.New(&correlate.Options{NewID: func(context.Context, mcp.Request) string { return "id" }}), look,
					batch.New(&batch.Options{Lists: []batch.List{userList}}), look,
				},
				More: func(s *mcp.Server) { mcp.AddTool(s, &mcp.Tool{Name: "get_user"}, getUser) },
			})
			params := &mcp.CallToolParams{Name: "get_users", Arguments: map[string]any{"user_ids": []string{"a", "b"}, "full": false}}
			params.SetProgressToken("token")
			_, err := s.Client.CallTool(t.Context(), params)
			require.NoError(t, err)
			slices.Sort(seen)
			require.Equal(t, []string{`id.0 {"full":false,"user_id":"a"}`, `id.1 {"full":false,"user_id":"b"}`}, seen)
		})
	}
}

func withKey(meta mcp.Meta, key string, value any) map[string]any {
	out := map[string]any{key: value}
	for k, v := range meta {
		out[k] = v
	}
	return out
}

// hide is a filter as users write them: a tool is not listed for its callers.
func hide(name string) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == middleware.MethodCallTool && call.Target(req) == name {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
			}
			res, err := next(ctx, method, req)
			if list, ok := res.(*mcp.ListToolsResult); ok {
				cp := *list
				cp.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(tool *mcp.Tool) bool { return tool.Name == name })
				return &cp, err
			}
			return res, err
		}
	}
}

func TestFilters(t *testing.T) {
	for _, era := range eras {
		start := func(mw ...mcp.Middleware) *harness.Session {
			return harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
				Middleware: mw,
				More:       func(s *mcp.Server) { mcp.AddTool(s, &mcp.Tool{Name: "get_user"}, getUser) },
			})
		}
		names := func(s *harness.Session) string {
			list, err := s.Client.ListTools(t.Context(), nil)
			require.NoError(t, err)
			return toolNames(list.Tools)
		}
		lists := batch.New(&batch.Options{Lists: []batch.List{userList}})

		inside := start(mask.New(nil), lists, hide("get_user"))
		require.Empty(t, names(inside))
		answer := inside.CallTool(t.Context(), "get_users", ids("ann"))
		require.ErrorContains(t, answer.Err, `unknown tool "get_users"`)
		require.Equal(t, inside.CallTool(t.Context(), "nothing", nil).Protocol().Code, answer.Protocol().Code)

		outside := start(mask.New(nil), hide("get_users"), lists)
		require.Equal(t, "get_user", names(outside))
		require.ErrorContains(t, outside.CallTool(t.Context(), "get_users", ids("ann")).Err, `unknown tool "get_users"`)

		// A filter of calls alone fails each item.
		deny := middleware.ForTools(func(mcp.MethodHandler) mcp.MethodHandler {
			return func(context.Context, string, mcp.Request) (mcp.Result, error) {
				return nil, fault.Denied("read", "users")
			}
		}, "get_user")
		denied := start(mask.New(nil), lists, deny).CallTool(t.Context(), "get_users", ids("ann", "bob"))
		require.Equal(t, fault.KindPermissionDenied, denied.Fault().Kind())
	}
}

// TestTaken keeps the server's own tool.
func TestTaken(t *testing.T) {
	for _, pageSize := range []int{0, 1} {
		log := harness.NewLog(slog.LevelInfo)
		s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
			Server:     &mcp.ServerOptions{PageSize: pageSize},
			Middleware: []mcp.Middleware{mask.New(&mask.Options{Logger: log.Logger()}), batch.New(&batch.Options{Lists: []batch.List{userList}})},
			Handlers:   map[string]harness.Handler{"get_users": harness.Succeed()},
			More:       func(s *mcp.Server) { mcp.AddTool(s, &mcp.Tool{Name: "get_user"}, getUser) },
		})
		var names []string
		for range 2 {
			names = nil
			for tool, err := range s.Client.Tools(t.Context(), nil) {
				require.NoError(t, err)
				names = append(names, tool.Name)
			}
		}
		require.Equal(t, []string{"get_user", "get_users"}, names)
		require.Equal(t, "fine", s.CallTool(t.Context(), "get_users", ids("ann")).Text())
		require.Contains(t, log.Only(t)["error"], "the server has a tool of this name itself")
	}
}

// TestPages puts the sibling on the page of its tool.
func TestPages(t *testing.T) {
	s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Older}, harness.Setup{
		Server:     &mcp.ServerOptions{PageSize: 2},
		Middleware: []mcp.Middleware{batch.New(&batch.Options{Lists: []batch.List{userList}})},
		More: func(s *mcp.Server) {
			for _, name := range []string{"a", "b", "get_user", "x", "z"} {
				mcp.AddTool(s, &mcp.Tool{Name: name}, getUser)
			}
		},
	})
	var pages []string
	for cursor := ""; ; {
		page, err := s.Client.ListTools(t.Context(), &mcp.ListToolsParams{Cursor: cursor})
		require.NoError(t, err)
		pages = append(pages, toolNames(page.Tools))
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	require.Equal(t, []string{"a b", "get_user get_users x", "z"}, pages)
	require.Equal(t, 1, outputOf(t, s.CallTool(t.Context(), "get_users", ids("ann"))).Succeeded)
}

// TestNotOffered is a List that does not fit its tool.
func TestNotOffered(t *testing.T) {
	for text, list := range map[string]batch.List{
		"get_user has no argument 'id' in its input schema; correct List.Item":       {Tool: "get_user", Item: "id", As: "get_users"},
		"get_user has an argument 'full' already; choose another List.Items":         {Tool: "get_user", Item: "user_id", As: "get_users", Items: "full"},
		"no_schema has no argument 'user_id' in its input schema; correct List.Item": {Tool: "no_schema", Item: "user_id", As: "get_users"},
	} {
		log := harness.NewLog(slog.LevelInfo)
		s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
			Middleware: []mcp.Middleware{mask.New(&mask.Options{Logger: log.Logger()}), batch.New(&batch.Options{Lists: []batch.List{list}})},
			Handlers:   map[string]harness.Handler{"no_schema": harness.Succeed()},
			More:       func(s *mcp.Server) { mcp.AddTool(s, &mcp.Tool{Name: "get_user"}, getUser) },
		})
		tools, err := s.Client.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, "get_user no_schema", toolNames(tools.Tools))
		require.ErrorContains(t, s.CallTool(t.Context(), "get_users", ids("ann")).Err, `unknown tool "get_users"`)
		require.Contains(t, log.Only(t)["error"], text)
	}
}

// TestSchemas derives the sibling of schemas in every form that a server may use.
func TestSchemas(t *testing.T) {
	const want = `{"type":"object","$defs":{"id":{"type":"integer"}},"required":["n","ids"],"properties":{
		"n":{"type":"number"},"ref":{"$ref":"#/properties/ids/items"},"deep":{"$ref":"#/properties/ids/items/x"},
		"ids":{"type":"array","items":{"type":"integer","$ref":"#/$defs/id"},"minItems":1,"maxItems":5,"description":"The values of 'id' for it."}},
		"oneOf":[{"required":["n"]}]}`
	const text = `{"type":"object","$defs":{"id":{"type":"integer"}},"required":["n","id"],"properties":{
		"n":{"type":"number"},"ref":{"$ref":"#/properties/id"},"deep":{"$ref":"#/properties/id/x"},
		"id":{"type":"integer","$ref":"#/$defs/id","x-mcp-header":"Id","default":3}},
		"anyOf":[{"required":["id"]}],"oneOf":[{"required":["n"]}],"if":{"required":["n"]},"then":{"required":["id"]},
		"dependentRequired":{"id":["n"]},"examples":[{"id":1,"n":2}]}`
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &object))
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal([]byte(text), &schema))
	for name, form := range map[string]any{"raw": json.RawMessage(text), "map": object, "schema": &schema} {
		t.Run(name, func(t *testing.T) {
			s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Older}, harness.Setup{
				Middleware: []mcp.Middleware{batch.New(&batch.Options{Lists: []batch.List{
					{Tool: "it", Item: "id", As: "them", MaxItems: 5, Description: "Mine."},
				}})},
				More: func(s *mcp.Server) {
					s.AddTool(&mcp.Tool{Name: "it", InputSchema: form}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						return &mcp.CallToolResult{}, nil
					})
				},
			})
			list, err := s.Client.ListTools(t.Context(), nil)
			require.NoError(t, err)
			raw, err := json.Marshal(list.Tools[1].InputSchema)
			require.NoError(t, err)
			require.JSONEq(t, want, string(raw))
			require.Equal(t, "Mine.", list.Tools[1].Description)
		})
	}
}

// TestValues are what the answers of raw tools are worth.
func TestValues(t *testing.T) {
	image := &mcp.ImageContent{MIMEType: "image/png", Data: []byte("x")}
	text := &mcp.TextContent{Text: "hello"}
	answers := map[string]func() (*mcp.CallToolResult, error){
		"structured": func() (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: map[string]any{"a": 1}, Content: []mcp.Content{text}}, nil
		},
		"text": func() (*mcp.CallToolResult, error) { return &mcp.CallToolResult{Content: []mcp.Content{text}}, nil },
		"image": func() (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{text, image}}, nil
		},
		"empty": func() (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil },
		"nil":   func() (*mcp.CallToolResult, error) { return nil, nil },
		"nan":   func() (*mcp.CallToolResult, error) { return &mcp.CallToolResult{StructuredContent: math.NaN()}, nil },
		"told": func() (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text}}, nil
		},
		"protocol": func() (*mcp.CallToolResult, error) { return nil, &jsonrpc.Error{Code: 4711, Message: "as it is"} },
		"input": func() (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{Message: "Who?"}}}, nil
		},
	}
	s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
		Middleware: []mcp.Middleware{
			mcprecover.New(nil), mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)}),
			batch.New(&batch.Options{Lists: []batch.List{{Tool: "it", Item: "id", As: "them"}}}),
		},
		More: func(s *mcp.Server) {
			schema := json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}}}`)
			s.AddTool(&mcp.Tool{Name: "it", InputSchema: schema}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var in struct{ ID string }
				if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
					return nil, err
				}
				return answers[in.ID]()
			})
		},
	})
	of := func(id string) output {
		return outputOf(t, s.CallTool(t.Context(), "them", map[string]any{"ids": []string{"text", id}}))
	}
	for id, want := range map[string]string{
		"structured": `{"a":1}`, "text": `"hello"`, "empty": `[]`,
		"image": `[{"type":"text","text":"hello"},{"type":"image","mimeType":"image/png","data":"eA=="}]`,
	} {
		out := of(id)
		require.Equal(t, 2, out.Succeeded, id)
		require.JSONEq(t, want, string(out.Results[1].Value), id)
	}
	for id, want := range map[string]string{
		"nil": "Internal error: ", "nan": "Internal error: ", "told": "Tool error: hello.", "protocol": "as it is",
		"input": "Precondition failed: this item needs more input from the user.",
	} {
		out := of(id)
		require.Equal(t, 1, out.Failed, id)
		require.Contains(t, out.Errors[0].Fault().Text(), want, id)
		if id == "input" {
			data := out.Errors[0].Fault().Data()
			require.Contains(t, fmt.Sprint(data.Details["input_requests"]), "Who?")
			require.Equal(t, "it", data.RecoverySteps[0].Tool)
			require.Equal(t, map[string]any{"id": "input"}, data.RecoverySteps[0].Parameters)
		}
	}
}
