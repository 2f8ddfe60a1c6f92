package budget_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// inBytes is a Count by which all sizes are in bytes.
func inBytes(text string) int { return len(text) }

type row struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

type rows struct {
	Results []row `json:"results"`
	Total   int   `json:"total"`
}

type textOut struct {
	Body string `json:"body"`
}

type mapOut struct {
	Values map[string]int `json:"values"`
}

func many(n int) (out rows) {
	for i := range n {
		out.Results = append(out.Results, row{i, fmt.Sprintf("the name of %d", i)})
	}
	out.Total = n
	return out
}

// text returns prose of n bytes.
func text(n int) string {
	return strings.Repeat("A sentence that says something. ", n/32+1)[:n]
}

// start starts a server with typed and raw tools whose answers are large.
func start(t testing.TB, era harness.Era, o budget.Options, more ...mcp.Middleware) *harness.Session {
	t.Helper()
	raw := func(s *mcp.Server, name string, res *mcp.CallToolResult) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object", "properties": map[string]any{
			"pageSize": map[string]any{"type": "integer"}, "fields": map[string]any{"type": "array"}, "city": map[string]any{"type": "string"}, "stop": map[string]any{"type": "string"},
		}}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: name == "image"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return res, nil })
	}
	return harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
		Middleware: append([]mcp.Middleware{budget.New(&o)}, more...),
		More: func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "rows"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, rows, error) {
				return nil, many(340), nil
			})
			mcp.AddTool(s, &mcp.Tool{Name: "few"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, rows, error) {
				return nil, many(3), nil
			})
			mcp.AddTool(s, &mcp.Tool{Name: "text"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, textOut, error) {
				return nil, textOut{text(50_000)}, nil
			})
			mcp.AddTool(s, &mcp.Tool{Name: "map"}, func(context.Context, *mcp.CallToolRequest, struct {
				Limit int    `json:"limit"`
				City  string `json:"city,omitempty"`
			}) (*mcp.CallToolResult, mapOut, error) {
				out := mapOut{map[string]int{}}
				for i := range 1000 {
					out.Values[fmt.Sprint("key-", i)] = i
				}
				return nil, out, nil
			})
			mcp.AddTool(s, &mcp.Tool{Name: "fails"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
				return nil, nil, errors.New("it failed")
			})
			raw(s, "prose", &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text(9_000)}, &mcp.TextContent{Text: text(3_000)}}})
			list, _ := json.Marshal(many(340).Results)
			raw(s, "json", &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(list)}}})
			raw(s, "image", &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a picture"}, &mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 50_000)}}})
			raw(s, "told", &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text(50_000)}}})
		},
	})
}

var eras = []harness.Era{harness.Current, harness.Older}

var cursor = regexp.MustCompile(`call read_more (\{"cursor":"[^"]+"\})`)

// pages fetches what was left out, page after page, until it is all.
func pages(t testing.TB, s *harness.Session, note string, size int) (texts []string) {
	t.Helper()
	for range 10_000 {
		m := cursor.FindStringSubmatch(note)
		if m == nil {
			require.Contains(t, note, "That is all.")
			return texts
		}
		got := s.CallTool(t.Context(), "read_more", json.RawMessage(m[1]))
		require.Nil(t, got.Fault(), "%v", got)
		content := got.Tool().Content
		require.GreaterOrEqual(t, len(content), 2)
		sum := 0
		for _, c := range content {
			sum += len(c.(*mcp.TextContent).Text)
		}
		require.LessOrEqual(t, sum, size)
		for _, c := range content[:len(content)-1] {
			texts = append(texts, c.(*mcp.TextContent).Text)
		}
		note = content[len(content)-1].(*mcp.TextContent).Text
	}
	t.Fatal("the pages do not end")
	return nil
}

