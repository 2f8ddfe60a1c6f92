package task_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/store"
	"github.com/mcpchain/mcpchain/task"
)

const metaKey = "io.github.mcpchain/task"

// each runs a test in a bubble, with clients of both eras, in Standard and alone.
func each(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		for _, alone := range []bool{false, true} {
			t.Run(string(era)+map[bool]string{true: "/alone", false: "/Standard"}[alone], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					test(t, &server{at: harness.Place{Shape: harness.ServerTyped, Era: era}, alone: alone})
				})
			})
		}
	}
}

// inStandard runs a test in a bubble, with clients of both eras, in Standard.
func inStandard(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	each(t, func(t *testing.T, s *server) {
		if !s.alone {
			test(t, s)
		}
	})
}

// A server has tools that take their time.
type server struct {
	*harness.Session

	at       harness.Place
	alone    bool
	opts     task.Options
	standard mcpchain.Options
	inner    []mcp.Middleware
	tool     func(*mcp.Tool)
	server   *mcp.ServerOptions
	more     func(*mcp.Server)
	client   *mcp.ClientOptions
	log      *harness.Log
	runs     atomic.Int64
}

// start serves these tools. Each of them waits a minute, or as long as "word" says, and then does what its handler does.
func (s *server) start(t testing.TB, ends map[string]harness.Handler) *server {
	t.Helper()
	s.log = harness.NewLog(0)
	s.opts.Logger = s.log.Logger()
	mw := task.New(&s.opts)
	if !s.alone {
		s.standard.Logger, s.standard.Task = s.log.Logger(), mw
		mw = mcpchain.Standard(&s.standard, s.inner...)
	}
	handlers := map[string]harness.Handler{}
	for name, end := range ends {
		handlers[name] = func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
			s.runs.Add(1)
			var in struct{ Word string }
			_ = json.Unmarshal(req.(*mcp.CallToolRequest).Params.Arguments, &in)
			takes, err := time.ParseDuration(cmp.Or(in.Word, "60s"))
			if err != nil {
				return nil, err
			}
			select {
			case <-time.After(takes):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-t.Context().Done(): // the test has failed
				return nil, t.Context().Err()
			}
			return end(ctx, req)
		}
	}
	s.Session = harness.Start(t, s.at, harness.Setup{
		Handlers: handlers, Middleware: []mcp.Middleware{mw}, Tool: s.tool, Server: s.server, Client: s.client,
		More: func(server *mcp.Server) {
			server.AddSendingMiddleware(task.Sending())
			if s.more != nil {
				s.more(server)
			}
		},
	})
	return s
}

// report serves one tool, which succeeds.
func (s *server) report(t testing.TB) *server {
	t.Helper()
	return s.start(t, map[string]harness.Handler{"report": harness.Succeed()})
}

// handle calls a tool and returns the ID of the handle that it gets.
func (s *server) handle(t testing.TB, tool, takes string) string {
	t.Helper()
	return idOf(t, s.CallTool(t.Context(), tool, map[string]any{"word": takes}))
}

func (s *server) ask(t testing.TB, tool, id string) harness.Answer {
	t.Helper()
	return s.CallTool(t.Context(), tool, map[string]any{"id": id})
}

// result asks until the call has ended.
func (s *server) result(t testing.TB, id string) harness.Answer {
	t.Helper()
	for range 1000 {
		if got := s.ask(t, "task_result", id); statusOf(got) != "running" {
			return got
		}
	}
	require.Fail(t, "it does not end")
	return harness.Answer{}
}

func metaOf(a harness.Answer) map[string]any {
	if a.Tool() == nil {
		return nil
	}
	m, _ := a.Tool().Meta[metaKey].(map[string]any)
	return m
}

func statusOf(a harness.Answer) string {
	status, _ := metaOf(a)["status"].(string)
	return status
}

func idOf(t testing.TB, a harness.Answer) string {
	t.Helper()
	require.NoError(t, a.Err)
	require.Equal(t, "running", statusOf(a), a.Text())
	require.False(t, a.Tool().IsError)
	id, _ := metaOf(a)["id"].(string)
	require.Len(t, id, 26)
	return id
}

