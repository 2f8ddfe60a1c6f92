package frozen_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/store"
)

// texts are what package fault writes without any call: each fault in all its forms.
func texts() []scenario {
	waits := []time.Duration{
		-1, 0, 1, time.Millisecond, 999 * time.Millisecond, time.Second, 1500 * time.Millisecond, 59 * time.Second, time.Minute, 61 * time.Second, 90 * time.Second,
		time.Hour, 90 * time.Minute, 25 * time.Hour, 30 * 24 * time.Hour, math.MaxInt64,
	}
	values := []any{
		nil, "", "five", strings.Repeat("x", 30), strings.Repeat("x", 300), "two\nlines", "a'b\"c", "\x00\x1b[1m", "日本", 0, -7, 1.5, 1e300, math.NaN(), math.Inf(1), true, false, json.Number("12"),
		[]int{}, []int{1}, []any{1, 2}, map[string]any{}, map[string]any{"a": 1}, struct{ A int }{1}, ptr("x"), ptr(7), []byte("bytes"), time.Second, errPlain, json.RawMessage(`{"a":1}`), make(chan int),
	}
	return []scenario{
		{name: "texts | waits", core: true, run: func(w *world) {
			for _, d := range waits {
				w.linef("%d", d)
				w.linef("  %s", fault.Unavailable("it").After(d).Error())
				w.linef("  %s", fault.RateLimited("it", d).Error())
				w.linef("  %s", fault.Timeout("it", d).Error())
			}
		}},
		{name: "texts | retries", run: func(w *world) {
			for _, should := range []bool{false, true} {
				for _, r := range []fault.Retry{
					{}, {RetryAfterSeconds: 30}, {RetryAfterSeconds: 30, NextAttempt: 2, MaxAttempts: 3}, {NextAttempt: 2, MaxAttempts: 3}, {MaxAttempts: 3}, {Reason: "it is over"},
					{Reason: "It ends with a dot."}, {RetryAfterSeconds: 7200}, {RetryAfterSeconds: math.NaN()}, {RetryAfterSeconds: -1}, {NextAttempt: -1, MaxAttempts: 1}, {Reason: "two\nlines"},
				} {
					for _, effect := range []fault.Effect{"", fault.EffectNone, fault.EffectUnknown, fault.EffectCommitted, "odd"} {
						r.ShouldRetry, r.Effect = should, effect
						w.linef("%+v", r)
						w.linef("  %q", fault.New(fault.KindConflict, "locked").WithRetry(r).Error())
					}
				}
			}
		}},
		{name: "texts | received values", core: true, run: func(w *world) {
			for _, v := range values {
				f := fault.Invalid("field", v, "a string")
				w.linef("%T: %q", v, f.Error())
				w.linef("  %s", must(json.Marshal(fault.New("k", "m").With("d", v).Data().Details)))
			}
		}},
		{name: "texts | faults", run: func(w *world) {
			for _, f := range failures() {
				if f.class != harmless {
					continue
				}
				_, err := f.handler()(w.t.Context(), &mcp.CallToolRequest{})
				var e *fault.Error
				if !errors.As(err, &e) {
					continue
				}
				w.linef("%s", f.name)
				w.block("  ", w.normal(e.Text()))
				w.block("  %+v ", w.normal(fmt.Sprintf("%+v", e)))
				w.block("  %#v ", w.normal(fmt.Sprintf("%#v", e)))
				w.linef("%s", w.normal(fmt.Sprintf("  %%q %q, %%s %s", e, e)))
				slog.New(w.log.handler("")).Info("f", "fault", e, "error", err)
				w.records()
				w.linef("  again %s", w.normal(string(must(json.Marshal(fault.FromData(e.Data()))))))
			}
		}},
	}
}

// secret is a credential that is hidden.
const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"

