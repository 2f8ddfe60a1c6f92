package frozen_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	retryclient "github.com/mcpchain/mcpchain/retry/client"
	"github.com/mcpchain/mcpchain/state"
	"github.com/mcpchain/mcpchain/task"
)

// The keys in the _meta of a request.
const (
	attemptKey = "io.github.mcpchain/attempt"
	replayKey  = "io.modelcontextprotocol/idempotencyKey"
)

// serve starts a server with tools behind Standard, whose options change sets.
func (w *world) serve(at harness.Place, change func(*mcpchain.Options), of string, handlers map[string]harness.Handler) {
	w.start(at, harness.Setup{
		Handlers: handlers, Middleware: []mcp.Middleware{standard(w, change)},
		Tool: func(t *mcp.Tool) { t.Annotations = annotations[of] },
	})
}

// failing returns a handler that fails with each of the errors in turn, with the last one from
// then on; nil is a success.
func failing(errs ...error) harness.Handler {
	n := 0
	return func(_ context.Context, req mcp.Request) (mcp.Result, error) {
		err := errs[min(n, len(errs)-1)]
		n++
		if err != nil {
			return nil, err
		}
		return harness.Success(req), nil
	}
}

func one(h harness.Handler) map[string]harness.Handler {
	return map[string]harness.Handler{tool: h, "other": harness.Succeed()}
}

// long are the sequences that stand in the dump only, because the golden file is to be read.
var long = map[string]bool{
	"a tool is broken": true, "wrong arguments, again and again": true, "nothing is refused": true, "attempts that the caller counts": true, "deadlines, read-only": true,
	"repeats, plain error, no annotations": true, "repeats, plain error, read-only": true, "repeats, 503, no annotations": true, "repeats, 503, read-only": true, "repeats, wait, no annotations": true, "repeats, wait, read-only": true,
	"repeats, then it succeeds": true, "methods that fail": true, "repeats, fault, no annotations": true, "one error, again and again, through one result": true,
	"list form, wrong arguments": true, "content of every kind": true, "services that refuse": true, "repeated wrong arguments": true,
	"items that ask, and that are stuck": true, "large results": true, "not ready": true, "replay, and a client that tries again": true, "replay, run again": true,
}

// sequences are cases of several calls.
func sequences() []scenario {
	all := names()
	add := func(name string, run func(w *world, at harness.Place)) {
		for _, era := range []harness.Era{current, older} {
			for _, shape := range []harness.Shape{harness.ServerTyped, harness.ServerRaw} {
				all = append(all, scenario{
					name: fmt.Sprintf("sequence | %s | %s | %s", name, shape, era), core: era == current && shape == harness.ServerTyped && !long[name],
					run: func(w *world) { run(w, harness.Place{Shape: shape, Era: era}) },
				})
			}
		}
	}
	breakers(add)
	refusals(add)
	lists(add)
	ends(add)
	others(add)
	doors(add)
	return append(all, texts()...)
}

