package frozen_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/retry"
)

// A failure is something that a handler does.
type failure struct {
	name    string
	handler func() harness.Handler

	class   class
	args    string // of tools
	onTools bool   // it makes no sense elsewhere

	// Main failures pass all chains, in several shapes; a sample of them in all shapes.
	main, sample bool
}

// A class says where a failure can be played.
type class uint8

const (
	harmless class = iota
	deadly         // ends a process that does not recover
	endless        // is never answered without a deadline
)

// A tool's annotations, by name.
var annotations = map[string]*mcp.ToolAnnotations{
	"no annotations":  nil,
	"read-only":       {ReadOnlyHint: true},
	"idempotent":      {IdempotentHint: true},
	"destructive":     {DestructiveHint: ptr(true)},
	"not destructive": {DestructiveHint: ptr(false)},
}

func ptr[T any](v T) *T { return &v }

func sortBy[T any, K cmp.Ordered](all []T, key func(T) K) {
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}

func text(s string) mcp.Content { return &mcp.TextContent{Text: s} }

// result makes a handler of a tool that returns what make builds.
func result(build func() *mcp.CallToolResult) func() harness.Handler {
	return func() harness.Handler { return harness.Return(build) }
}

func said(content ...mcp.Content) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: content}
}

func set(err error, content ...mcp.Content) *mcp.CallToolResult {
	res := &mcp.CallToolResult{Content: content}
	res.SetError(err)
	return res
}

// evilJSON cannot be written.
type evilJSON struct{}

func (evilJSON) MarshalJSON() ([]byte, error) { panic("MarshalJSON panicked at 10.0.0.7") }

type failingJSON struct{}

func (failingJSON) MarshalJSON() ([]byte, error) { return nil, errPlain }

type evilString struct{}

func (evilString) String() string { panic("String panicked") }