// TestInTime: what ends in time is answered as without the middleware, byte for byte.
func TestInTime(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.standard.Logger = nil
		ends := map[string]harness.Handler{"report": harness.Succeed(), "fails": harness.Fail(fault.NotFound("file", "a.txt"))}
		with := s.start(t, ends)
		bare := &server{at: s.at, alone: s.alone, opts: task.Options{Tools: func(string) bool { return false }}}
		bare.start(t, ends)
		for _, tool := range []string{"report", "fails", "none"} {
			args := map[string]any{"word": "19s"}
			require.Equal(t, bare.CallTool(t.Context(), tool, args).Text(), with.CallTool(t.Context(), tool, args).Text())
		}
		require.NotContains(t, with.Sent(), metaKey)
		if s.alone { // else references differ
			require.Equal(t, bare.Sent(), with.Sent())
		}
	})
}

// TestACallThatLasts follows a call from its handle to its answer.
func TestACallThatLasts(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.report(t)
		began := time.Now()
		id := s.handle(t, "report", "50s")
		require.Equal(t, 20*time.Second, time.Since(began))

		still := s.ask(t, "task_result", id)
		require.Equal(t, 40*time.Second, time.Since(began), "it waits")
		require.Equal(t, id, idOf(t, still))
		require.Equal(t, "Still running: 'report' has not finished after 40 s, and goes on.\n"+
			"Next: go on with other work. In about 30 s, call task_result {\"id\":\""+id+"\"} for the answer.", still.Text())

		done := s.ask(t, "task_result", id)
		require.Equal(t, 50*time.Second, time.Since(began), "it answers when the call ends")
		require.Equal(t, "completed", statusOf(done))
		require.Equal(t, "fine", done.Text())
		for range 2 {
			require.Equal(t, "fine", s.ask(t, "task_result", id).Text(), "the client may not have received it")
		}
		require.EqualValues(t, 1, s.runs.Load())
	})
}

// TestEveryEnd compares, for every way in which a handler ends, what is fetched with what is answered in time.
func TestEveryEnd(t *testing.T) {
	canary := errors.New(harness.Canary + " is wrong")
	ends := map[string]harness.Handler{
		"succeeds": harness.Succeed(),
		"fault":    harness.Fail(fault.NotFound("file", "a.txt", "b.txt").Because(canary)),
		"unknown":  harness.Fail(canary),
		"protocol": harness.Fail(&jsonrpc.Error{Code: 499, Message: "not now", Data: json.RawMessage(`{"a":1}`)}),
		"tells":    harness.Tell(),
		"panics":   harness.Panic(canary),
		"exits":    func(context.Context, mcp.Request) (mcp.Result, error) { runtime.Goexit(); return nil, nil },
		"nil":      harness.Nothing(),
		"NaN": harness.Return(func() *mcp.CallToolResult {
			return &mcp.CallToolResult{StructuredContent: map[string]any{"n": math.NaN(), "s": harness.Canary}}
		}),
		"raises": harness.Return(func() *mcp.CallToolResult { return &mcp.CallToolResult{StructuredContent: raises{}} }),
	}
	for _, shape := range []harness.Shape{harness.ServerTyped, harness.ServerRaw} {
		inStandard(t, func(t *testing.T, s *server) {
			s.at.Shape = shape
			s.start(t, ends)
			for name := range ends {
				inTime := s.CallTool(t.Context(), name, map[string]any{"word": "1s"})
				got := s.result(t, s.handle(t, name, "1m"))
				if inTime.Protocol() != nil {
					require.Equal(t, inTime.Protocol(), got.Protocol(), name)
					continue
				}
				require.Equal(t, inTime.Tool().IsError, got.Tool().IsError, name)
				want, ok := inTime.Fault(), inTime.Tool().IsError
				text := got.Text()
				if ok {
					require.True(t, strings.HasPrefix(text, "'"+name+"' has ended. This is its failure:\n"), text)
					_, text, _ = strings.Cut(text, "\n")
				}
				if want != nil {
					require.Equal(t, want.Kind(), got.Fault().Kind(), name)
					require.NotEqual(t, want.Reference(), got.Fault().Reference(), name)
					require.Equal(t, strings.ReplaceAll(inTime.Text(), want.Reference(), got.Fault().Reference()), text, name)
				} else {
					require.Equal(t, inTime.Text(), text, name)
				}
				require.Equal(t, inTime.Tool().StructuredContent, got.Tool().StructuredContent, name)
			}
			require.NotContains(t, s.Sent(), harness.Canary)
		})
	}
}

