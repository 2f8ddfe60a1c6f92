package call_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

// probe returns a middleware of the user's that looks at the Call on its way in.
func probe(at func(ctx context.Context, c *call.Call)) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			at(ctx, call.FromContext(ctx))
			return next(ctx, method, req)
		}
	}
}

func TestOneCallHoweverManyMiddlewares(t *testing.T) {
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		var calls []*call.Call
		look := probe(func(ctx context.Context, c *call.Call) {
			if c == nil || c.Method() == at.Shape.Method() {
				calls = append(calls, c)
			}
		})
		ours := establish(&call.Settings{})
		opener := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
			require.Same(t, c, ctx, "the Call is the context")
			require.Equal(t, req, c.Request())
			require.False(t, c.Quiet())
			return next(ctx, c.Method(), req)
		})
		h := func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
			calls = append(calls, call.FromContext(ctx))
			// A context that was made from the Call belongs to it too.
			ctx, cancel := context.WithCancel(context.WithValue(ctx, contextKey{}, 1))
			defer cancel()
			calls = append(calls, call.FromContext(ctx))
			return harness.Success(req), nil
		}
		s := harness.Start(t, at, harness.Setup{
			Handlers:   map[string]harness.Handler{"it": h},
			Middleware: []mcp.Middleware{opener, look, ours, look, ours, look, ours},
		})
		calls = nil
		require.Equal(t, "fine", s.Call(t, "it").Text())
		require.Len(t, calls, 5)
		require.NotNil(t, calls[0])
		for _, c := range calls {
			require.Same(t, calls[0], c)
		}
		first := calls[0]
		calls = nil
		s.Call(t, "it")
		require.NotSame(t, first, calls[0], "another call has another Call")
	})
}

func TestCallKnowsNotifications(t *testing.T) {
	for method, want := range map[string]bool{
		middleware.MethodCallTool: false, call.MethodListen: false,
		"notifications/progress": true, "notifications/anything": true,
	} {
		_, _ = call.Wrap(func(_ context.Context, c *call.Call, _ mcp.Request, _ mcp.MethodHandler) (mcp.Result, error) {
			require.Equal(t, want, c.Notification(), method)
			return nil, nil
		})(nil)(t.Context(), method, nil)
	}
}

// inCall runs a function inside a call of a tool, with middlewares of these settings
// around it.
func inCall(t *testing.T, run func(ctx context.Context, c *call.Call), settings ...*call.Settings) {
	t.Helper()
	var mw []mcp.Middleware
	for _, s := range settings {
		mw = append(mw, establish(s))
	}
	ran := false
	res, err := invoke(middleware.Chain(append(mw, establish(&call.Settings{}))...), func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		ran = true
		run(ctx, call.FromContext(ctx))
		return &mcp.CallToolResult{}, nil
	})
	require.NoError(t, err)
	require.NotNil(t, res)
	require.True(t, ran)
}

func TestIDIsMadeOnceWhenAskedFor(t *testing.T) {
	var made atomic.Int32
	settings := &call.Settings{Recorder: recorder(func(context.Context, mcp.Request) string { return fmt.Sprintf("id-%d", made.Add(1)) })}
	inCall(t, func(context.Context, *call.Call) {}, settings)
	require.Zero(t, made.Load(), "nobody asked")

	inCall(t, func(_ context.Context, c *call.Call) {
		ids := make([]string, 50)
		var ask sync.WaitGroup
		for i := range ids {
			ask.Go(func() { ids[i] = c.ID() })
		}
		ask.Wait()
		require.Equal(t, slices.Repeat([]string{"id-1"}, 50), ids)
	}, settings)
	require.EqualValues(t, 1, made.Load())
}