func TestWholeItemsAreLeftOut(t *testing.T) {
	for _, era := range eras {
		t.Run(string(era), func(t *testing.T) {
			s := start(t, era, budget.Options{Size: 3000, Count: inBytes})
			got := s.CallTool(t.Context(), "few", nil)
			require.Len(t, got.Tool().Content, 1, "an answer that fits is left alone")
			require.NotContains(t, got.Tool().Meta, budget.MetaKey)

			got = s.CallTool(t.Context(), "rows", nil)
			require.Nil(t, got.Fault())
			require.Len(t, got.Tool().Content, 2)
			var structured, told rows
			raw, err := json.Marshal(got.Tool().StructuredContent)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(raw, &structured))
			require.NoError(t, json.Unmarshal([]byte(got.Text()), &told))
			require.Equal(t, structured, told, "they agree")
			require.Equal(t, 340, told.Total)
			require.Greater(t, len(told.Results), 30)
			note := got.Tool().Content[1].(*mcp.TextContent).Text
			require.Contains(t, note, fmt.Sprintf("Shown: %d of 340 items of 'results'. For the rest call read_more {", len(told.Results)))
			left, err := json.Marshal(got.Tool().Meta[budget.MetaKey])
			require.NoError(t, err)
			require.Contains(t, string(left), `"path":"results"`)
			require.LessOrEqual(t, len(got.Text())+len(note), 3000)

			all := told.Results
			for _, page := range pages(t, s, note, 3000) {
				var items []row
				require.NoError(t, json.Unmarshal([]byte(page), &items))
				all = append(all, items...)
			}
			require.Equal(t, many(340).Results, all)
		})
	}
}

func TestTextsAreCutAtASentence(t *testing.T) {
	s := start(t, harness.Current, budget.Options{Size: 1000})
	for _, name := range []string{"text", "prose"} {
		got := s.CallTool(t.Context(), name, nil)
		require.Nil(t, got.Fault(), name)
		content := got.Tool().Content
		note := content[len(content)-1].(*mcp.TextContent).Text
		shown, want := got.Text(), text(9_000)+text(3_000)
		if name == "text" {
			var out textOut
			require.NoError(t, json.Unmarshal([]byte(shown), &out))
			body, marked := strings.CutSuffix(out.Body, " ... [the rest is left out]")
			require.True(t, marked)
			shown, want = body, text(50_000)
			require.Contains(t, note, "of 50000 bytes of 'body'. For the rest call")
		}
		require.True(t, strings.HasSuffix(strings.TrimSpace(shown), "."), name)
		require.Equal(t, want, shown+strings.Join(pages(t, s, note, 3000), ""), name)
	}
}

func TestTextsThatAreJSON(t *testing.T) {
	s := start(t, harness.Older, budget.Options{Size: 1000})
	got := s.CallTool(t.Context(), "json", nil)
	var all []row
	require.NoError(t, json.Unmarshal([]byte(got.Text()), &all))
	for _, page := range pages(t, s, got.Tool().Content[1].(*mcp.TextContent).Text, 3000) {
		var items []row
		require.NoError(t, json.Unmarshal([]byte(page), &items))
		all = append(all, items...)
	}
	require.Equal(t, many(340).Results, all)
}

func TestWhatCannotBeCut(t *testing.T) {
	s := start(t, harness.Current, budget.Options{Size: 1000})
	got := s.CallTool(t.Context(), "map", map[string]any{"limit": 1})
	f := got.Fault()
	require.Equal(t, fault.KindClientError, f.Kind())
	require.Equal(t, "ANSWER_TOO_LARGE", f.Code())
	require.Regexp(t, `the answer is too large: about \d+ tokens, of which 1000 are allowed`, f.Message())
	require.Equal(t, "Ask for less with the argument 'limit'.", f.Suggestion())
	retry, _ := f.Retry()
	require.Equal(t, fault.EffectCommitted, retry.Effect)
	require.False(t, retry.ShouldRetry)
	step := f.Data().RecoverySteps[0]
	raw, err := json.Marshal(step.Parameters)
	require.NoError(t, err)
	var out mapOut
	require.NoError(t, json.Unmarshal([]byte(strings.Join(pages(t, s, "call read_more "+string(raw), 3000), "")), &out))
	require.Len(t, out.Values, 1000, "nothing is lost")

	got = s.CallTool(t.Context(), "image", nil)
	require.Nil(t, got.Fault())
	require.Equal(t, "a picture", got.Text())
	require.Contains(t, got.Tool().Content[1].(*mcp.TextContent).Text, "[a block of 66666 bytes is too large to be shown]")
}

func TestFailuresHaveTheirOwnBound(t *testing.T) {
	s := start(t, harness.Current, budget.Options{Size: 300})
	got := s.CallTool(t.Context(), "told", nil)
	require.True(t, got.Tool().IsError)
	require.Less(t, len(got.Text()), 900)
	require.Equal(t, "[the rest is left out]", got.Tool().Content[1].(*mcp.TextContent).Text)
	require.Contains(t, s.CallTool(t.Context(), "fails", nil).Text(), "it failed")
}