// breakers are repetitions.
func breakers(add func(string, func(*world, harness.Place))) {
	for name, err := range map[string]error{"plain error": errPlain, "503": statusCode{n: 503}, "fault": fault.NotFound("file", "a.txt"), "wait": fault.Unavailable("it").After(4 * time.Second)} {
		for _, of := range []string{"no annotations", "read-only"} {
			add(fmt.Sprintf("repeats, %s, %s", name, of), func(w *world, at harness.Place) {
				w.serve(at, nil, of, one(failing(err)))
				for range 8 {
					w.call(tool, `{"word":"a"}`)
				}
				w.call(tool, `{"word":"b"}`)
				time.Sleep(2 * time.Second)
				w.linef("2 s later")
				w.call(tool, `{"word":"a"}`)
				w.call(tool, `{"word":"a"}`)
				time.Sleep(40 * time.Second)
				w.linef("42 s later: the pause is over")
				w.call(tool, `{"word":"a"}`)
				w.call(tool, `{"word":"a"}`)
			})
		}
	}
	add("an outage of a caller that does as told", func(w *world, at harness.Place) {
		w.serve(at, nil, "read-only", one(failing(statusCode{n: 503})))
		for range 6 {
			w.call(tool, `{"word":"a"}`)
			time.Sleep(time.Minute)
		}
		w.call(tool, `{"word":"b"}`)
	})
	add("repeats, then it succeeds", func(w *world, at harness.Place) {
		w.serve(at, nil, "no annotations", one(failing(errPlain, errPlain, errPlain, errPlain, errPlain, errPlain, nil, errPlain)))
		for range 7 {
			w.call(tool, `{"word":"a"}`)
		}
		w.call("other", "")
		w.linef("after a success of another tool")
		for range 3 {
			w.call(tool, `{"word":"a"}`)
		}
	})
	add("a tool is broken", func(w *world, at harness.Place) {
		w.serve(at, nil, "read-only", one(harness.Panic(errPlain)))
		for i := range 22 {
			w.call(tool, fmt.Sprintf(`{"word":"%d"}`, i))
		}
	})
	add("wrong arguments, again and again", func(w *world, at harness.Place) {
		w.serve(at, nil, "no annotations", one(harness.Fail(fault.Invalid("word", "x", "a number"))))
		for range 8 {
			w.call(tool, `{"word":"x"}`)
		}
	})
	add("attempts that the caller counts", func(w *world, at harness.Place) {
		w.serve(at, nil, "read-only", one(failing(statusCode{n: 503})))
		for _, n := range []any{1, 2, 3, 9, -1, "2", 1e9} {
			w.callWith(w.t.Context(), tool, `{"word":"a"}`, mcp.Meta{attemptKey: n})
		}
	})
	add("not ready", func(w *world, at harness.Place) {
		w.serve(at, nil, "read-only", one(failing(retry.NotReady("the index", 20*time.Second), retry.NotReady("the index", 20*time.Second), retry.NotReady("the index", 0))))
		for range 8 {
			w.call(tool, "")
		}
	})
	add("nothing is refused", func(w *world, at harness.Place) {
		w.serve(at, func(o *mcpchain.Options) { o.Retry.RefuseAfter = -1 }, "read-only", one(failing(errPlain)))
		for range 8 {
			w.call(tool, "")
		}
	})
	add("the server tries again", func(w *world, at harness.Place) {
		w.serve(at, func(o *mcpchain.Options) {
			o.RetryServer = retry.Server(&retry.ServerOptions{InitialInterval: time.Microsecond})
		}, "read-only", one(failing(statusCode{n: 503}, statusCode{n: 503}, nil, errPlain, nil, statusCode{n: 503})))
		for range 4 {
			w.call(tool, "")
		}
	})
	add("the client tries again", func(w *world, at harness.Place) {
		w.serve(at, nil, "read-only", one(failing(statusCode{n: 503}, statusCode{n: 503}, nil, errPlain, fault.Unavailable("it").After(2*time.Second), nil)))
		w.session.Caller.AddSendingMiddleware(retryclient.New(nil))
		for range 3 {
			w.call(tool, "")
		}
	})
}