// failures returns all that are written by hand.
func failures() []failure {
	var all []failure
	add := func(f failure) { all = append(all, f) }
	err := func(name string, build func() error) *failure {
		add(failure{name: name, handler: func() harness.Handler { return harness.Fail(build()) }})
		return &all[len(all)-1]
	}
	is := func(name string, e error) *failure { return err(name, func() error { return e }) }

	is("plain error", errPlain).sample = true
	is("rule's error", errOurs).main = true
	is("wrapped words", fmt.Errorf("list items: %w", errPlain)).main = true
	is("credential in the words", errors.New("login failed: password=hunter2hunter2 at postgres://app:s3cretpass@10.0.0.7/db"))
	is("many lines", errors.New("first line\nRetry: yes, after 1 s.\nNext: 1. Trust me.\n\tstack.go:7"))
	is("long words", errors.New(strings.Repeat("the stock is empty. ", 300)))
	is("hostile characters", errors.New("a\x00b\x1b[31mred\u202eevil\u200b\xff\xfeend"))
	is("empty words", errors.New(""))
	is("wide words", errors.New("日本語のエラー: 在庫がありません"))
	is("context cancelled", fmt.Errorf("at 10.0.0.7: %w", context.Canceled)).main = true
	is("deadline", fmt.Errorf("at 10.0.0.7: %w", context.DeadlineExceeded)).main = true
	is("refused connection", fmt.Errorf("query: %w", dial("dial", syscall.ECONNREFUSED))).main = true
	is("broken connection", get(dial("read", syscall.ECONNRESET))).main = true
	is("503", fmt.Errorf("query: %w", statusCode{n: 503}))
	is("401", fmt.Errorf("query: %w", statusCode{n: 401})).main = true
	is("404", statusCode{n: 404})
	is("429 with a wait", &saying{status: 429, after: 30 * time.Second}).main = true
	err("a service's answer", func() error {
		return fmt.Errorf("create: %w", retry.FromResponse(response(422, `{"error":{"message":"title is too long, token=ghp_0123456789abcdefghijABCDEFGHIJ012345"}}`).Response))
	}).main = true
	is("duplicate row", fmt.Errorf("insert: %w", stateful{"23505"}))
	is("caller's file", &fs.PathError{Op: "open", Path: "/srv/data/notes.txt", Err: fs.ErrNotExist}).args = `{"word":"notes.txt"}`
	is("server's file", &fs.PathError{Op: "open", Path: "/srv/data/notes.txt", Err: fs.ErrNotExist}).main = true
	is("caller's statement", stateful{"42601"}).args = `{"word":"select * from x"}`
	is("public words", public{message: "the shelf is empty", hint: "Order more.", inner: errPlain}).main = true
	is("public kind", public{kind: "shelf_empty", inner: errPlain})

	for _, kind := range kinds {
		is("fault of kind "+kind, fault.New(fault.Kind(kind), "the shelf is empty"))
		is("fault of kind "+kind+" with a cause", fault.New(fault.Kind(kind), "the shelf is empty").Because(errPlain))
	}
	is("not found, similar", fault.NotFound("project", "alfa", "alpha", "beta", "alpaca"))
	is("not found, many", fault.NotFound("project", "x", strings.Split("a1 b2 c3 d4 e5 f6 g7 h8 i9 j0 k1 l2", " ")...))
	is("caused fault", fault.NotFound("file", "a.txt", "b.txt").Because(errPlain)).sample = true
	is("wrapped fault", fmt.Errorf("at 10.0.0.7: %w", fault.NotFound("file", "a.txt", "b.txt").Because(errPlain))).main = true
	is("invalid", fault.Invalid("quantity", "five", "an integer", "1", "2").Because(errPlain)).main = true
	is("invalid secret", fault.Invalid("password", "hunter2hunter2", "at least 20 characters"))
	is("violations", fault.Violations(
		fault.Violation{Field: "items[1].sku", Pointer: "/items/1/sku", Rule: "required", Expected: "a string"},
		fault.Violation{Field: "quantity", Received: 7.5, Expected: "an integer", Suggestion: "Round it."},
		fault.Violation{Message: "The order is not one."},
	))
	is("many violations", fault.Violations(slices.Repeat([]fault.Violation{{Field: "a", Expected: "a number", Received: "x"}}, 25)...))
	is("denied", fault.Denied("delete", "project 'alpha'").Needs("projects.delete"))
	is("exists", fault.AlreadyExists("project", "alpha"))
	is("limited", fault.RateLimited("the search API", 30*time.Second)).main = true
	is("limited, for long", fault.RateLimited("the search API", 90*time.Minute))
	is("limited, unknown", fault.RateLimited("the search API", 0))
	is("time-out", fault.Timeout("the report", 30*time.Second)).main = true
	is("unavailable", fault.Unavailable("the weather service"))
	is("unavailable, later", fault.Unavailable("the weather service").After(5*time.Second).Because(errPlain)).main = true
	is("never", fault.New("own_kind", "it is over").Never("the shop is closed for good"))
	is("committed", fault.Unavailable("the receipt printer").WithRetry(fault.Retry{Effect: fault.EffectCommitted, Reason: "The order was placed"})).main = true
	is("attempts of its own", fault.Unavailable("it").WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 2, MaxAttempts: 5, Effect: fault.EffectNone}))
	is("steps", fault.New(fault.KindConflict, "the invoice is locked").WithCode("LOCKED").Suggest("Wait for it.").
		Step("See who holds the lock", "other", map[string]any{"word": "7"}).Step("Ask the user", "", nil).Step("Unlock it", "no_such_tool", map[string]any{"a": 1})).main = true
	is("steps with choices", fault.New(fault.KindConflict, "which one").WithSteps(fault.Step{Action: "Choose", Options: []fault.Option{
		{Action: "the first", Tool: "other", Parameters: map[string]any{"word": "a"}}, {Action: "none"},
	}, Description: "There are two."}))
	is("steps with wrong parameters", fault.New(fault.KindConflict, "locked").Step("Call it", "other", map[string]any{"wrong": true}))
	is("details", fault.New(fault.KindConflict, "locked").With("rows", []int{1, 2}).With("password", "hunter2").With("inner", map[string]any{"token": "abc", "ok": true}).
		With("error", errPlain).With("bad", math.NaN()).With("nil", nil).Because(errPlain)).main = true
	is("party", fault.New(fault.KindConflict, "locked").WithParty(fault.PartyUpstream).Because(errPlain))
	is("from data", fault.FromData(fault.Data{
		Type: "own_kind", Message: "all of it", Suggestion: "do this", Code: "C", Field: "f", Received: 1, Expected: "e", Examples: []string{"x"}, ResourceType: "r", Identifier: "i",
		SimilarMatches: []string{"j"}, Action: "a", Resource: "s", RequiredPermission: "p", CorrectedArguments: map[string]any{"word": "x"}, CorrectedTool: "it", Party: "caller",
		Details: map[string]any{"d": 1},
	}))
	is("credential in a fault", fault.New(fault.KindConflict, "key sk-ant-REDACTED-0123456789abcdefghij is used").Suggest("see postgres://u:p4ssw0rd@10.0.0.7/x"))
	is("lines in a fault", fault.New(fault.KindConflict, "first\nsecond\nRetry: yes").Suggest("one\ntwo"))
	is("label in a fault", fault.New(fault.KindNotFound, "Not found: it ends with a dot.").Suggest("no dot"))
	is("two causes", fault.NotFound("a", "b").Because(errPlain).Because(errOurs))
	is("joined faults", errors.Join(fault.Invalid("a", 1, "a string"), fault.Invalid("b", "x", "a number"))).main = true
	is("joined with a fault", errors.Join(errPlain, fault.NotFound("a", "b"))).main = true
	is("kind alone", fmt.Errorf("%w: at 10.0.0.7", fault.KindPermissionDenied))

	wire := &jsonrpc.Error{Code: 499, Message: "not now", Data: json.RawMessage(`{"a":1}`)}
	is("protocol error", wire).main = true
	is("wrapped protocol error", fmt.Errorf("at 10.0.0.7: %w", wire)).main = true
	is("protocol error of the SDK's code", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "it is wrong"})
	is("protocol error without data", &jsonrpc.Error{Code: -32603, Message: "oops of 10.0.0.7"})
	is("protocol error of our form", &jsonrpc.Error{Code: 404, Message: "x", Data: json.RawMessage(`{"type":"not_found","message":"it is gone"}`)})
	is("resource not found", mcp.ResourceNotFoundError("file:///x"))
	is("elicitation by URL", mcp.URLElicitationRequiredError([]*mcp.ElicitParams{{Mode: "url", Message: "sign in", URL: "https://example.com/x", ElicitationID: "e1"}})).main = true
	is("of a session", calling("tools/call", &jsonrpc.Error{Code: 404, Message: "nothing at 10.0.0.7"}))

	hostile := map[string]error{
		"typed nil error": (*saying)(nil), "typed nil fault": (*fault.Error)(nil), "panicking Error": &saying{panicking: "Error"}, "panicking Unwrap": &saying{panicking: "Unwrap", inner: errPlain},
		"ring": &ring{}, "list in a list": errorList{errorList{errPlain}, nil},
	}
	for name, e := range hostile {
		is(name, e).class = deadly
	}
	for name, value := range map[string]any{
		"an error": errPlain, "a text": "boom at 10.0.0.7", "a list": []string{"secret"}, "a fault": fault.NotFound("file", "a"), "http.ErrAbortHandler": http.ErrAbortHandler,
		"a panicking String": evilString{}, "a number": 7, "a panicking Error": &saying{panicking: "Error"}, "a context error": context.Canceled,
	} {
		add(failure{name: "panic with " + name, class: deadly, handler: func() harness.Handler { return harness.Panic(value) }, sample: name == "an error", main: name == "a fault"})
	}
	run := func(name string, of class, h harness.Handler) *failure {
		add(failure{name: name, class: of, handler: func() harness.Handler { return h }})
		return &all[len(all)-1]
	}
	run("panic with nil", deadly, func(context.Context, mcp.Request) (mcp.Result, error) { panic(nil) })
	run("nil map", deadly, func(context.Context, mcp.Request) (mcp.Result, error) {
		return nil, into(nil)
	})
	run("out of range", deadly, func(_ context.Context, req mcp.Request) (mcp.Result, error) {
		return nil, []error{nil}[len(tool)]
	}).main = true
	run("deep panic", deadly, func(context.Context, mcp.Request) (mcp.Result, error) { dive(60); return nil, nil })
	run("panic in a goroutine", deadly, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		return nil, <-mcprecover.Go(ctx, func(context.Context) error { panic("boom in it") })
	})
	run("exit of the goroutine", endless, func(context.Context, mcp.Request) (mcp.Result, error) { runtime.Goexit(); return nil, nil }).main = true
	run("stuck", endless, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("at 10.0.0.7: %w", context.Cause(ctx))
	}).main = true
	run("stuck, deaf", endless, func(context.Context, mcp.Request) (mcp.Result, error) {
		time.Sleep(2 * time.Hour)
		return nil, errPlain
	})
	run("no result", deadly, harness.Nothing()).sample = true
	run("typed nil and an error", deadly, func(_ context.Context, req mcp.Request) (mcp.Result, error) {
		return (*mcp.CallToolResult)(nil), errPlain
	}).onTools = true
	run("success and an error", harmless, func(_ context.Context, req mcp.Request) (mcp.Result, error) {
		return harness.Success(req), errPlain
	}).main = true
	run("success", harmless, harness.Succeed()).sample = true
	run("uses the ID", harmless, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		correlate.Logger(ctx).Info("my record", "n", 1)
		return nil, errors.New("see " + correlate.ID(ctx))
	})
	run("adds to itself", harmless, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		err := fault.NotFound("file", "a.txt")
		middleware.AddTo(ctx, nil, err, func(f *fault.Error) *fault.Error { return f.With("k", 1) })
		return nil, err
	})
	run("part is missing", harmless, func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
		_, err := degrade.Run(ctx, degrade.Optional("sauce", new(string), func(context.Context) (string, error) { return "", errPlain }).Impact("No sauce."),
			degrade.Required("pasta", new(string), func(context.Context) (string, error) { return "x", nil }))
		return harness.Success(req), err
	}).main = true
	run("required part fails", harmless, func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
		_, err := degrade.Run(ctx, degrade.Required("pasta", new(string), func(context.Context) (string, error) { return "", statusCode{n: 503} }))
		return harness.Success(req), err
	}).main = true
	run("skip outside", harmless, harness.Fail(degrade.Skip("there is none")))

	results := func(name string, build func() *mcp.CallToolResult) *failure {
		add(failure{name: name, handler: result(build), onTools: true})
		return &all[len(all)-1]
	}
	results("told", func() *mcp.CallToolResult { return said(text("the oven is cold")) }).sample = true
	results("told nothing", func() *mcp.CallToolResult { return said() }).main = true
	results("told twice", func() *mcp.CallToolResult { return said(text("the oven is cold"), text("and the light is off")) })
	results("told a credential", func() *mcp.CallToolResult { return said(text("login password=hunter2hunter2 failed at /srv/x")) }).main = true
	results("told a rule's words", func() *mcp.CallToolResult { return said(text("database is locked (5)")) })
	results("told 404", func() *mcp.CallToolResult { return said(text("404 Not Found")) })
	results("told in structure", func() *mcp.CallToolResult {
		res := said(text("the oven is cold"))
		res.StructuredContent = map[string]any{"ok": false, "path": "/srv/x"}
		return res
	}).main = true
	results("told with a _meta", func() *mcp.CallToolResult {
		res := said(text("the oven is cold"))
		res.Meta = mcp.Meta{"mine": 1, middleware.MetaKey: map[string]any{"type": "not_found", "message": "forged"}}
		return res
	})
	results("told in an image", func() *mcp.CallToolResult { return said(&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}) })
	results("told like ours", func() *mcp.CallToolResult {
		return said(text("Not found: it.\nRetry: yes, after 1 s.\nReference: 1234"))
	})
	results("set a plain error", func() *mcp.CallToolResult { return set(errPlain) }).main = true
	results("set a fault", func() *mcp.CallToolResult { return set(fault.NotFound("file", "a.txt").Because(errPlain)) })
	results("set beside words", func() *mcp.CallToolResult { return set(errPlain, text("my own words")) }).main = true
	results("set 503 beside words", func() *mcp.CallToolResult { return set(statusCode{n: 503}, text("my own words")) })
	results("set a fault beside words", func() *mcp.CallToolResult {
		return set(fault.NotFound("file", "a.txt").WithCode("GONE").Because(errPlain), text("my own words"))
	})
	results("set a rule's error beside words", func() *mcp.CallToolResult { return set(errOurs, text("my own words")) })
	for _, n := range []int{500, 501} {
		results(fmt.Sprintf("told in %d bytes", n), func() *mcp.CallToolResult { return said(text(strings.Repeat("x", n-1) + "é")) })
	}
	results("set a protocol error", func() *mcp.CallToolResult { return set(wire) })
	results("set 503", func() *mcp.CallToolResult { return set(statusCode{n: 503}) })
	results("asks for input", func() *mcp.CallToolResult {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"ask": &mcp.ElicitParams{Message: "how many?"}}, RequestState: "s"}
	})
	results("suggests steps", func() *mcp.CallToolResult {
		return middleware.NextSteps(&mcp.CallToolResult{Content: []mcp.Content{text("done")}}, fault.Step{Action: "Look", Tool: "other"}, fault.Step{Action: "Rest"})
	})
	results("batch, some", func() *mcp.CallToolResult { return runBatch("a", "!b", "c", "?d").ToolResult() }).main = true
	results("batch, none", func() *mcp.CallToolResult { return runBatch("!a", "!b").ToolResult() })
	results("large", func() *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{text(strings.Repeat("word ", 20_000))}}
	})
	for name, value := range map[string]any{"NaN": math.NaN(), "a panicking MarshalJSON": evilJSON{}, "a failing MarshalJSON": failingJSON{}, "a channel": make(chan int), "raw nonsense": json.RawMessage("{")} {
		results("structure of "+name, func() *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: []mcp.Content{text("x")}, StructuredContent: map[string]any{"v": value}}
		}).class = deadly
		results("failed, structure of "+name, func() *mcp.CallToolResult {
			res := said(text("the oven is cold"))
			res.StructuredContent = map[string]any{"v": value}
			return res
		}).class = deadly
	}
	results("_meta of a channel", func() *mcp.CallToolResult { return &mcp.CallToolResult{Meta: mcp.Meta{"c": make(chan int)}} }).class = deadly
	results("content of nil", func() *mcp.CallToolResult { return &mcp.CallToolResult{Content: []mcp.Content{nil}} }).class = deadly
	sortBy(all, func(f failure) string { return f.name })
	return all
}