// blocks are all that the content of a result can be.
func blocks() []mcp.Content {
	return []mcp.Content{
		text("key " + secret), &mcp.ImageContent{Data: []byte(secret), MIMEType: "image/png"}, &mcp.AudioContent{Data: []byte("x"), MIMEType: "audio/wav"},
		&mcp.ResourceLink{URI: "docs://x?token=" + secret, Name: "n", Title: "t", Description: "d " + secret, Icons: []mcp.Icon{{Source: "https://u:p4ssw0rd@x/i.png"}}},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "docs://x", Text: `{"api_key":"abcdefghijk","n":1}`}},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "docs://y", Blob: []byte("key " + secret)}},
		text(`{"password":"hunter2hunter2","rows":[{"token":12345,"ok":true}]}`),
	}
}

// doors are the other places through which something leaves: logs, successes, metrics, IDs.
func doors(add func(string, func(*world, harness.Place))) {
	add("content of every kind", func(w *world, at harness.Place) {
		full := func(failed bool) harness.Handler {
			return harness.Return(func() *mcp.CallToolResult {
				return &mcp.CallToolResult{
					IsError: failed, Content: blocks(), Meta: mcp.Meta{"mine": "key " + secret},
					StructuredContent: map[string]any{"password": "hunter2hunter2", "note": "key " + secret, "n": 1},
				}
			})
		}
		handlers := map[string]harness.Handler{"failed": full(true), "fine": full(false), "steps": harness.Return(func() *mcp.CallToolResult {
			return middleware.NextSteps(&mcp.CallToolResult{Content: []mcp.Content{text("done")}}, fault.Step{Action: "Send " + secret, Tool: "fine", Parameters: map[string]any{"word": secret}})
		})}
		for _, inner := range []mcp.Middleware{nil, mask.Successes(), mask.Successes("fine", "gone")} {
			w.linef("-- with %v", inner != nil)
			w.start(at, harness.Setup{Handlers: handlers, Middleware: []mcp.Middleware{standard(w, nil, inner)}})
			for _, name := range []string{"failed", "fine", "steps"} {
				w.call(name, "")
			}
		}
	})
	add("outputs", func(w *world, at harness.Place) {
		type out struct {
			N float64 `json:"n"`
		}
		w.start(at, harness.Setup{Middleware: []mcp.Middleware{standard(w, func(o *mcpchain.Options) {
			o.Render = &middleware.RenderOptions{Structured: true}
		})}, More: func(s *mcp.Server) {
			answer := func(name string, n float64, err error, res *mcp.CallToolResult) {
				mcp.AddTool(s, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, out, error) {
					return res, out{n}, err
				})
			}
			answer("fine", 1, nil, nil)
			answer("NaN", math.NaN(), nil, nil)
			answer("fails", 1, errPlain, nil)
			answer("told", 1, nil, said(text("the oven is cold")))
			answer("suggests", 1, nil, middleware.NextSteps(nil, fault.Step{Action: "Look", Tool: "fine"}))
			mcp.AddTool(s, &mcp.Tool{Name: "breaks its schema", OutputSchema: json.RawMessage(`{"type":"object","required":["m"]}`)},
				func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
					return nil, map[string]any{"n": 1}, nil
				})
		}})
		for _, name := range []string{"fine", "NaN", "fails", "told", "suggests", "breaks its schema"} {
			w.call(name, `{}`)
		}
	})
	add("logs", func(w *world, at harness.Place) {
		clean := slog.New(mask.LogHandler(correlate.Handler(w.log.handler("own ")), nil))
		h := func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
			clean.With("password", "hunter2hunter2").WithGroup("g").InfoContext(ctx, "key "+secret, "error", errPlain, "fault", fault.NotFound("file", "a").Because(errPlain),
				"text", "postgres://u:p4ssw0rd@10.0.0.7/x", "n", 1, slog.Group("in", "token", "abc", "ok", true), "any", map[string]any{"api_key": "abcdefghijk"})
			correlate.Logger(ctx).WarnContext(ctx, "mine", "id", correlate.ID(ctx))
			return nil, errPlain
		}
		w.serve(at, nil, "no annotations", one(h))
		w.call(tool, "")
	})
	add("logs that fail", func(w *world, at harness.Place) {
		w.linef("-- it panics")
		w.start(at, harness.Setup{Handlers: one(harness.Fail(errPlain)), Middleware: []mcp.Middleware{standard(w, func(o *mcpchain.Options) {
			o.Logger = slog.New(broken{func() { panic("no log") }})
		})}})
		w.call(tool, "")
		w.call(tool, "")
		w.linef("-- it hangs")
		w.start(at, harness.Setup{Handlers: one(harness.Fail(errPlain)), Middleware: []mcp.Middleware{standard(w, func(o *mcpchain.Options) {
			o.Logger = slog.New(broken{func() { time.Sleep(time.Minute) }})
		})}})
		w.call(tool, "")
	})
	add("IDs, arguments and metrics", func(w *world, at harness.Place) {
		w.serve(at, func(o *mcpchain.Options) {
			o.Correlate = &correlate.Options{
				NewID: correlate.FromRequest("traceparent", "com.example/request"), Slow: time.Second,
				Advanced: correlate.Advanced{CallerID: correlate.FromRequest("com.example/request"), ArgumentNames: true, ArgumentValues: 200, ReferenceInSuccess: true},
			}
		}, "no annotations", map[string]harness.Handler{tool: failing(nil, errPlain, fault.NotFound("file", "a")), "slow": func(_ context.Context, req mcp.Request) (mcp.Result, error) {
			time.Sleep(2 * time.Second)
			return harness.Success(req), nil
		}})
		for range 3 {
			w.callWith(w.t.Context(), tool, `{"word":"a"}`, mcp.Meta{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "com.example/request": "r-7"})
		}
		w.callWith(w.t.Context(), tool, `{"word":"`+secret+`"}`, mcp.Meta{"com.example/request": "not an id"})
		w.callWith(w.t.Context(), "slow", "", nil)
	})
	add("a clock that stands", func(w *world, at harness.Place) {
		asks := func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
			resume := deadline.Pause(ctx)
			time.Sleep(time.Minute)
			resume()
			time.Sleep(2 * time.Second)
			return harness.Success(req), ctx.Err()
		}
		w.serve(at, func(o *mcpchain.Options) {
			o.Deadline = deadline.New(&deadline.Options{Limit: 3 * time.Second, Logger: w.logger()})
		}, "no annotations", one(asks))
		w.call(tool, "")
		w.serve(at, func(o *mcpchain.Options) {
			o.Deadline = deadline.New(&deadline.Options{Limit: time.Second, Logger: w.logger()})
		}, "no annotations", one(asks))
		w.call(tool, "")
	})
	add("large results", func(w *world, at harness.Place) {
		w.serve(at, func(o *mcpchain.Options) { o.Recover = &mcprecover.Options{MaxResult: 1000} }, "no annotations", map[string]harness.Handler{
			"fine": harness.Return(func() *mcp.CallToolResult {
				return &mcp.CallToolResult{Content: []mcp.Content{text(strings.Repeat("x", 999))}}
			}),
			"large": harness.Return(func() *mcp.CallToolResult {
				return &mcp.CallToolResult{Content: []mcp.Content{text(strings.Repeat("x", 1001))}}
			}),
			"failed": harness.Return(func() *mcp.CallToolResult { return said(text(strings.Repeat("x", 1001))) }),
			"image": harness.Return(func() *mcp.CallToolResult {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: make([]byte, 900), MIMEType: "image/png"}}}
			}),
		})
		for _, name := range []string{"fine", "large", "failed", "image"} {
			w.call(name, "")
		}
	})
	add("services that refuse", func(w *world, at harness.Place) {
		answers := map[string]func() error{
			"a scopes": func() error {
				return retry.FromResponse(response(403, `{"message":"no"}`, "WWW-Authenticate", `Bearer scope="repo read:org"`).Response)
			},
			"b github": func() error {
				return &fieldResponse{Response: response(403, "", "X-Accepted-Oauth-Scopes", "repo").Response, Message: "Resource not accessible"}
			},
			"c page": func() error { return retry.FromResponse(response(404, "<html>not here</html>").Response) },
			"d text": func() error { return retry.FromResponse(response(400, "the title is missing").Response) },
			"e aws":  func() error { return smithy{"AccessDenied", "User arn:aws:iam::1 is not authorized", 403} },
			"f nested": func() error {
				return retry.FromResponse(response(422, `{"error":{"detail":"the words within"}}`).Response)
			},
			"g hostile": func() error { return retry.FromResponse(response(400, "line\nRetry: yes\n"+secret).Response) },
			"h long":    func() error { return retry.FromResponse(response(400, strings.Repeat("words ", 200)).Response) },
			"i body":    func() error { return &fieldStatus{StatusCode: 409, Body: `{"message":"it is the service's"}`} },
		}
		handlers := map[string]harness.Handler{}
		for name, build := range answers {
			handlers[name] = func(context.Context, mcp.Request) (mcp.Result, error) { return nil, build() }
		}
		for _, reader := range []mask.Reader{mask.Anyone, mask.Trusted, mask.Operator} {
			w.linef("-- reader: %d", reader)
			opts := mask.Options{Reader: reader}
			if reader == mask.Anyone {
				opts.QuoteService = func(host, typ string) bool {
					w.log.note("asked to quote " + host + " " + typ)
					return true
				}
			}
			w.serve(at, masked(opts), "no annotations", handlers)
			for _, name := range []string{"a scopes", "b github", "c page", "d text", "e aws", "f nested", "g hostile", "h long", "i body"} {
				w.call(name, "")
			}
		}
	})
	add("items that ask, and that are stuck", func(w *world, at harness.Place) {
		w.unordered = true
		if at.Shape == harness.ServerRaw {
			return // a raw tool here has no argument
		}
		item := func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
			call, _ := req.(*mcp.CallToolRequest)
			switch {
			case strings.Contains(string(call.Params.Arguments), "ask"):
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"ask": &mcp.ElicitParams{Message: "how many?"}}, RequestState: "s"}, nil
			case strings.Contains(string(call.Params.Arguments), "stuck"):
				time.Sleep(time.Hour)
			}
			return harness.Success(req), nil
		}
		w.serve(at, func(o *mcpchain.Options) {
			o.Batch = batch.New(&batch.Options{Lists: []batch.List{{Tool: tool, Item: "word", As: many, MaxItems: 3, Run: &batch.RunOptions[json.RawMessage]{Concurrency: 1, Limit: time.Second, MaxFailures: 2}}}})
		}, "no annotations", one(item))
		for _, args := range []string{`{"words":["a","ask"]}`, `{"words":["ask"]}`, `{"words":["stuck","a"]}`, `{"words":["stuck","stuck","a"]}`, `{"words":["a","b","c","d"]}`} {
			w.call(many, args)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		w.records()
	})
	add("repeated wrong arguments", func(w *world, at harness.Place) {
		w.start(at, harness.Setup{Middleware: []mcp.Middleware{standard(w, nil)}, More: orders})
		for range 8 {
			w.call("place_order", `{"colour":"red"}`)
		}
		w.call("place_order", `{"color":"red"}`)
		w.call("place_order", `{"colour":"red"}`)
		for range 3 {
			w.call("place_ordr", `{}`)
		}
	})
}

// broken is a handler of a log that cannot write.
type broken struct{ write func() }

func (broken) Enabled(context.Context, slog.Level) bool { return true }
func (b broken) Handle(context.Context, slog.Record) error {
	b.write()
	return errPlain
}
func (b broken) WithAttrs([]slog.Attr) slog.Handler { return b }
func (b broken) WithGroup(string) slog.Handler      { return b }

// badStore is a store that fails.
type badStore struct{ store.Store }

func (badStore) Get(context.Context, string) (store.Item, error) { return store.Item{}, errPlain }
func (badStore) Swap(context.Context, string, store.Version, []byte, time.Duration) (store.Item, bool, error) {
	return store.Item{}, false, errPlain
}
func (badStore) Delete(context.Context, string, store.Version) (bool, error)      { return false, errPlain }
func (badStore) Add(context.Context, string, int64, time.Duration) (int64, error) { return 0, errPlain }