func TestIDIsAUUIDv7UnlessToldOtherwise(t *testing.T) {
	empty := func(context.Context, mcp.Request) string { return "" }
	other := func(context.Context, mcp.Request) string { return "other" }
	mine := func(context.Context, mcp.Request) string { return "mine" }
	for _, c := range []struct {
		name     string
		settings []*call.Settings
		want     string // "" for a UUID
	}{
		{"nothing", nil, ""},
		{"empty", []*call.Settings{{Recorder: recorder(empty)}}, ""},
		{"mine", []*call.Settings{{Recorder: recorder(mine)}}, "mine"},
		{"the outermost that records", []*call.Settings{{}, {Recorder: recorder(mine)}, {Recorder: recorder(other)}}, "mine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inCall(t, func(_ context.Context, this *call.Call) {
				id := this.ID()
				if c.want != "" {
					require.Equal(t, c.want, id)
					return
				}
				u, err := uuid.Parse(id)
				require.NoError(t, err)
				require.EqualValues(t, 7, u.Version())
				require.Equal(t, id, this.ID())
			}, c.settings...)
		})
	}
}

func TestCallsBelow(t *testing.T) {
	var made atomic.Int32
	log := harness.NewLog(slog.LevelDebug)
	settings := &call.Settings{Logger: log.Logger(), Recorder: recorder(func(context.Context, mcp.Request) string { return fmt.Sprintf("id-%d", made.Add(1)) })}
	inCall(t, func(ctx context.Context, c *call.Call) {
		item := toolRequest("item")
		below := c.Below(ctx, "3", item)
		require.Same(t, below, call.FromContext(below))
		require.Same(t, item, below.Request())
		require.Equal(t, c.Method(), below.Method())
		require.Equal(t, "id-1.3", below.ID())
		require.Equal(t, "id-1.3", below.ID())
		require.Equal(t, "id-1.3.x", below.Below(below, "x", item).ID())
		require.Same(t, c, below.Parent())
		require.Same(t, below, below.Below(below, "x", item).Parent())
		require.Nil(t, c.Parent())
		require.Nil(t, (&call.Call{}).Parent())
		require.Equal(t, "id-1", c.ID())

		// A part fails, is rendered and is named on its own.
		res, err := below.Finish(nil, fault.NotFound("file", "a"))
		require.NoError(t, err)
		f, failed := middleware.FaultOf(res, nil)
		require.True(t, failed)
		require.Equal(t, "id-1.3", f.Reference())
		good := &mcp.CallToolResult{}
		res, err = below.Finish(good, nil)
		require.NoError(t, err)
		require.Same(t, good, res)

		// A failed part is recorded, and a success for which that was noted.
		require.Len(t, log.Records(), 1)
		noted := c.Below(ctx, "4", item)
		noted.LogAtEnd()
		_, _ = noted.Finish(good, nil)
		require.Len(t, log.Records(), 2)

		// A part is a call of its own for middlewares below.
		var inside *call.Call
		_, _ = establish(&call.Settings{})(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			inside = call.FromContext(ctx)
			return good, nil
		})(below, below.Method(), item)
		require.Same(t, below, inside)
	}, settings)
	require.EqualValues(t, 1, made.Load())
}

func TestGuardIsGivenToOne(t *testing.T) {
	inCall(t, func(_ context.Context, c *call.Call) {
		var given atomic.Int32
		var ask sync.WaitGroup
		for range 20 {
			ask.Go(func() {
				by := &call.Settings{}
				if c.Guard(by) {
					given.Add(1)
					if !c.Guard(by) {
						t.Error("and it keeps it")
					}
				}
			})
		}
		ask.Wait()
		require.EqualValues(t, 1, given.Load())
	})
}

