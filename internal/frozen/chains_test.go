package frozen_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/state"
	"github.com/mcpchain/mcpchain/task"
	"github.com/mcpchain/mcpchain/validate"
)

// A chain is what stands in front of a handler.
type chain struct {
	name  string
	build func(w *world) []mcp.Middleware

	// Safe says that a panic or a result that cannot be sent does not end the process.
	safe bool
	// Bounded says that a handler that never returns is answered.
	bounded bool
}

// tool is the name of the tool, the resource or the prompt of most cases. Its list form is
// called many.
const (
	tool = "it"
	many = "many"
)

// everything returns options with all that Standard can do.
func everything(w *world) *mcpchain.Options {
	return &mcpchain.Options{
		Logger:      w.logger(),
		Correlate:   &correlate.Options{Observe: observe(w)},
		Audit:       audit.New(&audit.Options{Log: audit.NewLog(audited(w), nil)}),
		Retry:       &retry.Options{InitialInterval: time.Millisecond},
		Batch:       batch.New(&batch.Options{Lists: []batch.List{{Tool: tool, Item: "word", As: many, Run: &batch.RunOptions[json.RawMessage]{Concurrency: 1}}}}),
		Degrade:     degrade.New(nil),
		Deadline:    deadline.New(&deadline.Options{Logger: w.logger()}),
		RetryServer: retry.Server(&retry.ServerOptions{InitialInterval: time.Microsecond}),
		Drain:       drain.New(&drain.Options{Drain: &drain.Drain{}}),
		Budget:      budget.New(nil),
		Task:        task.New(&task.Options{After: 10 * time.Minute}), // what is stuck meets its deadline
		Replay:      replay.New(nil),
		State:       state.New(nil),
		Limit: limit.New(&limit.Options{
			Limits: []limit.Limit{{Calls: 1 << 30, Running: 1000}, {Scope: limit.ForAll, Running: 1000}},
			Logger: w.logger(), Owner: func(context.Context, mcp.Request) string { return "me" },
		}),
	}
}

// observe writes down the events of the calls, but not their times.
func observe(w *world) func(context.Context, correlate.Event) {
	return func(_ context.Context, e correlate.Event) {
		err := "none"
		if e.Err != nil {
			err = fmt.Sprintf("%T", e.Err)
		}
		if e.Outcome != "ok" {
			w.log.note(fmt.Sprintf("event %s tool=%q outcome=%s kind=%s party=%s refused=%s part=%v attempts=%d err=%s",
				e.Method, e.Tool, e.Outcome, e.Kind, e.Party, e.Refused, e.Part, e.Attempts, err))
		}
	}
}

// audited writes down what an audit keeps, but not its times and hashes.
func audited(w *world) audit.Sink {
	return func(entries []audit.Entry) error {
		for _, e := range entries {
			r := e.Record
			w.log.note(fmt.Sprintf("audit %d %s %s %q arguments=%s outcome=%s kind=%s effect=%s reference=%s begin=%d",
				r.Seq, r.Event, r.Method, r.Target, r.Arguments, r.Outcome, r.Kind, r.Effect, r.Reference, r.Begin))
		}
		return nil
	}
}

// standard returns Standard with waits that are the same each time.
func standard(w *world, change func(*mcpchain.Options), inner ...mcp.Middleware) mcp.Middleware {
	o := &mcpchain.Options{Logger: w.logger(), Retry: &retry.Options{InitialInterval: time.Millisecond}}
	if change != nil {
		change(o)
	}
	return mcpchain.Standard(o, inner...)
}

// errOurs is what the rules of the corpus know.
var errOurs = errors.New("stock: item 12 of bin 7 is gone, see /var/lib/stock")

func maskRules() []mask.Rule {
	return []mask.Rule{
		mask.Is(errOurs, fault.New(fault.KindConflict, "the item is gone").WithCode("GONE").Suggest("Choose another item.")),
		mask.As(func(e *saying) *fault.Error {
			if e.status == 418 {
				return fault.New("is_a_teapot", "it is a teapot").Never("it will always be one")
			}
			return nil
		}),
		mask.Contains("database is locked", fault.New(fault.KindServiceUnavailable, "the database is busy").After(2*time.Second)),
	}
}

func hintRules() []fault.HintRule {
	return []fault.HintRule{func(err error) (fault.Hint, bool) {
		return fault.Hint{Retry: fault.RetryYes, After: 3 * time.Second, Effect: fault.EffectNone}, errors.Is(err, errOurs) || errors.Is(err, errPlain)
	}}
}

