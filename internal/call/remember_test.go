package call_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/middleware"
)

// A catalog is a server's list of tools that depends on who asks.
type catalog struct {
	tools func(req *mcp.ListToolsRequest) []*mcp.Tool
	asked int
}

func (l *catalog) handle(_ context.Context, method string, req mcp.Request) (mcp.Result, error) {
	list, ok := req.(*mcp.ListToolsRequest)
	if !ok || method != call.MethodListTools {
		return &mcp.CallToolResult{}, nil
	}
	l.asked++
	return &mcp.ListToolsResult{Tools: l.tools(list)}, nil
}

// looks returns a handler that looks up the tool of each call, and the description that it found.
func looks(found *string, next mcp.MethodHandler, more ...mcp.Middleware) mcp.MethodHandler {
	look := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		if c.Method() == middleware.MethodCallTool {
			tool, err := c.Server().Tool(next)
			if *found = fmt.Sprint(err); err == nil {
				*found = tool.Description
			}
		}
		return next(ctx, c.Method(), req)
	})
	return middleware.Chain(append([]mcp.Middleware{look}, more...)...)(next)
}

// newSession returns a session of a server, as a request has it.
func newSession(t *testing.T) *mcp.ServerSession {
	t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	server, err := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil).Connect(t.Context(), ours, nil)
	require.NoError(t, err)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = client.Close(), server.Wait() })
	return server
}

// pagesOf is the list of tools of a server that lists some on a page, in the order of their names. Before
// it answers, it shows them to a filter.
func pagesOf(tools []*mcp.Tool, perPage int, asked *[]string, filter func(req *mcp.ListToolsRequest, page []*mcp.Tool) []*mcp.Tool) mcp.MethodHandler {
	return func(_ context.Context, method string, req mcp.Request) (mcp.Result, error) {
		list, ok := req.(*mcp.ListToolsRequest)
		if !ok || method != call.MethodListTools {
			return &mcp.CallToolResult{}, nil
		}
		*asked = append(*asked, list.Params.Cursor)
		from, _ := strconv.Atoi(list.Params.Cursor)
		to, following := from+perPage, strconv.Itoa(from+perPage)
		if to >= len(tools) {
			to, following = len(tools), ""
		}
		page := slices.Clone(tools[from:to])
		if filter != nil {
			page = filter(list, page)
		}
		return &mcp.ListToolsResult{Tools: page, NextCursor: following}, nil
	}
}

func numbered(n int) (tools []*mcp.Tool) {
	for i := range n {
		tools = append(tools, &mcp.Tool{Name: fmt.Sprintf("t%05d", i), Description: fmt.Sprint(i)})
	}
	return tools
}

// TestPagesThatAreEqualAreKeptOnce, and a filter that goes on to change what it answered changes nothing.
func TestPagesThatAreEqualAreKeptOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			asked []string
			last  []*mcp.Tool
		)
		found, tools := "", numbered(100)
		slices.Reverse(tools) // a filter may have an order of its own
		handle := looks(&found, pagesOf(tools, 100, &asked, func(_ *mcp.ListToolsRequest, page []*mcp.Tool) []*mcp.Tool {
			last = page
			return page
		}))
		first, second := newSession(t), newSession(t)
		for _, session := range []*mcp.ServerSession{first, second, first, second} {
			for i := range 100 {
				_, err := handle(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{Name: fmt.Sprintf("t%05d", i)}})
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint(i), found)
			}
			clear(last)
		}
		require.Equal(t, []string{"", ""}, asked)
	})
}

// TestNamesAreThoseOfTheirCaller: the names to suggest are remembered as the tools are, in the order of the
// list, and those that one caller may list are not for another.
func TestNamesAreThoseOfTheirCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		tools := numbered(250)
		slices.Reverse(tools)
		tools[7] = nil
		var names []string
		handle := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
			if c.Method() == middleware.MethodCallTool {
				names = slices.Concat(c.Server().Names()...)
			}
			return next(ctx, c.Method(), req)
		})(pagesOf(tools, 100, &asked, func(req *mcp.ListToolsRequest, page []*mcp.Tool) []*mcp.Tool {
			return slices.DeleteFunc(page, func(tool *mcp.Tool) bool {
				return tool != nil && tool.Name == "t00150" && req.Extra.Header.Get("X-User") != "ann"
			})
		}))
		session := newSession(t)
		for second := range 2 {
			asked = nil
			for i := range 12 {
				user := [...]string{"ann", "bob", "ann", "eve"}[i%4]
				_, err := handle(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{
					Session: session, Extra: &mcp.RequestExtra{Header: http.Header{"X-User": {user}}}, Params: &mcp.CallToolParamsRaw{Name: "unknown"},
				})
				require.NoError(t, err)
				var want []string
				for _, tool := range tools {
					if tool != nil && (tool.Name != "t00150" || user == "ann") {
						want = append(want, tool.Name)
					}
				}
				require.Equal(t, want, names, user)
			}
			require.Len(t, asked, 9, "three pages for each of three callers, in second %d", second)
			tools[0] = &mcp.Tool{Name: "new"}
			time.Sleep(table.Lasts)
		}
	})
}

