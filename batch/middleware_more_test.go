package batch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
)

func TestNewMistakes(t *testing.T) {
	ok := userList
	for message, lists := range map[string][]batch.List{
		"batch.New: Options.Lists[0].Tool is empty; name the tool that takes one item":                                         {{}},
		"batch.New: Options.Lists[0].Item is empty; name the argument of a that is the item":                                   {{Tool: "a"}},
		"batch.New: Options.Lists[0].As is empty; give the list form of a a name":                                              {{Tool: "a", Item: "b"}},
		"batch.New: Options.Lists[0].As is the name of the tool itself; give the list form another one":                        {{Tool: "a", Item: "b", As: "a"}},
		"batch.New: Options.Lists[1].As is get_users, as that of another list; give each one of its own":                       {ok, ok},
		"batch.New: Options.Lists[1].Tool is get_users, which is a list form itself; name a tool of the server":                {ok, {Tool: "get_users", Item: "b", As: "c"}},
		"batch.New: Options.Lists[0].Items is the name of the item itself; give the list another one":                          {{Tool: "a", Item: "b", As: "c", Items: "b"}},
		"batch.New: Options.Lists[0].MaxItems is negative; give how many items a call may have, or 0 for the default":          {{Tool: "a", Item: "b", As: "c", MaxItems: -1}},
		"batch.New: Options.Lists[0].Run.Concurrency is negative; give how many items may run at a time, or 0 for the default": {{Tool: "a", Item: "b", As: "c", Run: &batch.RunOptions[json.RawMessage]{Concurrency: -1}}},
	} {
		require.PanicsWithValue(t, message, func() { batch.New(&batch.Options{Lists: lists}) })
	}
	// A name that the answer uses itself is no mistake of the tool's.
	require.NotPanics(t, func() { batch.New(&batch.Options{Lists: []batch.List{{Tool: "a", Item: "index", As: "b"}}}) })
}

// TestRunOptionsAreCarriedOver fails when RunOptions gets a field that New forgets.
func TestRunOptionsAreCarriedOver(t *testing.T) {
	var o batch.RunOptions[json.RawMessage]
	fill(t, reflect.ValueOf(&o).Elem())
	carried(t, reflect.ValueOf(o), reflect.ValueOf(batch.ElementOptions(batch.List{Run: &o})))
}

// fill gives each field a value.
func fill(t *testing.T, fields reflect.Value) {
	for i := range fields.NumField() {
		switch f := fields.Field(i); f.Kind() {
		case reflect.Int, reflect.Int64:
			f.SetInt(2)
		case reflect.Uint8:
			f.SetUint(2)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.String:
			f.SetString("name")
		case reflect.Func:
			f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value {
				out := make([]reflect.Value, f.Type().NumOut())
				for i := range out {
					out[i] = reflect.Zero(f.Type().Out(i))
				}
				return out
			}))
		case reflect.Struct:
			fill(t, f)
		default:
			t.Fatalf("a field of a new sort: %s", fields.Type().Field(i).Name)
		}
	}
}

func carried(t *testing.T, fields, got reflect.Value) {
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		switch f := fields.Field(i); f.Kind() {
		case reflect.Func:
			require.False(t, got.FieldByName(name).IsNil(), name)
		case reflect.Struct:
			carried(t, f, got.FieldByName(name))
		default:
			require.Equal(t, f.Interface(), got.FieldByName(name).Interface(), name)
		}
	}
}

// TestLimitsOfItems are those of the Run options, and what does not end is left behind.
func TestLimitsOfItems(t *testing.T) { synctest.Test(t, testLimitsOfItems) }