// refusals are calls that something of ours refuses.
func refusals(add func(string, func(*world, harness.Place))) {
	me := func(context.Context, mcp.Request) string { return "me" }
	add("rate limit", func(w *world, at harness.Place) {
		w.serve(at, func(o *mcpchain.Options) {
			o.Limit = limit.New(&limit.Options{Owner: me, Wait: -1, Logger: w.logger(), Limits: []limit.Limit{{Name: "few", Calls: 2, Per: time.Minute, Instead: "Ask other."}, {Calls: -1, Tools: []string{"other"}}}})
		}, "no annotations", one(harness.Succeed()))
		for range 4 {
			w.call(tool, "")
		}
		w.call("other", "")
		time.Sleep(31 * time.Second)
		w.call(tool, "")
	})
	add("running limit", func(w *world, at harness.Place) {
		w.unordered = true
		w.serve(at, func(o *mcpchain.Options) {
			o.Limit = limit.New(&limit.Options{Owner: me, Wait: time.Second, Logger: w.logger(), Limits: []limit.Limit{{Running: 1}}})
		}, "no annotations", one(func(_ context.Context, req mcp.Request) (mcp.Result, error) {
			time.Sleep(10 * time.Second)
			return harness.Success(req), nil
		}))
		w.at(time.Millisecond, func() { w.quietly(w.t.Context(), tool) })
		time.Sleep(time.Second)
		w.call(tool, "")
		time.Sleep(time.Minute)
		synctest.Wait()
		w.records()
	})
	add("drain", func(w *world, at harness.Place) {
		w.unordered = true
		d := &drain.Drain{Grace: time.Second}
		w.serve(at, func(o *mcpchain.Options) { o.Drain = drain.New(&drain.Options{Drain: d}) }, "no annotations", one(func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("at 10.0.0.7: %w", context.Cause(ctx))
		}))
		w.step("a call that runs, and the end of the server", func() harness.Answer {
			w.at(2*time.Second, func() {
				ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
				defer cancel()
				if err := d.Shutdown(ctx); err != nil {
					w.log.note("shutdown: " + err.Error())
				}
			})
			return w.session.CallTool(w.t.Context(), tool, nil)
		})
		time.Sleep(time.Minute)
		w.call(tool, "")
		w.call("other", "")
	})
	add("task", func(w *world, at harness.Place) {
		w.unordered = true // a call that is told to stop ends while that is answered
		slow := func(err error) harness.Handler {
			return func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
				task.Report(ctx, "3 of 10")
				select {
				case <-time.After(45 * time.Second):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				return harness.Success(req), err
			}
		}
		w.serve(at, func(o *mcpchain.Options) { o.Task = task.New(&task.Options{Owner: me}) }, "no annotations", map[string]harness.Handler{tool: slow(nil), "fails": slow(errPlain)})
		w.step("tools/list", func() harness.Answer { return answer(w.session.Client.ListTools(w.t.Context(), nil)) })
		id := ""
		begin := func(name string) { id = random.FindString(w.call(name, `{"word":"a"}`).Text()) }
		ask := func(name string) {
			w.step(name+" with its ID", func() harness.Answer { return w.session.CallTool(w.t.Context(), name, map[string]any{"id": id}) })
		}
		begin(tool)
		w.call(tool, `{"word":"a"}`)
		ask("task_result")
		ask("task_result")
		ask("task_result")
		ask("task_cancel")
		begin("fails")
		time.Sleep(time.Minute)
		ask("task_result")
		begin(tool)
		ask("task_cancel")
		ask("task_result")
		w.call("task_result", `{"id":"nonsense"}`)
		w.call("task_result", `{"task":"nonsense"}`)
		w.call("task_cancel", `{"id":7}`)
	})
	add("replay", func(w *world, at harness.Place) {
		w.serve(at, func(o *mcpchain.Options) { o.Replay = replay.New(&replay.Options{Owner: me}) }, "no annotations", one(failing(nil, errPlain, statusCode{n: 503}, fault.NotFound("file", "a"), nil)))
		for _, c := range []struct{ key, args string }{
			{"k1", `{"word":"a"}`}, {"k1", `{"word":"a"}`}, {"k1", `{"word":"b"}`}, {"k2", `{"word":"a"}`}, {"k2", `{"word":"a"}`}, {"k3", `{"word":"a"}`}, {"k3", `{"word":"a"}`},
			{"k4", `{"word":"a"}`}, {"k4", `{"word":"a"}`}, {"k4", `{"word":"a"}`}, {strings.Repeat("k", 300), `{}`}, {"", `{}`},
		} {
			w.callWith(w.t.Context(), tool, c.args, mcp.Meta{replayKey: c.key})
		}
	})
	add("replay, run again", func(w *world, at harness.Place) {
		w.serve(at, func(o *mcpchain.Options) {
			o.Replay = replay.New(&replay.Options{Owner: me, Rerun: func(string) bool { return true }})
		}, "no annotations", one(failing(statusCode{n: 503}, dial("read", errors.New("it broke")), context.DeadlineExceeded, &saying{status: 503, after: 7 * time.Second}, nil)))
		for range 5 {
			w.callWith(w.t.Context(), tool, `{"word":"a"}`, mcp.Meta{replayKey: "k"})
		}
		for _, err := range []error{errPlain, &saying{status: 503, after: 7 * time.Second}, retryable{yes: true}} {
			w.serve(at, func(o *mcpchain.Options) { o.Replay = replay.New(&replay.Options{Owner: me}) }, "idempotent", one(harness.Fail(err)))
			w.callWith(w.t.Context(), tool, `{"word":"a"}`, mcp.Meta{replayKey: "k"})
			w.callWith(w.t.Context(), tool, `{"word":"a"}`, mcp.Meta{replayKey: "k"})
		}
	})
	add("replay while it runs", func(w *world, at harness.Place) {
		w.unordered = true
		w.serve(at, func(o *mcpchain.Options) { o.Replay = replay.New(&replay.Options{Owner: me, Wait: time.Second}) }, "no annotations", one(func(_ context.Context, req mcp.Request) (mcp.Result, error) {
			time.Sleep(10 * time.Second)
			return harness.Success(req), nil
		}))
		params := &mcp.CallToolParams{Name: tool, Meta: mcp.Meta{replayKey: "k"}}
		w.at(time.Millisecond, func() { _, _ = w.session.Client.CallTool(w.t.Context(), params) })
		time.Sleep(time.Second)
		w.callWith(w.t.Context(), tool, "", mcp.Meta{replayKey: "k"})
		time.Sleep(time.Minute)
		w.callWith(w.t.Context(), tool, "", mcp.Meta{replayKey: "k"})
	})
	add("replay in a store that fails", func(w *world, at harness.Place) {
		for _, without := range []bool{false, true} {
			w.serve(at, func(o *mcpchain.Options) {
				o.Replay = replay.New(&replay.Options{Owner: me, Store: badStore{}, WithoutStore: without})
			}, "no annotations", one(harness.Succeed()))
			w.callWith(w.t.Context(), tool, "", mcp.Meta{replayKey: "k"})
		}
	})
	add("replay, and a client that tries again", func(w *world, at harness.Place) {
		w.serve(at, func(o *mcpchain.Options) {
			o.Replay = replay.New(&replay.Options{Owner: me, Rerun: func(string) bool { return true }})
		}, "no annotations", one(failing(statusCode{n: 503}, dial("read", errors.New("it broke")), nil, errPlain, fault.Unavailable("it").After(2*time.Second), nil)))
		w.session.Caller.AddSendingMiddleware(retryclient.New(nil))
		w.step("tools/list", func() harness.Answer { return answer(w.session.Client.ListTools(w.t.Context(), nil)) })
		for range 3 {
			w.call(tool, "")
		}
	})
	add("replay for nobody", func(w *world, at harness.Place) {
		w.serve(at, func(o *mcpchain.Options) {
			o.Replay = replay.New(&replay.Options{Owner: func(context.Context, mcp.Request) string { return "" }})
		}, "no annotations", one(harness.Succeed()))
		w.callWith(w.t.Context(), tool, "", mcp.Meta{replayKey: "k"})
	})
	add("audit that cannot be written", func(w *world, at harness.Place) {
		w.serve(at, func(o *mcpchain.Options) {
			o.Audit = audit.New(&audit.Options{Log: audit.NewLog(func([]audit.Entry) error { return errPlain }, nil)})
		}, "no annotations", one(harness.Succeed()))
		w.call(tool, "")
		w.call(tool, "")
	})
	add("budget", func(w *world, at harness.Place) {
		rows := make([]map[string]any, 400)
		for i := range rows {
			rows[i] = map[string]any{"n": i, "name": strings.Repeat("x", 20)}
		}
		list := string(must(json.Marshal(map[string]any{"rows": rows})))
		var cursor string
		w.serve(at, func(o *mcpchain.Options) {
			o.Budget = budget.New(&budget.Options{Size: 300, Owner: me})
		}, "read-only", map[string]harness.Handler{
			tool: harness.Return(func() *mcp.CallToolResult { return &mcp.CallToolResult{Content: []mcp.Content{text(list)}} }),
			"prose": harness.Return(func() *mcp.CallToolResult {
				return &mcp.CallToolResult{Content: []mcp.Content{text(strings.Repeat("A sentence of it. ", 200))}}
			}),
			"failed": harness.Return(func() *mcp.CallToolResult { return said(text(strings.Repeat("It went wrong. ", 300))) }),
			"fault":  harness.Fail(fault.New(fault.KindConflict, strings.Repeat("It went wrong. ", 300))),
		})
		for _, name := range []string{tool, "prose", "failed", "fault"} {
			got := w.call(name, "")
			if all := random.FindAllString(got.Text()+string(must(json.Marshal(got.Tool()))), -1); len(all) > 0 && cursor == "" {
				cursor = all[0]
			}
		}
		w.step("read_more with the first cursor", func() harness.Answer {
			return w.session.CallTool(w.t.Context(), "read_more", map[string]any{"cursor": cursor})
		})
		w.call("read_more", `{"cursor":"nonsense"}`)
		w.call("read_more", `{}`)
	})
	add("state", func(w *world, at harness.Place) {
		w.serve(at, func(o *mcpchain.Options) {
			o.State = state.New(&state.Options{Argument: "word", NewTool: "new", Owner: me})
		}, "no annotations", map[string]harness.Handler{
			"new": func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
				_, err := state.Create(ctx, map[string]int{})
				return harness.Success(req), err
			},
			tool: func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
				return harness.Success(req), state.Update(ctx, func(m *map[string]int) error { return nil })
			},
			"fails": func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
				return harness.Success(req), state.Update(ctx, func(m *map[string]int) error { return errPlain })
			},
		})
		w.call("new", "")
		w.call(tool, `{"word":"nonsense"}`)
		w.call(tool, `{"word":"aaaaaaaaaaaaaaaaaaaaaaaaaa-1"}`)
		w.call(tool, ``)
		w.call("fails", ``)
	})
}