func masked(o mask.Options) func(*mcpchain.Options) {
	return func(all *mcpchain.Options) { all.Mask = &o }
}

func rendered(o middleware.RenderOptions) func(*mcpchain.Options) {
	return func(all *mcpchain.Options) { all.Render = &o }
}

func validated(o validate.Options) func(*mcpchain.Options) {
	return func(all *mcpchain.Options) { all.Validate = &o }
}

// alone are the packages, each by its name.
var alone = []string{
	"recover", "correlate", "mask", "retry", "validate",
	"batch", "degrade", "deadline", "limit", "drain", "budget", "task", "replay", "state", "audit", "retry.Server",
}

// speaking are those that say something about every failure.
var speaking = alone[:5]

// named returns the middleware with this name.
func named(w *world, name string) mcp.Middleware {
	all := everything(w)
	switch name {
	case "recover":
		return mcprecover.New(&mcprecover.Options{Logger: w.logger()})
	case "correlate":
		return correlate.New(&correlate.Options{Logger: w.logger()})
	case "mask":
		return mask.New(&mask.Options{Logger: w.logger()})
	case "worded mask":
		return mask.New(&mask.Options{Logger: w.logger(), Reader: mask.Trusted})
	case "retry":
		return retry.New(all.Retry)
	case "validate":
		return validate.New(nil)
	case "batch":
		return all.Batch
	case "degrade":
		return all.Degrade
	case "deadline":
		return all.Deadline
	case "limit":
		return all.Limit
	case "drain":
		return all.Drain
	case "budget":
		return all.Budget
	case "task":
		return all.Task
	case "replay":
		return all.Replay
	case "state":
		return all.State
	case "audit":
		return all.Audit
	case "retry.Server":
		return all.RetryServer
	case "standard":
		return standard(w, nil)
	case "worded":
		return standard(w, masked(mask.Options{Reader: mask.Trusted}))
	case "everything":
		return mcpchain.Standard(all)
	}
	if user, ok := strings.CutPrefix(name, "user "); ok {
		return users[user]
	}
	panic("no middleware is called " + name)
}

// chainOf is the chain of the middlewares with these names, outermost first.
func chainOf(names ...string) chain {
	c := chain{name: strings.Join(names, " > "), build: func(w *world) []mcp.Middleware {
		var mw []mcp.Middleware
		for _, name := range names {
			mw = append(mw, named(w, name))
		}
		return mw
	}}
	for _, name := range names {
		c.safe = c.safe || name == "recover" || name == "standard" || name == "everything" || name == "worded"
		c.bounded = c.bounded || name == "everything" || name == "deadline"
	}
	return c
}

