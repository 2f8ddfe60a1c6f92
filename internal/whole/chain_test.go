package whole_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

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

func TestMain(m *testing.M) {
	// What is said of panics on purpose is nobody's to read.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	debug.SetGCPercent(400)                                     // thousands of short-lived servers
	if err := os.Chdir(filepath.Join("..", "..")); err != nil { // pages and sources are read from the root
		panic(err)
	}
	os.Exit(m.Run())
}

// soaking asks for all that there is to run: go test ./... has a share of what takes long, .ci/run wide all of it.
func soaking() bool { return os.Getenv("MCPCHAIN_SOAK") != "" }

var errCanary = errors.New(harness.Canary + " is wrong")

// noting is a log that notes into a trace that it was written to.
type noting struct {
	slog.Handler
	tr *harness.Trace
}

func (n noting) Handle(ctx context.Context, r slog.Record) error {
	n.tr.Note("log")
	return n.Handler.Handle(ctx, r)
}

// TestOrderOfEverything shows the order where everything is turned on. What a middleware does
// is noted by a function of its options: "whose" by limit, "size" by budget, "limit" by
// deadline, "begin" and "end" by audit, "owner" by retry, "names" by validate. degrade has
// none; what it adds to an answer is seen, or not yet, by those around it. Nor has drain:
// of the calls that it refuses nothing inside of it is seen.
func TestOrderOfEverything(t *testing.T) {
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		t.Run(string(era), func(t *testing.T) {
			var tr harness.Trace
			options := everything(slog.New(noting{harness.NewLog(slog.LevelInfo).Handler(), &tr}))
			options.Recover = &mcprecover.Options{OnPanic: func(context.Context, *fault.PanicError) { tr.Note("recover") }}
			options.Correlate = &correlate.Options{NewID: func(context.Context, mcp.Request) string { tr.Note("id"); return "the-id" }}
			options.Mask = &mask.Options{Rules: []mask.Rule{func(error) *fault.Error { tr.Note("rule"); return nil }}}
			options.Retry.Owner = func(context.Context, mcp.Request) string { tr.Note("owner"); return "me" }
			options.Validate = &validate.Options{Names: func(context.Context, string) []string { tr.Note("names"); return nil }}
			options.Deadline = deadline.New(&deadline.Options{Owner: func(context.Context, mcp.Request) string { tr.Note("limit"); return "me" }})
			options.Limit = limit.New(&limit.Options{Limits: manyCalls, Owner: func(context.Context, mcp.Request) string { tr.Note("whose"); return "me" }})
			options.Audit = audit.New(&audit.Options{Log: audit.NewLog(func(entries []audit.Entry) error {
				for _, e := range entries {
					tr.Note(e.Record.Event)
				}
				return nil
			}, nil)})
			options.Budget = budget.New(&budget.Options{Size: 300, Count: func(text string) int { tr.Note("size"); return len(text) }})
			options.RetryServer = retry.Server(&retry.ServerOptions{InitialInterval: time.Microsecond, Repeatable: func(string) bool { return true }})
			ending := new(drain.Drain)
			options.Drain = drain.New(&drain.Options{Drain: ending})
			options.Batch = batch.New(&batch.Options{Lists: []batch.List{
				{Tool: "busy", Item: "word", As: "many", Run: &batch.RunOptions[json.RawMessage]{Concurrency: 1}},
			}})
			seen := harness.Look(func(_ context.Context, res mcp.Result, _ error) {
				if tool, ok := res.(*mcp.CallToolResult); ok && tool != nil && tool.Meta[degrade.MetaKey] != nil {
					tr.Note("degraded")
				}
			})
			busy := fault.Unavailable("the oven").After(0).Because(errCanary)
			handlers := map[string]harness.Handler{
				"good":  tr.Handler("h", harness.Succeed()),
				"busy":  tr.Handler("h", harness.Fail(busy)),
				"panic": tr.Handler("h", harness.Panic(errCanary)),
				"large": tr.Handler("h", harness.Return(func() *mcp.CallToolResult {
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("word ", 80)}}}
				})),
				"parts": tr.Handler("h", func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
					_, err := degrade.Run(ctx, degrade.Optional("sauce", new(string), func(context.Context) (string, error) {
						return "", degrade.Skip("there is none")
					}))
					return harness.Success(req), err
				}),
			}
			for _, c := range []struct{ name, args, want string }{
				{"good", `{}`, "id begin whose >a >b limit h <b <a end"},
				{"parts", `{}`, "id begin whose >a >b limit h <b degraded <a end"}, // the reason is masked as a failure of its own would be,
				{"panic", `{}`, "id begin whose >a >b limit h recover <b <a owner end log"},
				{"good", `{"word":7}`, "id begin whose >a >b limit rule <b <a rule owner end log"},
				{"gone", `{}`, "id begin whose >a >b limit rule <b <a rule names owner end log"},
				{"busy", `{}`, "id begin whose >a >b limit h h h <b <a owner end log"},
				// What is large is counted when all others have seen it, and once more after it is cut
				// if it has more bytes than it may have tokens; what was left out costs no call.
				{"large", `{}`, "id begin whose >a >b limit h <b <a size end"},
				{"read_more", `{"cursor":"x"}`, "id call log"},
				{"task_result", `{"id":"x"}`, "id whose call log"},
				// Each item, and then the call of which all items failed. That an item has failed
				// before is looked up before the next one runs.
				{"many", `{"words":["one","two"]}`, "id begin whose whose >a >b limit h h h <b <a owner log rule" +
					" whose >a >b owner limit h h h <b <a owner log rule size size end log"},
			} {
				s := harness.Start(t, harness.Place{Shape: harness.ServerTyped, Era: era}, harness.Setup{
					Middleware: []mcp.Middleware{mcpchain.Standard(options, tr.Middleware("a"), seen, tr.Middleware("b"))}, Handlers: handlers,
				})
				tr.Take()
				s.CallTool(t.Context(), c.name, json.RawMessage(c.args))
				require.Equal(t, c.want, tr.Take(), "%s %s", c.name, c.args)
			}
			// What is refused because the server ends is recorded, and counted by nobody.
			s := harness.Start(t, harness.Place{Shape: harness.ServerTyped, Era: era}, harness.Setup{
				Middleware: []mcp.Middleware{mcpchain.Standard(options, tr.Middleware("a"))}, Handlers: handlers,
			})
			require.NoError(t, ending.Shutdown(t.Context()))
			tr.Take()
			require.Equal(t, fault.KindServiceUnavailable, s.CallTool(t.Context(), "good", json.RawMessage(`{}`)).Fault().Kind())
			require.Equal(t, "id begin end log", tr.Take())
		})
	}
}