// TestWhatOneCallerIsToldIsNotForAnother has pairs of callers who differ in one thing by which a
// filter could tell them apart.
func TestWhatOneCallerIsToldIsNotForAnother(t *testing.T) {
	type caller struct {
		session int
		extra   *mcp.RequestExtra
		meta    mcp.Meta
	}
	header := func(pairs ...string) caller {
		h := http.Header{"Content-Type": {"application/json"}}
		for i := 0; i < len(pairs); i += 2 {
			h.Add(pairs[i], pairs[i+1])
		}
		return caller{extra: &mcp.RequestExtra{Header: h}}
	}
	token := func(info auth.TokenInfo) caller { return caller{extra: &mcp.RequestExtra{TokenInfo: &info}} }
	meta := func(key string, value any) caller { return caller{meta: mcp.Meta{key: value}} }
	claims := func(value any) caller {
		return token(auth.TokenInfo{UserID: "u", Extra: map[string]any{"claims": value}})
	}
	type private struct{ tenant string }
	for name, pair := range map[string]struct {
		a, b caller
		same bool // both are one caller
		none bool // nothing is remembered of them
	}{
		"session":               {a: caller{}, b: caller{session: 1}},
		"authorization":         {a: header("Authorization", "Bearer a"), b: header("Authorization", "Bearer b")},
		"any header":            {a: header("X-Tenant", "a"), b: header("X-Tenant", "b")},
		"a header more":         {a: header("X-Admin", "1"), b: header()},
		"a header, twice":       {a: header("X-Role", "a", "X-Role", "b"), b: header("X-Role", "a")},
		"another place of it":   {a: header("X-Role", "a", "X-Role", "b"), b: header("X-Role", "b", "X-Role", "a")},
		"a header or none":      {a: header(), b: caller{}},
		"user":                  {a: token(auth.TokenInfo{UserID: "a"}), b: token(auth.TokenInfo{UserID: "b"})},
		"scopes":                {a: token(auth.TokenInfo{UserID: "u", Scopes: []string{"read"}}), b: token(auth.TokenInfo{UserID: "u", Scopes: []string{"read", "write"}})},
		"expiration":            {a: token(auth.TokenInfo{Expiration: time.Unix(1, 0)}), b: token(auth.TokenInfo{Expiration: time.Unix(2, 0)})},
		"a token or none":       {a: token(auth.TokenInfo{}), b: caller{}},
		"claims":                {a: claims(map[string]any{"tenant": "a"}), b: claims(map[string]any{"tenant": "b"})},
		"claims, nested":        {a: claims([]any{map[string]any{"a": []any{1.0, true, nil}}}), b: claims([]any{map[string]any{"a": []any{1.0, false, nil}}})},
		"claims, their types":   {a: claims("1"), b: claims(1.0)},
		"claims, as written":    {a: claims(json.Number("1")), b: claims(json.Number("2")), none: true},
		"claims of other types": {a: claims(&private{"a"}), b: claims(&private{"b"}), none: true},
		"claims too deep":       {a: claims(nested(40, "a")), b: claims(nested(40, "b")), none: true},
		"user in the _meta":     {a: meta("acme/user", "a"), b: meta("acme/user", "b")},
		"client":                {a: meta("io.modelcontextprotocol/clientInfo", map[string]any{"name": "a"}), b: meta("io.modelcontextprotocol/clientInfo", map[string]any{"name": "b"})},
		"client of a Go type":   {a: meta("io.modelcontextprotocol/clientInfo", &mcp.Implementation{Name: "a"}), b: meta("io.modelcontextprotocol/clientInfo", &mcp.Implementation{Name: "b"}), none: true},
		"a member or another":   {a: caller{meta: mcp.Meta{"a": "b", "c": "d"}}, b: caller{meta: mcp.Meta{"a": "b\x00c", "d": ""}}},

		"length":           {a: header("Content-Length", "10"), b: header("Content-Length", "20"), same: true},
		"trace":            {a: header("Traceparent", "10"), b: header("Traceparent", "20"), same: true},
		"progress":         {a: meta("progressToken", 1.0), b: meta("progressToken", 2.0), same: true},
		"attempt":          {a: meta("io.github.mcpchain/attempt", 2.0), b: meta("io.github.mcpchain/attempt", 3.0), same: true},
		"equal claims":     {a: claims(map[string]any{"a": "b", "c": 1.0}), b: claims(map[string]any{"c": 1.0, "a": "b"}), same: true},
		"an empty extra":   {a: caller{extra: &mcp.RequestExtra{}}, b: caller{}, same: true},
		"equal everything": {a: header("Cookie", "session=a"), b: header("Cookie", "session=a"), same: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				who, found := "", ""
				list := &catalog{tools: func(*mcp.ListToolsRequest) []*mcp.Tool { return []*mcp.Tool{{Name: "it", Description: who}} }}
				handle, sessions := looks(&found, list.handle), [...]*mcp.ServerSession{newSession(t), newSession(t)}
				for i, c := range []caller{pair.a, pair.b, pair.a, pair.b} {
					who = [...]string{"a", "b"}[i%2]
					req := &mcp.CallToolRequest{Session: sessions[c.session], Extra: c.extra, Params: &mcp.CallToolParamsRaw{Name: "it", Meta: c.meta}}
					_, err := handle(t.Context(), middleware.MethodCallTool, req)
					require.NoError(t, err)
					if !pair.same {
						require.Equal(t, who, found)
					}
				}
				if pair.none { // nor is it for one of whom nothing is known but the session, nor that one's for them
					for _, c := range []caller{{}, pair.a} {
						who += "c"
						_, err := handle(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Session: sessions[0], Extra: c.extra, Params: &mcp.CallToolParamsRaw{Name: "it", Meta: c.meta}})
						require.NoError(t, err)
						require.Equal(t, who, found)
						list.asked--
					}
				}
				want := 2
				switch {
				case pair.same:
					want = 1
				case pair.none:
					want = 4
				}
				require.Equal(t, want, list.asked)
			})
		})
	}
}