// chains returns all chains.
func chains() []chain {
	var all []chain
	option := func(name string, change func(*mcpchain.Options), inner ...string) {
		all = append(all, chain{name: name, safe: true, build: func(w *world) []mcp.Middleware {
			var mw []mcp.Middleware
			for _, i := range inner {
				mw = append(mw, named(w, i))
			}
			return []mcp.Middleware{standard(w, change, mw...)}
		}})
	}
	all = append(all, chain{name: "none", build: func(*world) []mcp.Middleware { return nil }})
	for _, name := range alone {
		all = append(all, chainOf(name))
	}
	for _, a := range speaking {
		for _, b := range speaking {
			all = append(all, chainOf(a, b)) // each twice, too
		}
	}
	all = append(
		all,
		chainOf("standard"), chainOf("standard", "standard"), chainOf("everything"), chainOf("everything", "everything"),
		chainOf("standard", "everything"), chainOf("everything", "standard"),
		chainOf("worded"), chainOf("standard", "worded"), chainOf("worded", "standard"), chainOf("mask", "worded mask"), chainOf("worded mask", "mask"),
		chainOf("recover", "correlate", "mask", "retry", "validate", "recover"), chainOf("recover", "mask", "retry", "validate"),
		chainOf("retry", "validate", "mask", "correlate", "recover"), chainOf("correlate", "retry", "mask"), chainOf("mask", "retry.Server", "recover"),
		chainOf("recover", "deadline", "mask"), chainOf("mask", "recover", "degrade"), chainOf("recover", "batch", "mask"),
	)
	for user := range users {
		all = append(
			all,
			chainOf("user "+user, "standard"), chainOf("recover", "mask", "user "+user, "retry"),
			chainOf("correlate", "user "+user, "mask", "recover"), chainOf("recover", "retry", "user "+user, "validate", "mask"),
		)
		option("standard with user "+user, nil, "user "+user)
	}
	option("standard, rules", masked(mask.Options{Rules: maskRules()}))
	option("standard, worded, rules", masked(mask.Options{Rules: maskRules(), Reader: mask.Trusted}))
	option("standard, caller's credentials", masked(mask.Options{Reader: mask.Operator}))
	option("standard, worded, caller's credentials", masked(mask.Options{Reader: mask.Operator, Rules: maskRules()}))
	option("standard, reveal", masked(mask.Options{Reveal: true}))
	option("standard, quotes", masked(mask.Options{QuoteService: func(string, string) bool { return true }}))
	option("standard, scrubs all", masked(mask.Options{Scrub: mask.Scrub}))
	option("standard, scrubs all, worded", masked(mask.Options{Scrub: mask.Scrub, Reader: mask.Trusted}))
	option("standard, JSON", rendered(middleware.RenderOptions{JSON: true}))
	option("standard, structured", rendered(middleware.RenderOptions{Structured: true}))
	option("standard, legacy codes", rendered(middleware.RenderOptions{LegacyCodes: true}))
	option("standard, protocol errors", validated(validate.Options{ProtocolError: true}))
	option("standard, hides received", validated(validate.Options{HideReceived: true}))
	option("standard, raw tools", validated(validate.Options{RawTools: true}))
	option("standard, after failure", validated(validate.Options{AfterFailure: true}))
	option("standard, strict", validated(validate.Options{StrictPrompts: true, UnknownToolAsToolError: true, Credentials: validate.RefuseCredentials}))
	option("standard, hint rules", func(o *mcpchain.Options) { o.Retry.Rules = hintRules() })
	option("standard, one attempt", func(o *mcpchain.Options) { o.Retry.MaxAttempts = 1 })
	option("standard, repeatable", func(o *mcpchain.Options) { o.Retry.Repeatable = func(string) bool { return true } })
	option("standard, server retries", func(o *mcpchain.Options) {
		o.RetryServer = retry.Server(&retry.ServerOptions{InitialInterval: time.Microsecond, Rules: hintRules()})
	})
	option("standard, small results", func(o *mcpchain.Options) { o.Recover = &mcprecover.Options{MaxResult: 100} })
	option("standard, attributes", func(o *mcpchain.Options) {
		o.Correlate = &correlate.Options{
			NewID: func(context.Context, mcp.Request) string { return "id-of-mine" }, Level: func(correlate.Outcome) slog.Level { return slog.LevelWarn },
			Attrs:   func(context.Context, mcp.Request) []slog.Attr { return []slog.Attr{slog.String("tenant", "t1")} },
			Observe: func(context.Context, correlate.Event) { panic("no metrics") },
		}
	})
	all = append(
		all,
		chain{name: "standard, from info on", safe: true, build: func(w *world) []mcp.Middleware {
			w.level = slog.LevelInfo
			return []mcp.Middleware{standard(w, nil)}
		}},
		chain{name: "standard, to the default log", safe: true, build: func(*world) []mcp.Middleware {
			return []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{Retry: &retry.Options{InitialInterval: time.Millisecond}})}
		}},
		chain{name: "mask for the tool only", build: func(w *world) []mcp.Middleware {
			return []mcp.Middleware{middleware.ForTools(named(w, "mask"), tool)}
		}},
		chain{name: "mask for another tool", build: func(w *world) []mcp.Middleware {
			return []mcp.Middleware{middleware.ForTools(named(w, "mask"), "other")}
		}},
		chain{name: "standard for what is no tool", build: func(w *world) []mcp.Middleware {
			return []mcp.Middleware{middleware.ForMethods(named(w, "standard"), middleware.MethodReadResource, middleware.MethodGetPrompt)}
		}},
		chain{name: "everything, worded", safe: true, bounded: true, build: func(w *world) []mcp.Middleware {
			o := everything(w)
			o.Mask = &mask.Options{Reader: mask.Operator, Rules: maskRules()}
			return []mcp.Middleware{mcpchain.Standard(o)}
		}},
	)
	return all
}