// TestListsCountByTheirItems: a list of n items is limited as n calls of the tool are, and
// one without any as a call.
func TestListsCountByTheirItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, most := 0, 0
		var mu sync.Mutex
		s := harness.Start(t, harness.Place{Shape: harness.ServerTyped, Era: harness.Current}, harness.Setup{
			Handlers: map[string]harness.Handler{"it": func(_ context.Context, req mcp.Request) (mcp.Result, error) {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				time.Sleep(100 * time.Millisecond)
				mu.Lock()
				running--
				mu.Unlock()
				return harness.Success(req), nil
			}},
			Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{
				Logger: slog.New(slog.DiscardHandler),
				Batch:  batch.New(&batch.Options{Lists: []batch.List{{Tool: "it", Item: "word", As: "many"}}}),
				Limit: limit.New(&limit.Options{Limits: []limit.Limit{
					{Name: "rate", Calls: 6, Per: time.Hour}, {Name: "one", Running: 1}, {Tools: []string{"it"}, Scope: limit.PerTool, Running: 1},
				}}),
			})},
		})
		many := func(words ...string) harness.Answer {
			return s.CallTool(t.Context(), "many", map[string]any{"words": words})
		}
		require.Nil(t, many("a", "b", "c").Fault())
		require.Equal(t, 1, most, "its items run one at a time")
		require.Equal(t, fault.KindValidation, many().Fault().Kind(), "costs one")
		require.Nil(t, s.Call(t, "it").Fault())
		require.Contains(t, many("a", "b", "c").Text(), "Rate limited", "one is left for three")
		require.Equal(t, fault.KindRateLimited, s.Call(t, "it").Fault().Kind())
	})
}