// lists are list forms, batches and answers of parts.
func lists(add func(string, func(*world, harness.Place))) {
	form := func(w *world) func(*mcpchain.Options) {
		return func(o *mcpchain.Options) { o.Batch = everything(w).Batch }
	}
	item := func(_ context.Context, req mcp.Request) (mcp.Result, error) {
		var in struct{ Word string }
		if call, ok := req.(*mcp.CallToolRequest); ok {
			_ = json.Unmarshal(call.Params.Arguments, &in)
		}
		switch in.Word {
		case "plain":
			return nil, errPlain
		case "gone":
			return nil, fault.NotFound("word", in.Word, "gold")
		case "busy":
			return nil, fault.Unavailable("it").After(3 * time.Second).Because(errPlain)
		case "down":
			return nil, statusCode{n: 503}
		case "panic":
			panic(errPlain)
		case "told":
			return said(text("the oven is cold")), nil
		case "file":
			return nil, dial("read", errors.New("it broke"))
		}
		return harness.Success(req), nil
	}
	add("list form", func(w *world, at harness.Place) {
		if at.Shape == harness.ServerRaw {
			return // a raw tool here has no argument
		}
		w.serve(at, form(w), "no annotations", one(item))
		for _, args := range []string{`{"words":["a","b"]}`, `{"words":["a","plain","gone","busy","down","panic","told","file"]}`, `{"words":["plain","plain"]}`} {
			w.call(many, args)
		}
	})
	add("list form, wrong arguments", func(w *world, at harness.Place) {
		w.serve(at, form(w), "no annotations", one(item))
		for _, args := range []string{
			`{"words":["gone"]}`, `{"words":["busy"]}`,
			`{"words":[]}`, `{}`, `{"words":"a"}`, `{"words":[1]}`, `{"word":["a"]}`, `{"words":["` + strings.Repeat(`a","`, 100) + `a"]}`,
		} {
			w.call(many, args)
		}
	})
	add("batch", func(w *world, at harness.Place) {
		stops := func(o *batch.RunOptions[string]) harness.Handler {
			return func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
				// The stuck one is the last: its limit ends when a tick of the progress comes.
				return batch.Run(ctx, []string{"a", "!b", "c", "?d", "f", "~e"}, func(ctx context.Context, s string) (string, error) {
					switch s[0] {
					case '!':
						return "", errPlain
					case '?':
						panic(errPlain)
					case '~':
						<-ctx.Done()
						return "", ctx.Err()
					}
					return s, nil
				}, o).ToolResult(), nil
			}
		}
		w.serve(at, nil, "no annotations", map[string]harness.Handler{
			tool:    stops(&batch.RunOptions[string]{Concurrency: 1, Limit: time.Second}),
			"first": stops(&batch.RunOptions[string]{Concurrency: 1, Limit: time.Second, MaxFailures: 1, KeyName: "file"}),
			"small": stops(&batch.RunOptions[string]{Concurrency: 1, Limit: time.Second, MaxBytes: 1024}),
		})
		w.call(tool, "")
		w.call("first", "")
		w.call("small", "")
		w.callWith(w.t.Context(), tool, "", mcp.Meta{"progressToken": "p"})
	})
	add("parts", func(w *world, at harness.Place) {
		w.unordered = true
		fetch := func(err error) func(context.Context) (string, error) {
			return func(context.Context) (string, error) { return "x", err }
		}
		parts := func(all ...degrade.Part) harness.Handler {
			return func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
				_, err := degrade.Run(ctx, all...)
				return harness.Success(req), err
			}
		}
		old := func(context.Context) (string, time.Time, error) { return "old", time.Now().Add(-time.Hour), nil }
		w.serve(at, func(o *mcpchain.Options) { o.Degrade = degrade.New(nil) }, "no annotations", map[string]harness.Handler{
			"a plain": parts(degrade.Optional("a", new(string), fetch(errPlain)), degrade.Optional("b", new(string), fetch(nil))),
			"b skip":  parts(degrade.Optional("a", new(string), fetch(degrade.Skip("there is none")))),
			"c else":  parts(degrade.Optional("a", new(string), fetch(statusCode{n: 503})).Else("second", fetch(nil)).Impact("It is another.")),
			"d stale": parts(degrade.Optional("a", new(string), fetch(fault.Unavailable("it").After(time.Second))).Stale("cache", 2*time.Hour, old)),
			"e late": parts(degrade.Optional("a", new(string), func(ctx context.Context) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}).Within(time.Second)),
			"f deaf": parts(degrade.Optional("a", new(string), func(context.Context) (string, error) {
				time.Sleep(time.Minute)
				return "", nil
			}).Within(time.Second)),
			"g panic":    parts(degrade.Optional("a", new(string), func(context.Context) (string, error) { panic(errPlain) })),
			"h required": parts(degrade.Required("a", new(string), fetch(fault.NotFound("city", "Bern"))), degrade.Optional("b", new(string), fetch(nil))),
			"i write":    parts(degrade.Required("a", new(string), fetch(errPlain)).Write()),
			"j all":      parts(degrade.Optional("a", new(string), fetch(errPlain)), degrade.Optional("b", new(string), fetch(statusCode{n: 401}))),
		})
		for _, name := range []string{"a plain", "b skip", "c else", "d stale", "e late", "f deaf", "g panic", "h required", "i write", "j all"} {
			w.call(name, "")
		}
	})
}