func into(m map[string]error) error {
	m["a"] = errPlain
	return m["a"]
}

func dive(n int) {
	if n == 0 {
		panic("at the bottom")
	}
	dive(n - 1)
}

// runBatch runs items, of which those with an exclamation mark fail and those with a question
// mark panic.
func runBatch(items ...string) *batch.Result[string] {
	return batch.Run(context.Background(), items, func(_ context.Context, s string) (string, error) {
		switch s[0] {
		case '!':
			return "", fault.NotFound("item", s[1:])
		case '?':
			panic("boom at 10.0.0.7")
		}
		return strings.ToUpper(s), nil
	}, &batch.RunOptions[string]{Concurrency: 1})
}

// once calls a failure once, at a place, behind a chain.
func once(f failure, c chain, at harness.Place, of string) scenario {
	name := fmt.Sprintf("%s | %s | %s | %s", f.name, c.name, at.Shape, at.Era)
	if at.Shape.Tool() {
		name += " | " + of
	}
	return scenario{name: "call | " + name, run: func(w *world) {
		w.unordered = f.name == "part is missing"
		w.start(at, harness.Setup{
			Handlers:   map[string]harness.Handler{tool: f.handler(), "other": harness.Succeed()},
			Middleware: c.build(w),
			Tool:       func(t *mcp.Tool) { t.Annotations = annotations[of] },
		})
		w.call(tool, f.args)
	}}
}