// TestAuditOfLists: a list is one call for the audit outside of batch, and its items are
// calls for one inside, in the same log.
func TestAuditOfLists(t *testing.T) {
	var events []string
	records := audit.NewLog(func(entries []audit.Entry) error {
		for _, e := range entries {
			events = append(events, fmt.Sprintf("%s %s%s", e.Record.Event, e.Record.Target, e.Record.Arguments))
		}
		return nil
	}, nil)
	s := harness.Start(t, harness.Place{Shape: harness.ServerTyped, Era: harness.Current}, harness.Setup{
		Handlers: map[string]harness.Handler{"it": harness.Succeed()},
		Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{
			Audit: audit.New(&audit.Options{Log: records}),
			Batch: batch.New(&batch.Options{Lists: []batch.List{{Tool: "it", Item: "word", As: "many", Run: &batch.RunOptions[json.RawMessage]{Concurrency: 1}}}}),
		}, audit.New(&audit.Options{Log: records}))},
	})
	require.Nil(t, s.CallTool(t.Context(), "it", map[string]any{"word": "x"}).Fault())
	require.Nil(t, s.CallTool(t.Context(), "many", map[string]any{"words": []string{"a", "b"}}).Fault())
	require.Equal(t, []string{
		`begin it{"word":"x"}`, `end it`,
		`begin many{"words":["a","b"]}`, `begin it{"word":"a"}`, `end it`, `begin it{"word":"b"}`, `end it`, `end many`,
	}, events)
}

// TestListFormsOfFailures calls the list form of each failing tool, with each other middleware
// inside or outside: every item fails as a call of its own does in Standard.
func TestListFormsOfFailures(t *testing.T) {
	chains := []string{
		"batch", "recover > batch", "correlate > batch", "mask > batch", longest,
		"everything", "everything > everything", "standard > everything", "everything > standard",
	}
	for _, name := range slices.Concat(speaking, silent) {
		if name != "batch" {
			chains = append(chains, "batch > "+name)
		}
	}
	harness.Each(t, []harness.Shape{harness.ServerTyped}, func(t *testing.T, at harness.Place) {
		handlers := map[string]harness.Handler{"good": harness.Succeed()}
		for _, f := range failings() {
			handlers[f.name] = f.h
		}
		single, alone := map[string]*fault.Error{}, harness.Start(t, at, harness.Setup{Handlers: handlers, Middleware: chainOf("standard", slog.New(slog.DiscardHandler))})
		for name := range handlers {
			single[name] = alone.Call(t, name).Fault()
		}
		for _, chain := range chains {
			standard := strings.Contains(chain, "standard") || strings.Contains(chain, "everything")
			masked := standard || strings.Contains(chain, "mask")
			recovered := standard || strings.Contains(chain, "recover")
			recorded := standard || strings.Contains(chain, "correlate > ") // outside of the batch
			log := harness.NewLog(slog.LevelInfo)
			s := harness.Start(t, at, harness.Setup{Handlers: handlers, Middleware: chainOf(chain, log.Logger())})
			good := s.CallTool(t.Context(), "many-good", map[string]any{"words": []string{"x"}})
			require.Contains(t, good.Text(), "The item succeeded.", chain)
			require.Empty(t, ofCalls(log.Records()), chain)
			for _, f := range failings() {
				if f.name == "nil" {
					continue // which a typed tool may return
				}
				about := fmt.Sprintf("%s of %s", f.name, chain)
				before := len(log.Records())
				got := s.CallTool(t.Context(), "many-"+f.name, map[string]any{"words": []string{"x", "y"}})
				require.NoError(t, got.Err, about)
				require.True(t, got.Tool().IsError, about)
				raw, err := json.Marshal(got.Tool().StructuredContent)
				require.NoError(t, err)
				var answer struct{ Errors []batch.OutputError }
				require.NoError(t, json.Unmarshal(raw, &answer))
				require.Len(t, answer.Errors, 2, about)
				want, references := single[f.name], map[any]int{}
				for i, e := range answer.Errors {
					require.EqualValues(t, i, e["index"], about)
					require.Equal(t, want.Kind(), e.Fault().Kind(), about)
					if masked || !f.private {
						// Without retry nothing is said of the step that failed.
						require.True(t, strings.HasPrefix(want.Message(), strings.TrimSuffix(e.Fault().Message(), ".")), "%s: %q, %q", about, want.Message(), e.Fault().Message())
					}
					references[e.Fault().Reference()]++
				}
				records := log.Records()[before:]
				if recorded {
					require.Len(t, records, 3, "two items, and the call of which both failed: %s", about)
					require.Equal(t, "many-"+f.name, records[2]["tool"], about)
					records = records[:2]
				}
				for _, r := range records {
					if !f.always || recovered { // else the batch recovers, around the item's call
						require.Equal(t, f.name, r["tool"], about)
					}
					if !f.byCode { // which is told as it is
						require.Equal(t, 1, references[r["reference"]], "%s: %v", about, records)
					}
				}
			}
			if masked {
				require.NotContains(t, s.Sent(), harness.Canary, chain)
			}
		}
	})
}