func TestReadMoreIsListed(t *testing.T) {
	s := start(t, harness.Current, budget.Options{})
	for range 2 {
		list, err := s.Client.ListTools(t.Context(), nil)
		require.NoError(t, err)
		last := list.Tools[len(list.Tools)-1]
		require.Equal(t, "read_more", last.Name)
		require.True(t, last.Annotations.ReadOnlyHint)
	}
	own := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
		Handlers: map[string]harness.Handler{"read_more": harness.Succeed()}, Middleware: []mcp.Middleware{budget.New(nil)},
	})
	require.Equal(t, "fine", own.CallTool(t.Context(), "read_more", nil).Text())
	list, err := own.Client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 1, "the server has its own")
	require.Equal(t, "fine", own.CallTool(t.Context(), "read_more", nil).Text())
}

func TestCursorsOfNobody(t *testing.T) {
	s := start(t, harness.Current, budget.Options{})
	for _, args := range []string{`{}`, `{"cursor":7}`, `{"cursor":""}`, `[]`, `{"cursor":"` + strings.Repeat("x", 1000) + `"}`} {
		f := s.CallTool(t.Context(), "read_more", json.RawMessage(args)).Fault()
		require.NotNil(t, f, args)
	}
	for _, cursor := range []string{"x", "x.0.0", "x.1", "x.-1.0", "x.0.99999999999999999999", "a.b.c.d"} {
		f := s.CallTool(t.Context(), "read_more", map[string]any{"cursor": cursor}).Fault()
		require.Equal(t, fault.KindNotFound, f.Kind(), cursor)
	}
}

// TestAroundOneHandler leaves out what it must, keeps nothing, and names no tool that nobody can
// call.
func TestAroundOneHandler(t *testing.T) {
	for shape, tool := range map[harness.Shape]string{harness.WrapTool: "it", harness.WrapAddTool: "read_more"} {
		at := harness.Place{Shape: shape, Era: harness.Current}
		got := harness.Start(t, at, harness.Setup{
			Handlers: map[string]harness.Handler{tool: harness.Return(func() *mcp.CallToolResult {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text(50_000)}}}
			})},
			Middleware: []mcp.Middleware{budget.New(&budget.Options{Size: 300})},
		}).Call(t, tool)
		require.NotContains(t, string(got.Wire), `"cursor`)
		require.NotContains(t, string(got.Wire), `cursor\"`)
		if tool == "it" {
			require.Contains(t, got.Tool().Content[1].(*mcp.TextContent).Text, "of 50000 bytes. The rest cannot be shown. Ask for less at a time, if the tool allows it.")
		}
	}
	h := around(&budget.Options{Size: 300}, json.RawMessage(`{}`), structured(func(n int) string { return `{` + strings.Repeat(`"a":1,`, n) + `"b":1}` })(1000))
	f, _ := middleware.FaultOf(h(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}}))
	require.Equal(t, "ANSWER_TOO_LARGE", f.Code())
	require.Empty(t, f.Data().RecoverySteps)
}

// direct starts a server whose tools answer with n bytes, and returns a function that
// calls one for an owner.
func direct(t testing.TB, o budget.Options, n int) func(ctx context.Context, owner, tool string, args any) (mcp.Result, error) {
	t.Helper()
	if o.Owner == nil {
		o.Owner = func(_ context.Context, req mcp.Request) string {
			owner, _ := req.GetParams().GetMeta()["owner"].(string)
			return owner
		}
	}
	of := func(n int) harness.Handler {
		res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text(n)}}}
		return harness.Return(func() *mcp.CallToolResult { cp := *res; return &cp })
	}
	big := of(n)
	s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Older}, harness.Setup{
		Handlers:   map[string]harness.Handler{"big": big, "small": of(2000), "free": big, "more": big, "same": big, "other": big},
		Middleware: []mcp.Middleware{budget.New(&o)},
	})
	return func(ctx context.Context, owner, tool string, args any) (mcp.Result, error) {
		res, err := s.Client.CallTool(ctx, &mcp.CallToolParams{Meta: mcp.Meta{"owner": owner}, Name: tool, Arguments: args})
		if err != nil {
			return nil, err
		}
		return res, nil
	}
}

func left(res mcp.Result) budget.LeftOut {
	raw, _ := json.Marshal(res.(*mcp.CallToolResult).Meta[budget.MetaKey])
	var all []budget.LeftOut
	if json.Unmarshal(raw, &all) != nil || len(all) == 0 {
		return budget.LeftOut{}
	}
	return all[0]
}

func TestOnlyItsOwnerFetchesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := direct(t, budget.Options{Size: 300}, 10_000)
		res, err := call(t.Context(), "ada", "big", nil)
		require.NoError(t, err)
		args := map[string]any{"cursor": left(res).Cursor}
		unknown, _ := middleware.FaultOf(call(t.Context(), "bob", "read_more", map[string]any{"cursor": "never"}))
		theirs, failed := middleware.FaultOf(call(t.Context(), "bob", "read_more", args))
		require.True(t, failed)
		require.Equal(t, unknown.Text(), theirs.Text(), "as one that never was")
		_, failed = middleware.FaultOf(call(t.Context(), "ada", "read_more", args))
		require.False(t, failed)
		_, failed = middleware.FaultOf(call(t.Context(), "ada", "read_more", args))
		require.False(t, failed, "again")
		time.Sleep(10*time.Minute + time.Second)
		expired, _ := middleware.FaultOf(call(t.Context(), "ada", "read_more", args))
		require.Equal(t, unknown.Text(), expired.Text())
		_, err = call(t.Context(), "bob", "big", nil)
		require.NoError(t, err)
	})
}

// TestWhatIsKeptIsBounded: of many owners together the oldest is forgotten.
func TestWhatIsKeptIsBounded(t *testing.T) {
	call := direct(t, budget.Options{Size: 300, MaxKept: 100_000}, 10_000)
	var first, last mcp.Result
	for i := range 100 {
		last, _ = call(t.Context(), fmt.Sprint(i), "big", nil)
		if first == nil {
			first = last
		}
	}
	_, failed := middleware.FaultOf(call(t.Context(), "0", "read_more", map[string]any{"cursor": left(first).Cursor}))
	require.True(t, failed, "the oldest is forgotten")
	_, failed = middleware.FaultOf(call(t.Context(), "99", "read_more", map[string]any{"cursor": left(last).Cursor}))
	require.False(t, failed)
	res, _ := direct(t, budget.Options{Size: 300, MaxKept: 1000}, 10_000)(t.Context(), "ada", "big", nil)
	require.Empty(t, left(res).Cursor, "too large to be kept")
	require.Contains(t, note(res), "The rest cannot be shown. Ask for less at a time, if the tool allows it.")
}

// note is the last text of an answer.
func note(res mcp.Result) string {
	content := res.(*mcp.CallToolResult).Content
	return content[len(content)-1].(*mcp.TextContent).Text
}

// TestOneOwnerFillsItsOwnPlace: the answer says that an owner keeps too much, with a wait
// that is true, and other owners are not affected.
func TestOneOwnerFillsItsOwnPlace(t *testing.T) {
	for name, c := range map[string]struct {
		o    budget.Options
		size int
		kept int // of five
	}{
		"by default":      {budget.Options{Size: 300}, 15 << 20, 1},
		"of a given size": {budget.Options{Size: 300, OwnerBytes: 40_000}, 10_000, 3},
		"more than all":   {budget.Options{Size: 300, OwnerBytes: 1 << 30, MaxKept: 40_000}, 10_000, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				call := direct(t, c.o, c.size)
				adas, _ := call(t.Context(), "ada", "small", nil)
				require.NotEmpty(t, left(adas).Cursor)
				for i := range 5 {
					res, err := call(t.Context(), "mallory", "big", nil)
					require.NoError(t, err)
					if i < c.kept {
						require.NotEmpty(t, left(res).Cursor)
						time.Sleep(time.Minute)
						continue
					}
					require.Empty(t, left(res).Cursor)
					require.Contains(t, note(res), fmt.Sprintf("The rest cannot be shown: this conversation holds more than the server keeps, and there is room again in %d min. Ask for less at a time, if the tool allows it.", 10-c.kept))
				}
				_, failed := middleware.FaultOf(call(t.Context(), "ada", "read_more", map[string]any{"cursor": left(adas).Cursor}))
				require.False(t, failed, "nobody else notices")

				time.Sleep(time.Duration(10-c.kept)*time.Minute - time.Second)
				res, _ := call(t.Context(), "mallory", "big", nil)
				require.Contains(t, note(res), "there is room again in 1 s.")
				time.Sleep(time.Second)
				res, _ = call(t.Context(), "mallory", "big", nil)
				require.NotEmpty(t, left(res).Cursor, "the wait was true")
				_, failed = middleware.FaultOf(call(t.Context(), "mallory", "read_more", map[string]any{"cursor": left(res).Cursor}))
				require.False(t, failed)
			})
		})
	}
}