// TestAMiddlewareThatCallsAgainAndAgain proves that a call does not become heavier
// with every time that a middleware of the user's calls next.
func TestAMiddlewareThatCallsAgainAndAgain(t *testing.T) {
	const times = 10_000
	polls := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			for range times {
				if res, err := next(ctx, method, req); err == nil {
					return res, nil
				}
			}
			return next(ctx, method, req)
		}
	}
	masked := 0
	mask := establish(&call.Settings{
		Logger: quiet,
		Mask:   func(text string) string { masked++; return text },
		Rules:  []classify.Rule{func(error) *fault.Error { return fault.New("own", "m") }},
	})
	res, err := invoke(middleware.Chain(establish(&call.Settings{}), polls, mask, mask), returns(nil, errSecret))
	require.NoError(t, err)
	require.Equal(t, "Own: m.", strings.Split(text(res), "\n")[0])
	require.Less(t, masked, 100)
}

// TestErrorsThatAskForTheID proves that an error may ask for the ID of its call
// when it is asked for its text.
func TestErrorsThatAskForTheID(t *testing.T) {
	for _, public := range []bool{false, true} {
		var err error
		res, _ := invoke(establish(fixed(harness.NewLog(0))), func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			err = asking{ctx}
			if public {
				err = publicAsking{asking{ctx}}
			}
			return nil, err
		})
		require.Contains(t, text(res), "call the-id failed")
	}
}

type asking struct{ ctx context.Context }

func (a asking) Error() string { return "call " + call.FromContext(a.ctx).ID() + " failed" }

type publicAsking struct{ asking }

func (a publicAsking) PublicMessage() string { return a.Error() }

// TestNestedCallOfAnotherMethod proves that a middleware of the user's may call
// next with another method, which is a call of its own.
func TestNestedCallOfAnotherMethod(t *testing.T) {
	var methods []string
	var ids []string
	look := probe(func(_ context.Context, c *call.Call) {
		methods, ids = append(methods, c.Method()), append(ids, c.ID())
	})
	log := harness.NewLog(0)
	lists := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			_, err := next(ctx, call.MethodListTools, &mcp.ListToolsRequest{})
			// The failure of the nested call was rendered for it, and is not ours.
			require.Contains(t, err.Error(), "Internal error: ")
			require.NotContains(t, err.Error(), harness.Canary)
			return next(ctx, method, req)
		}
	}
	res, err := invoke(middleware.Chain(masking(log), lists, masking(log), look), func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
		if method == call.MethodListTools {
			return nil, errSecret
		}
		return &mcp.CallToolResult{}, nil
	})
	require.NoError(t, err)
	require.NotNil(t, res)
	require.Equal(t, []string{call.MethodListTools, middleware.MethodCallTool}, methods)
	require.NotEqual(t, ids[0], ids[1])
	require.Equal(t, ids[0], log.Only(t)["reference"])
}

// TestFanOut proves that a middleware of the user's may call next many times at
// once.
func TestFanOut(t *testing.T) {
	fanOut := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			var wait sync.WaitGroup
			for range 8 {
				wait.Go(func() { _, _ = next(ctx, method, req) })
			}
			wait.Wait()
			return next(ctx, method, req)
		}
	}
	harness.Each(t, []harness.Shape{harness.ServerTyped, harness.ServerRaw, harness.WrapTool, harness.ServerPrompt}, func(t *testing.T, at harness.Place) {
		log := harness.NewLog(0)
		settings := &call.Settings{Recorder: recorder(nil), Logger: log.Logger()}
		mw := []mcp.Middleware{establish(settings), masking(log), middleware.ForMethods(fanOut, at.Shape.Method()), masking(log), establish(&call.Settings{})}
		s := harness.Start(t, at, harness.Setup{Middleware: mw, Handlers: map[string]harness.Handler{
			"good": harness.Succeed(),
			"bad": func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
				return nil, fmt.Errorf("%w: %s", errSecret, call.FromContext(ctx).ID())
			},
		}})
		require.Equal(t, "fine", s.Call(t, "good").Text())
		bad := s.Call(t, "bad")
		require.Contains(t, bad.Text(), "Internal error: ")
		require.NotContains(t, string(bad.Wire), harness.Canary)
	})
}