// TestSuccessIsUntouched compares, byte for byte, whole sessions with and without
// the chain.
func TestSuccessIsUntouched(t *testing.T) {
	const strange = "<tag> & \"quotes\" \u2028 \u00e9 \U0001F9EF"
	rich := func(_ context.Context, req mcp.Request) (mcp.Result, error) {
		meta := mcp.Meta{"own": strange, "deep": map[string]any{"n": 1.5, "list": []any{1, nil}}}
		switch req.(type) {
		case *mcp.CallToolRequest:
			return &mcp.CallToolResult{
				Meta: meta, StructuredContent: map[string]any{"b": strange, "a": []any{1, 2.5, true, nil}},
				Content: []mcp.Content{
					&mcp.TextContent{Text: strange, Meta: meta, Annotations: &mcp.Annotations{Priority: 0.5, Audience: []mcp.Role{"user"}}},
					&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}, &mcp.AudioContent{}, &mcp.ResourceLink{URI: "a:///b"},
					&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a:///b", Text: strange}},
				},
			}, nil
		case *mcp.ReadResourceRequest:
			return &mcp.ReadResourceResult{
				Meta: meta, Contents: []*mcp.ResourceContents{{Text: strange, Meta: meta}, {Blob: []byte("x")}},
				Cacheable: mcp.Cacheable{TTLMs: 60_000, CacheScope: "private"},
			}, nil
		case *mcp.GetPromptRequest:
			return &mcp.GetPromptResult{Meta: meta, Description: strange, Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: strange}}}}, nil
		default:
			return &mcp.CompleteResult{Meta: meta, Completion: mcp.CompletionResultDetails{Values: []string{strange}, Total: 7, HasMore: true}}, nil
		}
	}
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		all := everything(nil)
		all.Batch = batch.New(&batch.Options{Lists: []batch.List{{Tool: "absent", Item: "word", As: "absentees"}}})
		chains := [][]mcp.Middleware{nil, {mcpchain.Standard(nil), mcpchain.Standard(nil)}, {mcpchain.Standard(all)}}
		sent := make([]string, len(chains))
		for i, mw := range chains {
			s := harness.Start(t, at, harness.Setup{
				// The server has these tools of its own, so that budget and task add none.
				Handlers: map[string]harness.Handler{"good": harness.Succeed(), "rich": rich, "read_more": harness.Succeed(), "task_result": harness.Succeed()}, Middleware: mw, Server: &mcp.ServerOptions{PageSize: 1},
			})
			require.Equal(t, "fine", s.Call(t, "good").Text())
			require.Equal(t, strange, s.Call(t, "rich").Text())
			ctx := t.Context()
			for _, err := range []error{
				last(s.Client.ListTools(ctx, nil)), last(s.Client.ListPrompts(ctx, nil)), last(s.Client.ListResources(ctx, nil)), last(s.Client.ListResourceTemplates(ctx, nil)),
			} {
				require.NoError(t, err)
			}
			for tool, err := range s.Client.Tools(ctx, nil) {
				require.NoError(t, err)
				require.NotNil(t, tool)
			}
			for _, err := range []error{
				last(s.Client.CallTool(ctx, &mcp.CallToolParams{Name: "none"})), last(s.Client.GetPrompt(ctx, &mcp.GetPromptParams{Name: "none"})),
				last(s.Client.ReadResource(ctx, &mcp.ReadResourceParams{URI: "none:///none"})), last(s.Client.ListTools(ctx, &mcp.ListToolsParams{Cursor: "!"})),
			} {
				require.Error(t, err)
			}
			sent[i] = s.Sent()
			require.Equal(t, sent[0], sent[i])
		}
	})
}

func last[T any](_ T, err error) error { return err }