// TestOwnersOfNobody: callers without an identity are one owner, and the answer says so.
func TestOwnersOfNobody(t *testing.T) {
	call := direct(t, budget.Options{Size: 300, OwnerBytes: 20_000}, 10_000)
	for range 2 {
		res, _ := call(t.Context(), "", "big", nil)
		if left(res).Cursor == "" {
			require.Contains(t, note(res), "The rest cannot be shown: callers without an identity hold more than the server keeps, and there is room again in 10 min.")
			return
		}
	}
	t.Fatal("it is not bounded")
}

// TestAnAnswerThatIsNotKept: an answer that cannot be cut says so too; of several parts,
// those with room are kept.
func TestAnAnswerThatIsNotKept(t *testing.T) {
	o := budget.Options{Size: 1000, OwnerBytes: 16_000, Owner: func(context.Context, mcp.Request) string { return "ada" }}
	s := start(t, harness.Current, o)
	f := s.CallTool(t.Context(), "map", map[string]any{"limit": 1}).Fault()
	require.Len(t, f.Data().RecoverySteps, 1)
	f = s.CallTool(t.Context(), "map", map[string]any{"limit": 1}).Fault()
	require.Empty(t, f.Data().RecoverySteps)
	require.Regexp(t, `^the answer is too large: about \d+ tokens, of which 1000 are allowed\. It cannot be read in parts either: this conversation holds more than the server keeps, and there is room again in 10 min$`, f.Message())

	parts := structured(func(n int) string {
		return `{"a":` + list(n, func(int) string { return `"aaaa"` }) + `,"b":` + list(n/2, func(int) string { return `"bbbb"` }) + `}`
	})(2000) // a takes 30 KB of memory, b 15
	for name, c := range map[string]struct {
		bound budget.Options
		kept  []bool
	}{
		"both":                           {budget.Options{OwnerBytes: 50_000}, []bool{true, true}},
		"the small one":                  {budget.Options{OwnerBytes: 16_000}, []bool{false, true}},
		"one":                            {budget.Options{OwnerBytes: 40_000}, []bool{true, false}},
		"none":                           {budget.Options{OwnerBytes: 1_000}, []bool{false, false}},
		"one of all that is kept":        {budget.Options{OwnerBytes: -1, MaxKept: 40_000}, []bool{true, false}},
		"the small one of all":           {budget.Options{OwnerBytes: -1, MaxKept: 16_000}, []bool{false, true}},
		"none of a quarter of all":       {budget.Options{MaxKept: 40_000}, []bool{false, false}},
		"both of more than there can be": {budget.Options{OwnerBytes: 1 << 30, MaxKept: 50_000}, []bool{true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			c.bound.Size, c.bound.Owner = o.Size, o.Owner
			s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
				Handlers: map[string]harness.Handler{"it": harness.Return(func() *mcp.CallToolResult { return parts })}, Middleware: []mcp.Middleware{budget.New(&c.bound)},
			})
			res := s.CallTool(t.Context(), "it", nil).Tool()
			raw, err := json.Marshal(res.Meta[budget.MetaKey])
			require.NoError(t, err)
			var all []budget.LeftOut
			require.NoError(t, json.Unmarshal(raw, &all))
			require.Len(t, all, 2)
			says := map[bool]string{true: `For the rest call read_more .*`, false: `The rest cannot be shown\. Ask for less at a time, if the tool allows it\.`}
			require.Regexp(t, `^Shown: \d+ of 2000 items of 'a'\. `+says[c.kept[0]]+`\nShown: \d+ of 1000 items of 'b'\. `+says[c.kept[1]]+`$`, note(res))
			for i, kept := range c.kept {
				require.Equal(t, kept, all[i].Cursor != "")
				if kept {
					require.Nil(t, s.CallTool(t.Context(), "read_more", map[string]any{"cursor": all[i].Cursor}).Fault())
				}
			}
		})
	}
}

// TestTwoAnswersAtOnce: another answer of the same owner takes the room while this one is counted.
func TestTwoAnswersAtOnce(t *testing.T) {
	var h mcp.MethodHandler
	inner := false
	h = around(&budget.Options{
		Size: 300, OwnerBytes: 15_000, Owner: func(context.Context, mcp.Request) string { return "ada" },
		Count: func(text string) int {
			if strings.Contains(text, "read_more") && !inner {
				inner = true
				res, err := h(t.Context(), middleware.MethodCallTool, calling("it"))
				require.NoError(t, err)
				require.NotEmpty(t, left(res).Cursor)
			}
			return len(text) / 4
		},
	}, json.RawMessage(`{}`), texts(text(10_000))(1))
	res, err := h(t.Context(), middleware.MethodCallTool, calling("it"))
	require.NoError(t, err)
	require.True(t, inner)
	require.Empty(t, left(res).Cursor)
	require.Contains(t, note(res), "this conversation holds more than the server keeps")
}