func testLimitsOfItems(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	list := userList
	list.Run = &batch.RunOptions[json.RawMessage]{Limit: 20 * time.Millisecond, Concurrency: 2}
	s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
		Middleware: []mcp.Middleware{mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)}), batch.New(&batch.Options{Lists: []batch.List{list}})},
		More: func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "get_user"}, func(ctx context.Context, _ *mcp.CallToolRequest, in userIn) (*mcp.CallToolResult, userOut, error) {
				switch in.UserID {
				case "slow":
					<-ctx.Done()
					return nil, userOut{}, ctx.Err()
				case "stuck":
					<-release
				}
				return nil, userOut{in.UserID}, nil
			})
		},
	})
	out := outputOf(t, s.CallTool(t.Context(), "get_users", ids("slow", "ann", "stuck", "bob")))
	require.Equal(t, 2, out.Succeeded)
	require.Len(t, out.Errors, 2)
	for _, e := range out.Errors {
		require.Equal(t, fault.KindTimeout, e.Fault().Kind())
	}
}

// TestClientGivesUp in the middle: what runs is told, and the rest is not begun.
func TestClientGivesUp(t *testing.T) {
	harness.NoLeaks(t)
	for _, era := range eras {
		ctx, cancel := context.WithCancel(t.Context())
		var begun atomic.Int64
		var ended atomic.Bool
		list := userList
		list.Run = &batch.RunOptions[json.RawMessage]{Concurrency: 2}
		watch := func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				defer func() {
					if call.Target(req) == "get_users" {
						ended.Store(true)
					}
				}()
				return next(ctx, method, req)
			}
		}
		s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
			Middleware: []mcp.Middleware{watch, batch.New(&batch.Options{Lists: []batch.List{list}})},
			More: func(s *mcp.Server) {
				mcp.AddTool(s, &mcp.Tool{Name: "get_user"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ userIn) (*mcp.CallToolResult, userOut, error) {
					if begun.Add(1) == 2 {
						cancel()
					}
					<-ctx.Done()
					return nil, userOut{}, ctx.Err()
				})
			},
		})
		answer := s.CallTool(ctx, "get_users", ids("a", "b", "c", "d", "e"))
		require.ErrorIs(t, answer.Err, context.Canceled)
		harness.Eventually(t, ended.Load)
		require.EqualValues(t, 2, begun.Load())
	}
}

// TestInput of items: an older client is asked while the item runs, by the SDK; for a
// current one the item says what it asks for.
func TestInput(t *testing.T) {
	for _, era := range eras {
		s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
			Client: &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"ok": true}}, nil
			}},
			Middleware: []mcp.Middleware{batch.New(&batch.Options{Lists: []batch.List{userList}})},
			More: func(s *mcp.Server) {
				mcp.AddTool(s, &mcp.Tool{Name: "get_user"}, func(_ context.Context, req *mcp.CallToolRequest, in userIn) (*mcp.CallToolResult, any, error) {
					if in.UserID == "shy" && len(req.Params.InputResponses) == 0 {
						return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"ok": &mcp.ElicitParams{
							Message: "May I?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`),
						}}}, nil, nil
					}
					return nil, userOut{in.UserID}, nil
				})
			},
		})
		out := outputOf(t, s.CallTool(t.Context(), "get_users", ids("ann", "shy")))
		if era == harness.Older {
			require.Equal(t, 2, out.Succeeded)
			continue
		}
		require.Equal(t, 1, out.Succeeded)
		require.Contains(t, fmt.Sprint(out.Errors[0].Fault().Data().Details), "May I?")
	}
}

// TestNotificationAtTheEnd of a batch that was stopped.
func TestNotificationAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []string
		_ = batch.RunTelling(t.Context(), make([]int, 100), func(context.Context, int) (int, error) {
			time.Sleep(10 * time.Millisecond)
			return 0, fault.Unavailable("it")
		}, &batch.RunOptions[int]{Concurrency: 1, MaxFailures: 5}, func(_, _ int, message string) error {
			sent = append(sent, message)
			return nil
		})
		require.Equal(t, []string{"5 of 100 items, 5 failed"}, sent)
	})
}