// A failing is one way in which a handler fails.
type failing struct {
	name    string
	h       harness.Handler
	hides   bool // a mask hides something of it
	always  bool // it is hidden without a mask too, and needs a recovery to be survived
	told    bool // the tool tells it itself: the content stays
	byCode  bool // it is a protocol error
	private bool // it holds the canary
}

func failings() []failing {
	wire := &jsonrpc.Error{Code: 499, Message: "not now", Data: json.RawMessage(`{"a":1}`)}
	caused := fault.NotFound("file", "a.txt", "b.txt").Because(errCanary)
	return []failing{
		{name: "fault", h: harness.Fail(fault.NotFound("file", "a.txt", "b.txt"))},
		{name: "caused", h: harness.Fail(caused), hides: true},
		{name: "wrapped", h: harness.Fail(fmt.Errorf("%s: %w", harness.Canary, caused)), hides: true},
		{name: "unknown", h: harness.Fail(errCanary), hides: true, private: true},
		{name: "deadline", h: harness.Fail(fmt.Errorf("%s: %w", harness.Canary, context.DeadlineExceeded)), hides: true, private: true},
		{name: "file", h: harness.Fail(&fs.PathError{Op: "open", Path: "/etc/" + harness.Canary, Err: fs.ErrNotExist}), hides: true, private: true},
		{name: "protocol", h: harness.Fail(wire), byCode: true},
		{name: "wrapped-protocol", h: harness.Fail(fmt.Errorf("%s: %w", harness.Canary, wire)), hides: true, byCode: true},
		{name: "told", h: harness.Tell(), told: true},
		{name: "set-error", h: harness.Return(func() *mcp.CallToolResult {
			var res mcp.CallToolResult
			res.SetError(errCanary)
			return &res
		}), hides: true, private: true, told: true},
		{name: "panic", h: harness.Panic(errCanary), hides: true, always: true},
		{name: "panic-list", h: harness.Panic([]string{harness.Canary}), hides: true, always: true},
		{name: "nil", h: harness.Nothing(), hides: true, always: true},
	}
}

// chainOf returns the middlewares of a chain like "recover > mask", outermost first.
func chainOf(chain string, log *slog.Logger) []mcp.Middleware {
	var mw []mcp.Middleware
	for _, name := range strings.Split(chain, " > ") {
		all := everything(log) // each with middlewares of its own
		switch name {
		case "recover":
			mw = append(mw, mcprecover.New(&mcprecover.Options{Logger: log}))
		case "correlate":
			mw = append(mw, correlate.New(&correlate.Options{Logger: log}))
		case "mask":
			mw = append(mw, mask.New(&mask.Options{Logger: log}))
		case "retry":
			mw = append(mw, retry.New(all.Retry))
		case "validate":
			mw = append(mw, validate.New(nil))
		case "deadline":
			mw = append(mw, all.Deadline)
		case "retry.Server":
			mw = append(mw, all.RetryServer)
		case "degrade":
			mw = append(mw, degrade.New(nil))
		case "batch":
			mw = append(mw, all.Batch)
		case "audit":
			mw = append(mw, all.Audit)
		case "limit":
			mw = append(mw, all.Limit)
		case "drain":
			mw = append(mw, all.Drain)
		case "budget":
			mw = append(mw, all.Budget)
		case "task":
			mw = append(mw, all.Task)
		case "replay":
			mw = append(mw, replay.New(nil))
		case "state":
			mw = append(mw, state.New(nil))
		case "standard":
			mw = append(mw, mcpchain.Standard(&mcpchain.Options{Logger: log, Retry: &retry.Options{InitialInterval: time.Millisecond}}))
		case "everything":
			mw = append(mw, mcpchain.Standard(all))
		default:
			panic("no middleware is called " + name)
		}
	}
	return mw
}

var firstLine = regexp.MustCompile(`^[A-Z][a-z]+( [A-Za-z]+)*: [^\n]+$`)

// manyCalls are limits that no test meets.
var manyCalls = []limit.Limit{{Calls: 1 << 30, Running: 1000}, {Scope: limit.ForAll, Running: 1000}}