func nested(depth int, v any) any {
	for range depth {
		v = []any{v}
	}
	return v
}

// TestAFilterBetweenTwoThatAsk: what stands inside of a filter is not told to what stands outside.
func TestAFilterBetweenTwoThatAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := &catalog{tools: func(*mcp.ListToolsRequest) []*mcp.Tool { return []*mcp.Tool{{Name: "it", Description: "it"}} }}
		var outer, inner string
		look := func(found *string) mcp.Middleware {
			return func(next mcp.MethodHandler) mcp.MethodHandler { return looks(found, next) }
		}
		handle, session := middleware.Chain(look(&outer), hide("it"), look(&inner))(list.handle), newSession(t)
		for range 3 {
			_, err := handle(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{Name: "it"}})
			require.NoError(t, err)
			require.Equal(t, "it", inner)
			require.Equal(t, ask.ErrNotListed.Error(), outer)
		}
	})
}

// TestNothingIsRememberedWithoutASession: a server over HTTP without sessions makes one for each
// request, whose users may be told apart by something that no middleware sees.
func TestNothingIsRememberedWithoutASession(t *testing.T) {
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		found, asked := "", 0
		server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "it", Description: "it"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return looks(&found, func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == call.MethodListTools && middleware.IsLookup(ctx) {
					asked++
				}
				return next(ctx, method, req)
			})
		})
		session := overHTTP(t, server, era, &mcp.StreamableHTTPOptions{Stateless: true})
		for i := range 3 {
			_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "it"})
			require.NoError(t, err)
			require.Equal(t, "it", found)
			require.Equal(t, i+1, asked)
		}
	}
}