// raises panics when it is written.
type raises struct{}

func (raises) MarshalJSON() ([]byte, error) { panic(harness.Canary) }

// TestOneRecord: a failure is recorded once, with the time that the call took and under the reference that its caller
// reads. Fetching it is recorded as a success.
func TestOneRecord(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.start(t, map[string]harness.Handler{"fails": harness.Fail(errors.New("no rows"))})
		got := s.result(t, s.handle(t, "fails", "70s"))
		var failures int
		for _, r := range s.log.Records() {
			switch {
			case r["msg"] != "mcp call":
			case r["tool"] == "fails":
				failures++
				require.EqualValues(t, 70_000, r["duration_ms"])
				require.Equal(t, got.Fault().Reference(), r["reference"])
				require.Equal(t, "no rows", r["error"])
			case r["tool"] == "task_result":
				require.Equal(t, "ok", r["outcome"])
			}
		}
		require.Equal(t, 1, failures)
	})
}

// TestCancel: task_cancel ends the context of the handler, and its answer is kept.
func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.report(t)
		began := time.Now()
		id := s.handle(t, "report", "10m")
		got := s.ask(t, "task_cancel", id)
		require.Equal(t, `It was told to stop. What it did before may stand. task_result {"id":"`+id+`"} says how it ended.`, got.Text())
		ended := s.result(t, id)
		require.Equal(t, 20*time.Second, time.Since(began))
		require.True(t, ended.Tool().IsError)
		if s.alone {
			require.Equal(t, "'report' has ended. This is its failure:\n"+task.ErrCancelled.Error(), ended.Text())
		} else {
			require.Equal(t, fault.KindCancelled, ended.Fault().Kind())
		}
		require.Equal(t, `It has ended already. task_result {"id":"`+id+`"} gets its answer.`, s.ask(t, "task_cancel", id).Text())
	})
}

// TestLimit: a call that lasts for too long is ended, though nobody asks for it.
func TestLimit(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.opts.Limit = 5*time.Minute + 7*time.Second
		var cause error
		s.start(t, map[string]harness.Handler{})
		s.more = nil
		mcp.AddTool(s.Server, &mcp.Tool{Name: "report"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil, nil, ctx.Err()
		})
		began := time.Now()
		id := idOf(t, s.CallTool(t.Context(), "report", nil))
		got := s.result(t, id)
		require.Equal(t, s.opts.Limit, time.Since(began))
		require.True(t, got.Tool().IsError)
		require.EqualError(t, cause, "task: Options.Limit is over: context deadline exceeded")
		if !s.alone {
			require.Equal(t, fault.KindTimeout, got.Fault().Kind())
		}
	})
}

// TestCallerGivesUp: before there is a handle, a call ends with its caller, as without the middleware.
func TestCallerGivesUp(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.report(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		require.Error(t, s.CallTool(ctx, "report", map[string]any{"word": "10m"}).Err)
		synctest.Wait()
		require.Equal(t, 10*time.Second, time.Since(began))
		require.NotContains(t, s.log.String(), "behind a handle")
	})
}

// TestCallerHasADeadline: a handle is given before the caller's own deadline, if the server knows it.
func TestCallerHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{at: harness.Place{Shape: harness.ServerTyped, Era: harness.Current}}
		s.report(t)
		limited := func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
				defer cancel()
				return next(ctx, method, req)
			}
		}
		s.Server.AddReceivingMiddleware(limited)
		began := time.Now()
		id := s.handle(t, "report", "50s")
		require.Equal(t, 5*time.Second, time.Since(began))
		require.Equal(t, id, idOf(t, s.ask(t, "task_result", id)), "it waits no longer than its caller either")
		require.Equal(t, 10*time.Second, time.Since(began))
	})
}