// everything returns options with all that Standard can do. Each failing tool has a
// list form, whose name begins with "many-".
func everything(log *slog.Logger) *mcpchain.Options {
	lists := []batch.List{{Tool: "good", Item: "word", As: "many-good"}}
	for _, f := range failings() {
		lists = append(lists, batch.List{Tool: f.name, Item: "word", As: "many-" + f.name})
	}
	return &mcpchain.Options{
		Logger:      log,
		Audit:       audit.New(&audit.Options{Log: audit.NewLog(func([]audit.Entry) error { return nil }, nil)}),
		Retry:       &retry.Options{InitialInterval: time.Millisecond},
		Batch:       batch.New(&batch.Options{Lists: lists}),
		Task:        task.New(nil),
		Degrade:     degrade.New(nil),
		Deadline:    deadline.New(&deadline.Options{Logger: log}),
		RetryServer: retry.Server(&retry.ServerOptions{InitialInterval: time.Microsecond}),
		Drain:       drain.New(&drain.Options{Drain: &drain.Drain{}}),
		Budget:      budget.New(nil),
		Limit:       limit.New(&limit.Options{Limits: manyCalls, Logger: slog.New(slog.DiscardHandler)}), // callers here have no identity
	}
}

// ofCalls returns the records without those of list forms that cannot be offered: raw tools here
// have no argument, and an inner Standard has the list forms already.
func ofCalls(records []harness.Record) []harness.Record {
	return slices.DeleteFunc(slices.Clone(records), func(r harness.Record) bool {
		return r["msg"] == "mcpchain: batch: a list form is not offered"
	})
}

// speaking are the middlewares that say something about every failure, silent those that say
// nothing about the failures of this file, so that nothing may change when they are there.
var (
	speaking = []string{"recover", "correlate", "mask", "retry"}
	silent   = []string{
		"validate", "deadline", "retry.Server", "degrade", "batch", "audit", "limit", "drain", "budget", "task", "replay", "state",
	}
)

// longest is Standard with everything turned on, put together by hand.
const longest = "task > recover > correlate > audit > mask > drain > budget > limit > task > batch > replay > state > retry > validate > degrade > deadline > retry.Server > recover"

// TestEveryPair runs every middleware alone, in every pair in which one of the two says something,
// in Standard, and twice, over all failures in all shapes. Without MCPCHAIN_SOAK each shape has a fifth
// of the chains.
func TestEveryPair(t *testing.T) {
	var chains []string
	same := map[string]string{} // chains that act as another one
	add := func(as string, chain ...string) {
		name := strings.Join(chain, " > ")
		chains = append(chains, name)
		if as != "" && as != name {
			same[name] = as
		}
	}
	add("", "standard")
	add("standard", "everything")
	add("", "standard", "standard")
	add("", "everything", "everything")
	add("standard", "standard", "everything")
	add("standard", "everything", "standard")
	add("standard", longest)
	backwards := slices.Clone(silent)
	slices.Reverse(backwards)
	add("", silent...)
	add(strings.Join(silent, " > "), backwards...)
	for _, a := range speaking {
		add("", a)
		for _, b := range speaking {
			if a == b {
				add(a, a, a)
			} else {
				add("", a, b)
			}
		}
		add(a, append([]string{a}, silent...)...)
		for _, b := range silent {
			add(a, b, a)
			if !(a == "retry" && b == "retry.Server") { // which has tried again what is told
				add(a, a, b)
			}
		}
	}
	for _, a := range slices.Concat(speaking, silent) {
		if !slices.Contains(speaking, a) && a != "batch" && a != "replay" { // which leave calls that are not theirs alone
			add("", a)
			add(a, a, a)
		}
		add("", "standard", a)
		add("", a, "standard")
	}
	place := -1
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		place++
		answers := map[string]map[string]string{}
		of := func(chain string) map[string]string {
			if answers[chain] == nil {
				answers[chain] = pair(t, at, chain)
			}
			return answers[chain]
		}
		for i, chain := range chains {
			if !soaking() && (i+place)%5 != 0 {
				continue
			}
			if other := same[chain]; other == "" {
				of(chain)
			} else if i%2 == 0 == (at.Era == harness.Current) { // the other era has the other half
				require.Equal(t, of(other), of(chain), "%s and %s", chain, other)
			}
		}
	})
}