// TestServerInsideACall proves that a server that is connected with the context of
// a call, such as the backend that a gateway starts when it is first needed, has
// calls of its own.
func TestServerInsideACall(t *testing.T) {
	log := harness.NewLog(0)
	backend := harness.NewLog(0)
	var client *mcp.ClientSession
	s := harness.Start(t, rawAt, harness.Setup{
		Middleware: []mcp.Middleware{masking(log)},
		Handlers: map[string]harness.Handler{
			"connect": func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
				server := mcp.NewServer(&mcp.Implementation{Name: "backend"}, nil)
				server.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}},
					func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, errSecret })
				server.AddReceivingMiddleware(masking(backend))
				clientTransport, serverTransport := mcp.NewInMemoryTransports()
				if _, err := server.Connect(ctx, serverTransport, nil); err != nil {
					return nil, err
				}
				var err error
				client, err = mcp.NewClient(&mcp.Implementation{Name: "gateway"}, nil).Connect(ctx, clientTransport, nil)
				return harness.Success(req), err
			},
		},
	})
	require.Equal(t, "fine", s.Call(t, "connect").Text())
	t.Cleanup(func() { _ = client.Close() })
	seen := map[string]bool{}
	for range 2 {
		res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "it"})
		require.NoError(t, err)
		f, failed := middleware.FaultOf(res, err)
		require.True(t, failed)
		require.Equal(t, fault.KindInternal, f.Kind())
		require.NotContains(t, text(res), harness.Canary)
		seen[f.Reference()] = true
	}
	require.Len(t, seen, 2, "each call has its own reference")
	require.Len(t, backend.Records(), 2)
	require.Empty(t, log.Records())
}

// hide is a filter that hides tools from the list, as one for permissions does.
func hide(hidden ...string) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if list, ok := res.(*mcp.ListToolsResult); ok && err == nil {
				list.Tools = slices.DeleteFunc(list.Tools, func(t *mcp.Tool) bool { return slices.Contains(hidden, t.Name) })
			}
			return res, err
		}
	}
}

// lister returns a middleware that lists the tools of every call of a tool.
func lister(at func([]string, error)) mcp.Middleware {
	return call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		if c.Method() == middleware.MethodCallTool {
			var names []string
			var failed error
			for tool, err := range c.Server().Tools() {
				if failed = err; err == nil {
					names = append(names, tool.Name)
				}
			}
			at(names, failed)
		}
		return next(ctx, c.Method(), req)
	})
}

func TestTools(t *testing.T) {
	var names []string
	var err error
	list := lister(func(n []string, e error) { names, err = n, e })
	opener := establish(&call.Settings{})
	for _, c := range []struct {
		name string
		mw   []mcp.Middleware
		want string
	}{
		{"opener", []mcp.Middleware{list}, "a b c d e"},
		{"inner middleware", []mcp.Middleware{opener, opener, list}, "a b c d e"},
		{"filter inside", []mcp.Middleware{list, hide("b", "e")}, "a c d"},
		{"filter between the opener and the middleware", []mcp.Middleware{opener, hide("b", "e"), list}, "a c d"},
		{"filter outside does not apply", []mcp.Middleware{hide("b", "e"), list}, "a b c d e"},
		{"everything hidden", []mcp.Middleware{list, hide("a", "b", "c", "d", "e")}, ""},
	} {
		for _, pageSize := range []int{0, 1, 2} {
			for _, era := range []harness.Era{harness.Current, harness.Older} {
				t.Run(fmt.Sprintf("%s/%d a page/%s", c.name, pageSize, era), func(t *testing.T) {
					s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
						Server: &mcp.ServerOptions{PageSize: pageSize},
						Handlers: map[string]harness.Handler{
							"a": harness.Succeed(), "b": harness.Succeed(), "c": harness.Succeed(), "d": harness.Succeed(), "e": harness.Succeed(),
						},
						Middleware: c.mw,
					})
					names, err = nil, errors.New("not called")
					require.Equal(t, "fine", s.Call(t, "a").Text())
					require.NoError(t, err)
					require.Equal(t, c.want, strings.Join(names, " "))
				})
			}
		}
	}
}