// overHTTP connects a client of an era to a server over HTTP.
func overHTTP(t *testing.T, server *mcp.Server, era harness.Era, opts *mcp.StreamableHTTPOptions) *mcp.ClientSession {
	t.Helper()
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts))
	t.Cleanup(web.Close)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: web.URL}, speak.Version(string(era)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// TestNothingIsAskedOfAKnownEffect: the list of tools is not looked at where somebody said that nothing was done.
func TestNothingIsAskedOfAKnownEffect(t *testing.T) {
	refused := fault.Unavailable("it").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})
	for method, want := range map[string]fault.Effect{
		middleware.MethodCallTool: fault.EffectNone, middleware.MethodReadResource: fault.EffectNone, middleware.MethodGetPrompt: fault.EffectNone,
	} {
		_, _ = call.Wrap(func(ctx context.Context, c *call.Call, _ mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
			advice := c.Judge(nil, refused).Again(failure.Situation{
				Safety: func() failure.Safety { return c.SafetyIn(ctx, next) }, Costly: method == middleware.MethodCallTool,
			}).Retry
			require.True(t, advice.ShouldRetry, method)
			require.Equal(t, want, advice.Effect, method)
			return nil, nil
		})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
			t.Error("the server was asked")
			return nil, nil
		})(t.Context(), method, &mcp.CallToolRequest{Session: newSession(t), Params: &mcp.CallToolParamsRaw{Name: "it"}})
	}
}

// TestAKeyTakesNothingAway: under an idempotency key a call is at least as safe as without, and where a repetition
// gets the same failure, no key makes it safe.
func TestAKeyTakesNothingAway(t *testing.T) {
	for method, want := range map[string][3]failure.Safety{
		middleware.MethodReadResource: {failure.Reads, failure.Reads, failure.Writes},
		"own/method":                  {failure.Writes, failure.Keyed, failure.Writes},
	} {
		_, _ = call.Wrap(func(ctx context.Context, c *call.Call, _ mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
			under := func(again bool) failure.Safety {
				return c.SafetyIn(call.WithKey(ctx, "k", func() bool { return again }), next)
			}
			require.Equal(t, want, [3]failure.Safety{c.SafetyIn(ctx, next), under(true), under(false)}, method)
			return nil, nil
		})(returns(nil, nil))(t.Context(), method, &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: "a:b"}})
	}
}

// TestACursorThatDoesNotLast: pages behind those that are remembered are asked for with a cursor of a moment
// ago. Where the server does not know it any more, the list is read from its beginning.
func TestACursorThatDoesNotLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		fails := false
		tools := numbered(30)
		list := pagesOf(tools, 10, &asked, nil)
		var names []string
		var found error
		handle := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
			if c.Method() == middleware.MethodCallTool {
				_, found = c.Server().Tool(nil)
				names = slices.Concat(c.Server().Names()...)
			}
			return next(ctx, c.Method(), req)
		})(func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.ListToolsRequest); ok && fails && r.Params.Cursor == "10" {
				asked = append(asked, "refused")
				fails = false
				return nil, fault.Invalid("cursor", "one that is known", "10")
			}
			return list(ctx, method, req)
		})
		session := newSession(t)
		look := func(name string) {
			_, err := handle(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{Name: name}})
			require.NoError(t, err)
		}
		fails = true
		look("t00001") // the first page, and then all names
		require.NoError(t, found)
		require.Len(t, names, 30)
		require.Equal(t, []string{"", "refused", "", "10", "20"}, asked)
		require.Equal(t, "t00000", names[0])

		time.Sleep(table.Lasts)
		asked = nil
		look("t00001")
		look("t00025")
		require.NoError(t, found)
		require.Equal(t, []string{"", "10", "20"}, asked)
	})
}

// TestAStepThatNobodyCanTakeIsRecordedOnce for each target, and for no more targets than there are names: a caller
// may invent as many as it likes.
func TestAStepThatNobodyCanTakeIsRecordedOnce(t *testing.T) {
	log := harness.NewLog(slog.LevelWarn)
	wrong := fault.NotFound("file", "a").Step("Look for it", "gone", nil)
	handle := establish(&call.Settings{Logger: log.Logger()})(func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
		if method == call.MethodListTools {
			return &mcp.ListToolsResult{}, nil
		}
		return nil, wrong
	})
	session := newSession(t)
	for i := range table.MaxNames + 10 {
		for range 2 {
			_, err := handle(t.Context(), middleware.MethodReadResource, &mcp.ReadResourceRequest{
				Session: session, Params: &mcp.ReadResourceParams{URI: "a:" + strconv.Itoa(i)},
			})
			require.ErrorContains(t, err, "file 'a'")
		}
	}
	require.Equal(t, table.MaxNames, strings.Count(log.String(), "a step of a failure names a call that its caller cannot make"))
}