// TestWhatIsKeptIsItsOwn: what a handler does with its result afterwards does not change it.
func TestWhatIsKeptIsItsOwn(t *testing.T) {
	res := texts(text(800))(5)
	h := around(&budget.Options{Size: 300}, nil, res)
	got, err := h(t.Context(), middleware.MethodCallTool, calling("it"))
	require.NoError(t, err)
	m := cursor.FindStringSubmatch(note(got))
	require.NotNil(t, m)
	clear(res.Content)
	more := calling("read_more")
	more.Params.Arguments = json.RawMessage(m[1])
	page, err := h(t.Context(), middleware.MethodCallTool, more)
	require.NoError(t, err)
	require.Contains(t, page.(*mcp.CallToolResult).Content[0].(*mcp.TextContent).Text, "A sentence")
}

// TestCursorsThatPointBeyond what is kept are unknown.
func TestCursorsThatPointBeyond(t *testing.T) {
	for name, res := range map[string]*mcp.CallToolResult{
		"items":  structured(func(n int) string { return list(n, func(int) string { return "1" }) })(2000),
		"a text": texts(text(3_000))(1),
		"blocks": texts(text(400))(10),
		"images": large["images"].answer(1000),
	} {
		h := around(&budget.Options{Size: 300}, json.RawMessage(`{}`), res)
		got, err := h(t.Context(), middleware.MethodCallTool, calling("it"))
		require.NoError(t, err)
		c := left(got).Cursor
		require.NotEmpty(t, c, name)
		for at, known := range map[string]bool{"": true, ".0.0": true, ".0.900000": false, ".5000.0": false, ".5000.1": false, ".999999999.999999999": false} {
			more := calling("read_more")
			more.Params.Arguments, _ = json.Marshal(map[string]any{"cursor": c + at})
			f, failed := middleware.FaultOf(h(t.Context(), middleware.MethodCallTool, more))
			require.Equal(t, !known, failed, name+at)
			if !known {
				require.Equal(t, fault.KindNotFound, f.Kind())
			}
		}
	}
}

func TestUsersFunctionsThatPanic(t *testing.T) {
	call := direct(t, budget.Options{
		Size: 300, Count: func(string) int { panic(harness.Canary) }, Owner: func(context.Context, mcp.Request) string { panic(harness.Canary) },
	}, 10_000)
	res, err := call(t.Context(), "ada", "big", nil)
	require.NoError(t, err)
	_, failed := middleware.FaultOf(call(t.Context(), "bob", "read_more", map[string]any{"cursor": left(res).Cursor}))
	require.False(t, failed, "nobody is known")
}

func TestSizesOfTools(t *testing.T) {
	call := direct(t, budget.Options{Size: 300, Tools: map[string]int{"free": -1, "more": 3000, "same": 0}}, 6_000)
	for tool, cut := range map[string]bool{"free": false, "more": false, "same": true, "other": true} {
		res, err := call(t.Context(), "ada", tool, nil)
		require.NoError(t, err)
		require.Equal(t, cut, res.(*mcp.CallToolResult).Meta != nil, tool)
	}
	for want, o := range map[string]budget.Options{
		"budget.New: Options.Size is negative":            {Size: -1},
		"budget.New: Options.MaxKept is negative":         {MaxKept: -1},
		`budget.New: Options.Tools["a"] is 5`:             {Tools: map[string]int{"a": 5}},
		"budget.New: Options.Tools has an empty name":     {Tools: map[string]int{"": 500}},
		"budget.New: Options.Size is 1; give 300 tokens ": {Size: 1},
	} {
		func() {
			defer func() { require.Contains(t, recover(), want) }()
			budget.New(&o)
		}()
	}
}

// TestTheBoundIsExact: what has as many tokens as are allowed is left alone.
func TestTheBoundIsExact(t *testing.T) {
	for n, whole := range map[int]bool{999: true, 1000: true, 1001: false} {
		res := texts(text(n))(1)
		got, leftOut, f := cut(t, `{}`, res)
		require.Nil(t, f)
		require.Equal(t, whole, leftOut == nil, n)
		require.Equal(t, whole, got == res, n)
	}
}