func TestToolsFailsWhereThereIsNoServer(t *testing.T) {
	var err error
	list := lister(func(_ []string, e error) { err = e })
	got := harness.Call(t, harness.Place{Shape: harness.WrapTool, Era: harness.Current}, harness.Succeed(), list)
	require.Equal(t, "fine", got.Text())
	require.EqualError(t, err, `middleware: a wrapped handler of "tools/call" cannot answer "tools/list"`)
	for _, req := range []mcp.Request{nil, (*mcp.CallToolRequest)(nil), &mcp.CallToolRequest{}, toolRequest("t")} {
		_, _ = list(returns(nil, nil))(t.Context(), middleware.MethodCallTool, req)
		require.EqualError(t, err, "middleware: this call has no server to ask")
	}
}

// TestListToolsSurvivesStrangeServers proves that the answer of a middleware of
// the user's cannot keep or break the lookup.
func TestToolsSurvivesStrangeServers(t *testing.T) {
	var pages atomic.Int32
	strange := func(res func() (mcp.Result, error)) mcp.Middleware {
		return func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == call.MethodListTools {
					pages.Add(1)
					return res()
				}
				return next(ctx, method, req)
			}
		}
	}
	for _, c := range []struct {
		name  string
		res   func() (mcp.Result, error)
		fails string
		pages int32
	}{
		{"same cursor", func() (mcp.Result, error) { return &mcp.ListToolsResult{NextCursor: "x"}, nil }, "", 2},
		{"endless", func() (mcp.Result, error) {
			return &mcp.ListToolsResult{NextCursor: fmt.Sprint(pages.Load())}, nil
		}, "has no end", 100},
		{"a circle of cursors", func() (mcp.Result, error) {
			return &mcp.ListToolsResult{NextCursor: fmt.Sprint(pages.Load() % 3), Tools: []*mcp.Tool{{Name: "a"}}}, nil
		}, "has no end", 7},
		{"nil", func() (mcp.Result, error) { return nil, nil }, "gave no list", 1},
		{"typed nil", func() (mcp.Result, error) { return (*mcp.ListToolsResult)(nil), nil }, "gave no list", 1},
		{"other type", func() (mcp.Result, error) { return &mcp.CallToolResult{}, nil }, "gave no list", 1},
		{"error", func() (mcp.Result, error) { return nil, errSecret }, harness.Canary, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err error
			s := harness.Start(t, rawAt, harness.Setup{
				Handlers:   map[string]harness.Handler{"it": harness.Succeed()},
				Middleware: []mcp.Middleware{lister(func(_ []string, e error) { err = e }), strange(c.res)},
			})
			pages.Store(0)
			require.Equal(t, "fine", s.Call(t, "it").Text())
			if c.fails == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.fails)
			}
			require.Equal(t, c.pages, pages.Load())
		})
	}
}

// TestListToolsLeavesNoTrace proves that a lookup is not recorded, and has an ID of
// its own only if somebody asks.
func TestToolsLeavesNoTrace(t *testing.T) {
	log := harness.NewLog(-100)
	var made atomic.Int32
	recorder := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		c.Establish(&call.Settings{Logger: log.Logger(), Recorder: recorder(func(context.Context, mcp.Request) string { made.Add(1); return "id" })})
		res, err := next(ctx, c.Method(), req)
		if c.Method() == call.MethodListTools {
			require.True(t, c.Quiet())
			c.Log(res, c.Judge(res, err), 0)
			c.LogAtEnd()
		}
		return res, err
	})
	fails := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == call.MethodListTools {
				return nil, errSecret
			}
			return next(ctx, method, req)
		}
	}
	for _, inner := range []mcp.Middleware{nil, fails} {
		listed := false
		list := lister(func(_ []string, err error) {
			listed = true
			require.Equal(t, inner != nil, err != nil)
		})
		got := harness.Call(t, rawAt, harness.Succeed(), recorder, masking(log), list, inner)
		require.Equal(t, "fine", got.Text())
		require.True(t, listed)
	}
	require.Empty(t, log.Records())
	require.Zero(t, made.Load())
}