// TestTheSameCall: the same call of the same caller gets the same handle while it runs. Any other call runs.
func TestTheSameCall(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.opts.Owner = func(_ context.Context, req mcp.Request) string {
			owner, _ := req.GetParams().GetMeta()["owner"].(string)
			return owner
		}
		s.start(t, map[string]harness.Handler{"report": harness.Succeed(), "other": harness.Succeed()})
		call := func(owner, tool, args, key string) string {
			params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args), Meta: mcp.Meta{"owner": owner}}
			if key != "" {
				params.Meta["io.modelcontextprotocol/idempotencyKey"] = key
			}
			res, err := s.Client.CallTool(t.Context(), params)
			return idOf(t, harness.Answer{Result: res, Err: err})
		}
		first := call("alice", "report", `{"word":"1h"}`, "")
		began := time.Now()
		require.Equal(t, first, call("alice", "report", `{ "word" : "1\u0068" }`, ""), "the same arguments, written otherwise")
		require.Zero(t, time.Since(began), "it is answered at once")
		require.EqualValues(t, 1, s.runs.Load())
		for _, other := range []string{
			call("bob", "report", `{"word":"1h"}`, ""), call("alice", "other", `{"word":"1h"}`, ""),
			call("alice", "report", `{"word":"59m"}`, ""), call("alice", "report", `{"word":"1h"}`, "k1"),
		} {
			require.NotEqual(t, first, other)
		}
		require.EqualValues(t, 5, s.runs.Load())
		unknown := call("", "report", `{"word":"1h"}`, "")
		require.NotEqual(t, unknown, call("", "report", `{"word":"1h"}`, ""), "unknown callers may be two")

		// When it has ended, the call runs again.
		res, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "task_cancel", Arguments: map[string]any{"id": first}, Meta: mcp.Meta{"owner": "alice"}})
		require.NoError(t, err)
		require.False(t, res.IsError)
		synctest.Wait()
		require.NotEqual(t, first, call("alice", "report", `{"word":"1h"}`, ""))
	})
}

// TestWhatTheHandleSays: callers that are known and callers that are not read other advice.
func TestWhatTheHandleSays(t *testing.T) {
	for owner, want := range map[string]string{
		"alice": "Do not call 'report' again for it: the same call gets this ID, and nothing is run.",
		"":      "Do not call 'report' again for it: a second call may do the work twice.",
	} {
		inStandard(t, func(t *testing.T, s *server) {
			s.opts.Owner = func(context.Context, mcp.Request) string { return owner }
			s.report(t)
			got := s.CallTool(t.Context(), "report", nil)
			id := idOf(t, got)
			require.Equal(t, "Still running: 'report' has not finished after 20 s, and goes on.\n"+
				"Next: go on with other work. In about 30 s, call task_result {\"id\":\""+id+"\"} for the answer.\n"+
				want+"\nTo stop it, call task_cancel {\"id\":\""+id+"\"}.", got.Text())
			require.Equal(t, map[string]any{"id": id, "tool": "report", "status": "running", "started_at": "2000-01-01T00:00:00Z"}, metaOf(got))
		})
	}
}

// TestHowLongItUsuallyTakes: after three calls of the same caller, handles say it, and when to ask follows from it.
func TestHowLongItUsuallyTakes(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.report(t)
		for range 3 {
			s.result(t, s.handle(t, "report", "45s"))
		}
		got := s.CallTool(t.Context(), "report", map[string]any{"word": "46s"})
		require.Contains(t, got.Text(), "Such calls usually take 45 s.\nNext: go on with other work. In about 25 s, call task_result")
		other := &server{at: s.at, opts: s.opts}
		require.NotContains(t, other.report(t).CallTool(t.Context(), "report", nil).Text(), "usually")
	})
}