// pair runs all failures through a chain, and returns what was answered and recorded,
// without what differs from call to call.
func pair(t *testing.T, at harness.Place, chain string) map[string]string {
	t.Helper()
	names := strings.Split(chain, " > ")
	has := func(name string) bool {
		return slices.Contains(names, name) || slices.Contains(names, "standard") || slices.Contains(names, "everything")
	}
	handlers := map[string]harness.Handler{}
	for _, f := range failings() {
		if (f.always && !has("recover")) || (f.told && !at.Shape.Tool()) || (f.name == "nil" && (at.Shape.Typed() || at.Shape == harness.ServerResource)) {
			continue // nobody could survive it, or it is no failure
		}
		handlers[f.name] = f.h
	}
	log := harness.NewLog(slog.LevelInfo)
	s := harness.Start(t, at, harness.Setup{Handlers: handlers, Middleware: chainOf(chain, log.Logger())})
	answers := map[string]string{}
	for _, f := range failings() {
		if handlers[f.name] == nil {
			continue
		}
		about := fmt.Sprintf("%s of %s", f.name, chain)
		before := len(log.Records())
		got := s.Call(t, f.name)
		records := ofCalls(log.Records()[before:])

		// Recorded once, if somebody records, and exactly once if something is hidden.
		want := 0
		if has("correlate") || (f.hides && has("mask")) || f.always {
			want = 1
		}
		require.Len(t, records, want, "%s: %v", about, records)

		// Answered once.
		require.NotNil(t, got.Fault(), about)
		text, reference := got.Text(), ""
		if f.name == "told" || f.private && !has("correlate") && !has("mask") && !has("retry") { // as it came
			require.NotContains(t, string(got.Wire), middleware.MetaKey, about)
			if f.name == "told" {
				require.Equal(t, harness.ToldText, text, about)
			}
			if reference = got.Reference(); want == 1 {
				require.Equal(t, records[0]["reference"], reference, about)
				text = strings.ReplaceAll(text, reference, "-")
			} else {
				require.Empty(t, reference, about)
			}
			answers[f.name] = fmt.Sprintf("%s\n%d records", text, len(records))
			continue
		}
		if at.Shape.Tool() && !f.byCode {
			require.Len(t, got.Tool().Content, 1, about)
			require.True(t, got.Tool().IsError, about)
			require.Nil(t, got.Tool().StructuredContent, about)
		} else {
			require.Nil(t, got.Result, about)
		}
		switch {
		case f.byCode:
			require.Equal(t, "not now", text, about)
			require.EqualValues(t, 499, got.Protocol().Code, about)
			require.Equal(t, map[string]any{"a": 1.0}, got.Machine(), about)
		default:
			first, _, _ := strings.Cut(text, "\n")
			require.Regexp(t, firstLine, first, about)
		}
		if !f.byCode {
			require.NotNil(t, got.Machine(), about)
			require.Equal(t, 1, strings.Count(string(got.Wire), `"type":"`+string(got.Fault().Kind())+`"`), about)
			reference = got.Reference()
			if want == 1 {
				require.Equal(t, records[0]["reference"], reference, about)
			} else {
				require.Empty(t, reference, about)
			}
		}

		// Nothing leaves that is not meant for the caller.
		if has("mask") || !f.private {
			require.NotContains(t, string(got.Wire), harness.Canary, about)
		}
		if reference != "" {
			text = strings.ReplaceAll(text, reference, "-")
		}
		answers[f.name] = fmt.Sprintf("%s\n%d records", text, len(records))
	}
	return answers
}

// TestManyCallsAtOnce runs mixed calls through the chain and leaves nothing behind.
func TestManyCallsAtOnce(t *testing.T) {
	harness.NoLeaks(t)
	log := harness.NewLog(slog.LevelInfo)
	handlers := map[string]harness.Handler{"good": harness.Succeed()}
	names := []string{"good"}
	for _, f := range failings() {
		handlers[f.name] = f.h
		names = append(names, f.name)
	}
	s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
		Handlers: handlers, Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{Logger: log.Logger()})},
	})
	var calls sync.WaitGroup
	const rounds = 40
	for range rounds {
		for _, name := range names {
			calls.Go(func() {
				got := s.CallTool(t.Context(), name, nil)
				if (got.Fault() == nil) != (name == "good") {
					t.Errorf("%s: %q %v", name, got.Text(), got.Err)
				}
			})
		}
	}
	calls.Wait()
	require.Len(t, log.Records(), rounds*(len(names)-1))
	require.NotContains(t, s.Sent(), harness.Canary)
	runtime.KeepAlive(s)
}