func TestListsOfAServer(t *testing.T) {
	for _, pageSize := range []int{0, 1} {
		var got []string
		look := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
			if c.Method() == middleware.MethodCallTool {
				tool, err := c.Server().Tool(next)
				require.NoError(t, err)
				got = append(got, "tool "+tool.Name)
				_, err = c.Server().Prompt(nil)
				require.ErrorIs(t, err, ask.ErrNotListed)
			}
			if !c.Quiet() && call.Target(req) != "" {
				got = append(got, slices.Concat(c.Server().Names()...)...)
			}
			return next(ctx, c.Method(), req)
		})
		server := mcp.NewServer(&mcp.Implementation{Name: "lists"}, &mcp.ServerOptions{PageSize: pageSize})
		server.AddTool(&mcp.Tool{Name: "a", InputSchema: map[string]any{"type": "object"}}, nil)
		server.AddTool(&mcp.Tool{Name: "b", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
		server.AddPrompt(&mcp.Prompt{Name: "p"}, nil)
		server.AddPrompt(&mcp.Prompt{Name: "q"}, nil)
		server.AddResource(&mcp.Resource{Name: "r", URI: "memo://r"}, nil)
		server.AddResource(&mcp.Resource{Name: "s", URI: "memo://s"}, nil)
		server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "t", URITemplate: "memo://t/{id}"}, nil)
		server.AddReceivingMiddleware(look)

		ours, theirs := mcp.NewInMemoryTransports()
		ss, err := server.Connect(t.Context(), ours, nil)
		require.NoError(t, err)
		session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(t.Context(), theirs, nil)
		require.NoError(t, err)
		_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "b"})
		require.NoError(t, err)
		_, _ = session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "none"})
		_, _ = session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "memo://none"})
		require.Equal(t, "tool b, a, b, p, q, memo://r, memo://s, memo://t/{id}", strings.Join(got, ", "))
		require.NoError(t, session.Close())
		require.NoError(t, ss.Wait())
	}
}

// TestAToolIsLookedForWhereItStood counts the pages that a server of one tool a page is asked for.
func TestAToolIsLookedForWhereItStood(t *testing.T) {
	asked, found := 0, ""
	look := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		switch c.Method() {
		case call.MethodListTools:
			asked++
		case middleware.MethodCallTool:
			asked, found = 0, ""
			if tool, err := c.Server().ToolNow(nil); err == nil {
				found = tool.Description
			}
		}
		return next(ctx, c.Method(), req)
	})
	server := mcp.NewServer(&mcp.Implementation{Name: "pages"}, &mcp.ServerOptions{PageSize: 1})
	add := func(name, description string) {
		server.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
	add("a", "1")
	add("b", "1")
	add("c", "1")
	server.AddReceivingMiddleware(look)
	ours, theirs := mcp.NewInMemoryTransports()
	ss, err := server.Connect(t.Context(), ours, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	is := func(what string, pages int, description string) {
		t.Helper()
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "c"})
		require.NoError(t, err)
		require.Equal(t, pages, asked, what)
		require.Equal(t, description, found, what)
	}
	is("the first time", 3, "1")
	is("where it stood", 1, "1")
	add("c", "2")
	is("as it is listed now", 1, "2")
	server.RemoveTools("b")
	add("bb", "1")
	is("another tool before it has changed", 4, "2")
	require.NoError(t, session.Close())
	require.NoError(t, ss.Wait())
}

type contextKey struct{}