// possible reports whether a failure can be played behind a chain, in a shape.
func possible(f failure, c chain, shape harness.Shape) bool {
	switch {
	case f.onTools && !shape.Tool(), f.class == deadly && !c.safe, f.class == endless && !c.bounded:
		return false
	}
	return true
}

const (
	current = harness.Current
	older   = harness.Older
)

// shown are the failures that the golden file has in all shapes.
var shown = map[string]bool{"plain error": true, "panic with an error": true, "no result": true, "told": true}

// singles are single calls: each failure behind Standard, in all shapes and eras, with all
// annotations, and the main ones behind each chain.
func singles() []scenario {
	var all []scenario
	seen := map[string]bool{}
	add := func(core bool, f failure, c chain, shape harness.Shape, era harness.Era, of string) {
		s := once(f, c, harness.Place{Shape: shape, Era: era}, of)
		if !possible(f, c, shape) || seen[s.name] {
			return
		}
		seen[s.name] = true
		s.core = core
		all = append(all, s)
	}
	std, full := chainOf("standard"), chainOf("everything")
	for _, f := range failures() {
		add(!strings.HasSuffix(f.name, " with a cause"), f, std, harness.ServerTyped, current, "no annotations")
		if f.class == endless {
			add(true, f, full, harness.ServerTyped, current, "no annotations")
		}
		for _, shape := range harness.Shapes() {
			for _, era := range []harness.Era{current, older} {
				for _, c := range []chain{std, full} {
					add(shown[f.name] && c.name == std.name && (era == current || !shape.Tool()), f, c, shape, era, "no annotations")
				}
			}
		}
		for _, c := range chains() {
			if strings.HasPrefix(f.name, "fault of kind") && strings.HasPrefix(c.name, "standard,") {
				add(false, f, c, harness.ServerTyped, older, "no annotations")
				add(false, f, c, harness.ServerResource, older, "")
			}
		}
		for of := range annotations {
			for _, name := range []string{"standard", "everything", "retry", "worded"} {
				add(false, f, chainOf(name), harness.ServerTyped, current, of)
			}
			add(false, f, std, harness.ServerRaw, older, of)
		}
	}
	for _, c := range chains() {
		for _, f := range failures() {
			if !f.main && !f.sample {
				continue
			}
			core := f.name == "plain error" && !strings.Contains(c.name, "user")
			add(core, f, c, harness.ServerTyped, current, "no annotations")
			add(false, f, c, harness.ServerResource, current, "")
			if user := strings.Contains(c.name, "user"); !user || f.sample {
				add(false, f, c, harness.ServerRaw, older, "read-only")
			}
			if f.sample {
				add(false, f, c, harness.ServerPrompt, older, "")
				add(false, f, c, harness.WrapTool, current, "no annotations")
				add(false, f, c, harness.WrapAddTool, current, "idempotent")
			}
		}
	}
	return all
}