// TestIDsOfOthers: the ID of another caller is answered like one that never existed, in words and in time.
func TestIDsOfOthers(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		owner := "alice"
		s.opts.Owner = func(context.Context, mcp.Request) string { return owner }
		s.report(t)
		id := s.handle(t, "report", "50s")
		owner = "mallory"
		for _, tool := range []string{"task_result", "task_cancel"} {
			began := time.Now()
			others, none := s.ask(t, tool, id), s.ask(t, tool, strings.Repeat("A", 26))
			require.Zero(t, time.Since(began))
			require.Equal(t, none.Text(), others.Text())
			require.Equal(t, fault.KindNotFound, others.Fault().Kind())
			require.Equal(t, none.Tool().Meta[metaKey], others.Tool().Meta[metaKey])
		}
		owner = "alice"
		require.Equal(t, "fine", s.result(t, id).Text(), "nobody else has stopped it")
		owner = "mallory"
		require.Equal(t, fault.KindNotFound, s.ask(t, "task_result", id).Fault().Kind())
	})
}

// TestArgumentsOfItsTools: what is not an ID is explained.
func TestArgumentsOfItsTools(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.report(t)
		for args, want := range map[string]string{
			`{}`:                     "Argument 'id' is required",
			`{"id":null}`:            "Argument 'id' is required",
			`{"task":"x"}`:           "Argument 'id' is required",
			`{"id":7}`:               "Argument 'id' expected the ID that the answer of the call gave, but received 7",
			`{"id":""}`:              "Argument 'id' expected the ID",
			`{"id":["x"]}`:           "Argument 'id' expected the ID",
			`{"id":"` + "\\ud800\"}": "no call of yours runs or has ended under this ID",
		} {
			for _, tool := range []string{"task_result", "task_cancel"} {
				got := s.CallTool(t.Context(), tool, json.RawMessage(args))
				require.True(t, got.Tool().IsError, args)
				require.Contains(t, got.Text(), want, args)
			}
		}
	})
}

// TestAsksForInput: a result that asks for input cannot be answered by one who has gone.
func TestAsksForInput(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		if s.at.Era == harness.Older {
			return
		}
		asks := harness.Return(func() *mcp.CallToolResult {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{Message: harness.Canary}}}
		})
		s.at.Shape = harness.ServerRaw
		s.start(t, map[string]harness.Handler{"asks": asks})
		got := s.result(t, s.handle(t, "asks", "30s"))
		require.Equal(t, fault.KindPreconditionFailed, got.Fault().Kind())
		require.Contains(t, got.Text(), "Call the tool again. It asks for the input again, and is answered when it ends.")
		require.NotContains(t, s.Sent(), harness.Canary)
	})
}

// TestTools: only calls of the chosen tools get handles.
func TestTools(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.opts.Tools = func(tool string) bool { return tool == "report" }
		s.start(t, map[string]harness.Handler{"report": harness.Succeed(), "other": harness.Succeed()})
		require.Equal(t, "fine", s.CallTool(t.Context(), "other", nil).Text())
		require.Equal(t, "fine", s.result(t, s.handle(t, "report", "30s")).Text())
	})
}

// TestManyAsk: several readers of one call get its answer at once.
func TestManyAsk(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.opts.Wait = time.Hour
		s.report(t)
		began := time.Now()
		id := s.handle(t, "report", "10m")
		var readers sync.WaitGroup
		for range 20 {
			readers.Go(func() {
				if got := s.ask(t, "task_result", id).Text(); got != "fine" {
					t.Error(got)
				}
			})
		}
		readers.Wait()
		require.Equal(t, 10*time.Minute, time.Since(began))
	})
}

// TestNothingIsLeft: when all has ended, no goroutine and no memory of calls is left.
func TestNothingIsLeft(t *testing.T) {
	harness.NoLeaks(t)
	synctest.Test(t, func(t *testing.T) {
		memory := store.NewMemory(nil)
		s := &server{at: harness.Place{Shape: harness.ServerTyped, Era: harness.Current}, opts: task.Options{Store: memory, Keep: time.Hour}}
		s.report(t)
		for range 3 {
			s.handle(t, "report", "10m")
			s.CallTool(t.Context(), "report", map[string]any{"word": "1s"})
		}
		time.Sleep(2 * time.Hour)
		s.result(t, s.handle(t, "report", "30s"))
		time.Sleep(2 * time.Hour)
		require.Equal(t, fault.KindNotFound, s.ask(t, "task_result", "x").Fault().Kind())
	})
}