// TestNoTool: a List of a tool that nobody lists is recorded once, by whoever comes first.
func TestNoTool(t *testing.T) {
	for name, first := range map[string]func(t *testing.T, s *harness.Session){
		"list": func(t *testing.T, s *harness.Session) {
			_, err := s.Client.ListTools(t.Context(), nil)
			require.NoError(t, err)
		},
		"call": func(t *testing.T, s *harness.Session) {
			require.ErrorContains(t, s.CallTool(t.Context(), "get_users", ids("ann")).Err, `unknown tool "get_users"`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := harness.NewLog(slog.LevelWarn)
			s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
				Middleware: []mcp.Middleware{mask.New(&mask.Options{Logger: log.Logger()}), batch.New(&batch.Options{Lists: []batch.List{userList}})},
				More:       func(s *mcp.Server) { mcp.AddTool(s, &mcp.Tool{Name: "another"}, getUser) },
			})
			first(t, s)
			first(t, s)
			require.Contains(t, log.Only(t)["error"], "no tool of this name is listed; correct List.Tool")
			require.Equal(t, "get_user", log.Only(t)["tool"])
		})
	}
}

// TestListOfAnySize: neither long arguments nor long answers of items cost more memory than
// the options allow.
func TestListOfAnySize(t *testing.T) {
	var calls atomic.Int64
	long := strings.Repeat("x", 2<<20)
	s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
		Middleware: []mcp.Middleware{mask.New(nil), batch.New(&batch.Options{Lists: []batch.List{userList}})},
		More: func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "get_user"}, func(_ context.Context, _ *mcp.CallToolRequest, in userIn) (*mcp.CallToolResult, any, error) {
				calls.Add(1)
				switch {
				case strings.HasPrefix(in.UserID, "structured"):
					return nil, userOut{long}, nil
				case strings.HasPrefix(in.UserID, "text"):
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: long}}}, nil, nil
				}
				return nil, userOut{"short"}, nil
			})
		},
	})
	answer := s.CallTool(t.Context(), "get_users", ids(strings.Repeat("a", 1<<21)))
	require.Equal(t, fault.KindValidation, answer.Fault().Kind())
	require.Contains(t, answer.Text(), "bytes long, and may be 1638400.")
	require.Zero(t, calls.Load(), "nothing was read")

	// Before the arguments are looked at: as long as they are, they cost nothing.
	next := batch.New(&batch.Options{Lists: []batch.List{userList}})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return &mcp.ListToolsResult{}, nil
	})
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "get_users", Arguments: json.RawMessage(`{"user_ids":["` + long + `"]}`)}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := next(t.Context(), "tools/call", req)
	runtime.ReadMemStats(&after)
	f, _ := middleware.FaultOf(res, err)
	require.Equal(t, fault.KindValidation, f.Kind())
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1_000_000))

	names := []any{"first"}
	for i := range 3 {
		names = append(names, fmt.Sprint("structured", i), fmt.Sprint("text", i))
	}
	names = append(names, "last")
	out := outputOf(t, s.CallTool(t.Context(), "get_users", ids(names...)))
	require.Equal(t, 8, out.Succeeded)
	require.Len(t, out.Results, 2, "what is short is there, whatever stands before it")
	require.Equal(t, []int{0, 7}, []int{out.Results[0].Index, out.Results[1].Index})
	require.Equal(t, 6, out.Omitted["results"])
	kept := batch.KeptValue(&mcp.CallToolResult{StructuredContent: userOut{long}})
	require.Less(t, kept, 100)
	require.Less(t, batch.KeptValue(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: long}}}), 100)
	require.Equal(t, 5, batch.KeptValue(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "abc"}}}))
}

// TestToolsAreListedAnew when they change, as the server's own.
func TestToolsAreListedAnew(t *testing.T) {
	s := serve(t, harness.Current, userList)
	for _, want := range []string{"another get_user get_users", "another", "another get_user get_users"} {
		list, err := s.Client.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, want, toolNames(list.Tools))
		if want == "another" {
			require.ErrorContains(t, s.CallTool(t.Context(), "get_users", ids("ann")).Err, `unknown tool "get_users"`)
			mcp.AddTool(s.Server, &mcp.Tool{Name: "get_user"}, getUser)
		} else {
			require.Equal(t, 1, outputOf(t, s.CallTool(t.Context(), "get_users", ids("ann"))).Succeeded)
			s.Server.RemoveTools("get_user")
		}
	}
}