// users are middlewares as users write them: what they make of an outcome.
var users = map[string]mcp.Middleware{
	"wraps":          answers(func(_ context.Context, res mcp.Result, err error) (mcp.Result, error) { return res, wrapped("%w", err) }),
	"wraps in words": answers(func(_ context.Context, res mcp.Result, err error) (mcp.Result, error) { return res, wrapped("%v", err) }),
	"replaces":       answers(replaceError(func(error) error { return errors.New("my middleware failed at 10.0.0.9") })),
	"words":          answers(replaceError(func(err error) error { return fault.New("my_kind", "my words").Because(err) })),
	"joins":          answers(replaceError(func(err error) error { return errors.Join(errors.New("closing failed"), err) })),
	"answers for it": answers(replaceError(func(error) error { return nil })),
	"sets an error":  answers(setError),
	"rewords":        answers(reword),
	"copies":         answers(copyResult),
	"answers anew": answers(func(_ context.Context, res mcp.Result, err error) (mcp.Result, error) {
		if tool, ok := res.(*mcp.CallToolResult); ok && tool != nil {
			other := *tool
			other.Content = []mcp.Content{text("in other words of 10.0.0.9")}
			return &other, nil
		}
		return res, err
	}),
	"fails anew": answers(func(_ context.Context, res mcp.Result, err error) (mcp.Result, error) {
		if tool, ok := res.(*mcp.CallToolResult); ok && tool != nil {
			other := *tool
			other.Content = nil
			other.SetError(fault.New("my_kind", "my words"))
			return &other, nil
		}
		return res, err
	}),
	"adds a _meta":     answers(addMeta),
	"adds to the text": answers(addText),
	"adds to it": answers(func(ctx context.Context, res mcp.Result, err error) (mcp.Result, error) {
		middleware.AddTo(ctx, res, err, func(f *fault.Error) *fault.Error {
			return f.With("region", "north").Suggest("Ask for the south.").Step("List regions", "list_regions", nil)
		})
		return res, err
	}),
	"asks twice": func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if res, err := next(ctx, method, req); err == nil && !failed(res) {
				return res, nil
			}
			return next(ctx, method, req)
		}
	},
	"forgets the context": func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(_ context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return next(context.Background(), method, req)
		}
	},
}

// answers makes a middleware of what it does with the answers of calls that failed.
func answers(change func(context.Context, mcp.Result, error) (mcp.Result, error)) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			switch method {
			case middleware.MethodCallTool, middleware.MethodReadResource, middleware.MethodGetPrompt, middleware.MethodComplete:
				if err == nil && !failed(res) {
					break
				}
				res, err = change(ctx, res, err)
				if _, tool := res.(*mcp.CallToolResult); tool && err == nil && method != middleware.MethodCallTool {
					res = harness.Success(req)
				}
			}
			return res, err
		}
	}
}

func failed(res mcp.Result) bool {
	tool, ok := res.(*mcp.CallToolResult)
	return ok && tool != nil && tool.IsError
}

func wrapped(verb string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("my middleware: "+verb, err)
}

// replaceError also takes the error out of the result of a tool.
func replaceError(by func(error) error) func(context.Context, mcp.Result, error) (mcp.Result, error) {
	return func(_ context.Context, res mcp.Result, err error) (mcp.Result, error) {
		if tool, ok := res.(*mcp.CallToolResult); ok && tool != nil && err == nil {
			if err = tool.GetError(); err == nil {
				err = errors.New("the tool said it")
			}
		}
		if err = by(err); err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "never mind"}}}, nil
	}
}

func setError(_ context.Context, res mcp.Result, err error) (mcp.Result, error) {
	if tool, ok := res.(*mcp.CallToolResult); ok && tool != nil {
		tool.SetError(errors.New("another error of 10.0.0.9"))
	}
	return res, err
}

func reword(_ context.Context, res mcp.Result, err error) (mcp.Result, error) {
	if tool, ok := res.(*mcp.CallToolResult); ok && tool != nil {
		tool.Content = []mcp.Content{&mcp.TextContent{Text: "in my words"}}
	}
	return res, err
}

func copyResult(_ context.Context, res mcp.Result, err error) (mcp.Result, error) {
	if tool, ok := res.(*mcp.CallToolResult); ok && tool != nil {
		res = &mcp.CallToolResult{Meta: tool.Meta, Content: tool.Content, IsError: true} // without the error and the type of the result
	}
	return res, err
}

func addMeta(_ context.Context, res mcp.Result, err error) (mcp.Result, error) {
	if tool, ok := res.(*mcp.CallToolResult); ok && tool != nil {
		meta := mcp.Meta{"my/key": 1}
		for k, v := range tool.Meta {
			meta[k] = v
		}
		tool.Meta = meta
	}
	return res, err
}

func addText(_ context.Context, res mcp.Result, err error) (mcp.Result, error) {
	if tool, ok := res.(*mcp.CallToolResult); ok && tool != nil {
		tool.Content = append(tool.Content, &mcp.TextContent{Text: "P.S. of mine"})
	}
	return res, err
}