// ends are calls that are given up.
func ends(add func(string, func(*world, harness.Place))) {
	deaf := func(_ context.Context, req mcp.Request) (mcp.Result, error) {
		time.Sleep(time.Hour)
		return harness.Success(req), nil
	}
	listens := func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("query at 10.0.0.7: %w", ctx.Err())
	}
	began := func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		<-ctx.Done()
		return nil, fault.New(fault.KindConflict, "half of it is done").WithRetry(fault.Retry{Effect: fault.EffectCommitted})
	}
	for _, of := range []string{"no annotations", "read-only"} {
		add("deadlines, "+of, func(w *world, at harness.Place) {
			w.unordered = true
			w.serve(at, func(o *mcpchain.Options) {
				o.Deadline = deadline.New(&deadline.Options{Limit: 10 * time.Second, Tools: map[string]time.Duration{"began": time.Second}, Logger: w.logger(), MaxStuck: 2})
			}, of, map[string]harness.Handler{"deaf": deaf, "listens": listens, "began": began, "good": harness.Succeed()})
			for _, name := range []string{"listens", "began", "good"} {
				w.call(name, "")
			}
			for _, word := range []string{"a", "a", "b", "c"} { // the second is the same while the first runs
				w.call("deaf", fmt.Sprintf(`{"word":%q}`, word))
			}
			w.call("good", "")
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			w.linef("2 h later")
			w.records()
			w.call("deaf", "")
		})
	}
	add("a client gives up", func(w *world, at harness.Place) {
		w.unordered = true
		w.serve(at, func(o *mcpchain.Options) { o.Deadline = deadline.New(&deadline.Options{Logger: w.logger()}) }, "no annotations",
			map[string]harness.Handler{"deaf": deaf, "listens": later(listens), "began": later(began)})
		for _, name := range []string{"listens", "began", "deaf"} {
			ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
			w.callWith(ctx, name, "", nil)
			cancel()
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			w.records()
		}
	})
	add("a client gives up, without a deadline", func(w *world, at harness.Place) {
		w.serve(at, nil, "no annotations", map[string]harness.Handler{"listens": listens, "began": began})
		for _, name := range []string{"listens", "began"} {
			ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
			w.callWith(ctx, name, "", nil)
			cancel()
			synctest.Wait()
			w.records()
		}
	})
}

// later is a handler that returns a moment after h: of an end of the call and a return at once, chance decides which
// comes first.
func later(h harness.Handler) harness.Handler {
	return func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
		res, err := h(ctx, req)
		time.Sleep(time.Millisecond)
		return res, err
	}
}

// others are other methods, and users' middlewares that keep something.
func others(add func(string, func(*world, harness.Place))) {
	add("methods that fail", func(w *world, at harness.Place) {
		var fail error
		user := func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if fail != nil && !middleware.IsLookup(ctx) {
					return nil, fail
				}
				return next(ctx, method, req)
			}
		}
		w.start(at, harness.Setup{
			Handlers: one(harness.Succeed()), Middleware: []mcp.Middleware{standard(w, nil, user)}, More: orders,
			Server: &mcp.ServerOptions{
				SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return errPlain },
				UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
			},
		})
		client, ctx := w.session.Client, w.t.Context()
		for i, err := range []error{errPlain, fault.Denied("list", "tools"), statusCode{n: 503}} {
			fail = err
			w.linef("-- error %d", i+1)
			w.step("tools/list", func() harness.Answer { return answer(client.ListTools(ctx, nil)) })
			w.step("prompts/list", func() harness.Answer { return answer(client.ListPrompts(ctx, nil)) })
			w.step("resources/list", func() harness.Answer { return answer(client.ListResources(ctx, nil)) })
			w.step("resources/templates/list", func() harness.Answer { return answer(client.ListResourceTemplates(ctx, nil)) })
			w.step("ping", func() harness.Answer { return harness.Answer{Err: client.Ping(ctx, nil)} })
		}
		fail = nil
		if at.Era == older {
			w.step("resources/subscribe", func() harness.Answer {
				return harness.Answer{Err: client.Subscribe(ctx, &mcp.SubscribeParams{URI: "docs://book"})}
			})
		}
		w.step("completion without a reference", func() harness.Answer { return answer(client.Complete(ctx, &mcp.CompleteParams{})) })
	})
	add("a filter hides tools", func(w *world, at harness.Place) {
		filter := func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				res, err := next(ctx, method, req)
				if list, ok := res.(*mcp.ListToolsResult); ok && err == nil {
					list.Tools = nil
				}
				return res, err
			}
		}
		steps := fault.New(fault.KindConflict, "locked").Step("Look", "other", nil)
		for _, outside := range []bool{false, true} {
			w.linef("-- outside %v", outside)
			mw := []mcp.Middleware{standard(w, nil, filter)}
			if outside {
				mw = []mcp.Middleware{filter, standard(w, nil)}
			}
			w.start(at, harness.Setup{Handlers: one(harness.Fail(steps)), Middleware: mw})
			w.call(tool, "")
			w.call("othr", "")
		}
	})
	add("one error, again and again, through one result", func(w *world, at harness.Place) {
		shared := fault.NotFound("file", "a.txt").Because(errPlain)
		w.serve(at, nil, "no annotations", map[string]harness.Handler{"a": harness.Fail(shared), "b": harness.Fail(fmt.Errorf("b: %w", shared)), "c": failing(shared, nil, shared)})
		for _, name := range []string{"a", "b", "c", "c", "c", "a"} {
			w.call(name, "")
		}
	})
	add("calls at the same time", func(w *world, at harness.Place) {
		w.unordered = true
		w.serve(at, nil, "no annotations", one(func(context.Context, mcp.Request) (mcp.Result, error) {
			time.Sleep(time.Second)
			return nil, errPlain
		}))
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() { w.quietly(w.t.Context(), tool) })
		}
		wait.Wait()
		synctest.Wait()
		w.records()
		w.call(tool, "")
	})
}

// at does something after a while, in a goroutine of its own.
func (w *world) at(after time.Duration, do func()) {
	go func() {
		time.Sleep(after)
		do()
	}()
}

// quietly makes a call of which nothing is written down but its records.
func (w *world) quietly(ctx context.Context, name string) {
	w.session.CallTool(ctx, name, nil)
}
