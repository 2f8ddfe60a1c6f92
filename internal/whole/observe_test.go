package whole_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/mask"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/validate"
)

// observing is Standard with all that would change an answer, looked at only.
func observing(log *slog.Logger) mcp.Middleware {
	return mcpchain.Standard(&mcpchain.Options{
		Observe: true, Logger: log,
		Recover:   &mcprecover.Options{MaxResult: 1},
		Correlate: &correlate.Options{Advanced: correlate.Advanced{ReferenceInSuccess: true}},
		Validate:  &validate.Options{RawTools: true, StrictPrompts: true, UnknownToolAsToolError: true},
		Retry:     &retry.Options{RefuseAfter: 2},
		Limit:     limit.New(&limit.Options{Limits: []limit.Limit{{Calls: 1, Scope: limit.ForAll}}}),
		Deadline:  deadline.New(nil),
		Drain:     drain.New(&drain.Options{Drain: &drain.Drain{}}),
		Budget:    budget.New(nil),
	})
}

// TestObserveChangesNothing compares every byte that a server sends, with and without.
func TestObserveChangesNothing(t *testing.T) {
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		run := func(chain ...mcp.Middleware) string {
			handlers := failuresOfOthers(at)
			s := harness.Start(t, at, harness.Setup{Handlers: handlers, Middleware: chain})
			for range 8 { // the breaker would refuse by then
				for _, name := range []string{"plain", "of a kind", "of a file", "of the wire", "own words", "own words of an error", "good"} {
					if handlers[name] != nil {
						s.Call(t, name)
					}
				}
			}
			if at.Shape != harness.ServerCompletion { // where nobody looks whether there is one
				s.Call(t, "no such name")
			}
			if at.Shape.Tool() {
				s.CallTool(t.Context(), "plain", map[string]any{"wrong": 1})
				s.CallTool(t.Context(), "good", map[string]any{"wrong": 1})
			}
			return s.Sent()
		}
		log := harness.NewLog(slog.LevelInfo)
		require.Equal(t, run(), run(observing(log.Logger())))
		require.NotEmpty(t, log.Records())
	})
}

// TestObserveRecordsBothAnswers finds, under the reference of a failure, what was sent and what would
// have been.
func TestObserveRecordsBothAnswers(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	at := harness.Place{Shape: harness.ServerTyped, Era: harness.Current}
	s := harness.Start(t, at, harness.Setup{Handlers: failuresOfOthers(at), Middleware: []mcp.Middleware{observing(log.Logger())}})
	sent := s.Call(t, "of a file").Text()
	records := log.Records()
	require.Len(t, records, 2)
	require.Equal(t, "mcp call", records[0]["msg"])
	observed := records[1]
	require.Equal(t, "mcpchain: observed: a failure was sent as it came", observed["msg"])
	require.Equal(t, records[0]["reference"], observed["reference"])
	require.Equal(t, "of a file", observed["tool"])
	require.Equal(t, sent, observed["sent"])
	require.Contains(t, observed["would_send"], "Internal error: ")
	require.Contains(t, observed["would_send"], observed["reference"])
	require.NotContains(t, observed["would_send"], "/etc/stock")

	s.CallTool(t.Context(), "good", map[string]any{"word": map[string]any{"password": canary}})
	require.Len(t, log.Records(), 4)
	require.Contains(t, log.Records()[3]["would_send"], "Argument 'word'")
	require.NotContains(t, log.String(), canary)

	s.Call(t, "good")
	require.Len(t, log.Records(), 4, "a success is no failure")
	s.Call(t, "own words")
	require.Len(t, log.Records(), 5, "which would be sent as it is")
	require.Equal(t, "mcp call", log.Records()[4]["msg"])
	require.Equal(t, "tool_error", log.Records()[4]["outcome"])
}

// TestObserveStillSavesTheProcess: what nobody would have answered is answered as without Observe.
func TestObserveStillSavesTheProcess(t *testing.T) {
	handlers := map[string]harness.Handler{
		"panics": harness.Panic(canary), "nil": harness.Nothing(), "good": harness.Succeed(),
		"not JSON": harness.Return(func() *mcp.CallToolResult {
			return &mcp.CallToolResult{StructuredContent: map[string]any{"n": math.NaN()}}
		}),
		"broken": harness.Fail(broken{}),
		"circle": harness.Fail(&circle{}),
	}
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		log := harness.NewLog(slog.LevelInfo)
		s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{Handlers: handlers, Middleware: []mcp.Middleware{observing(log.Logger())}})
		for _, name := range []string{"panics", "nil", "not JSON", "broken", "circle"} {
			got := s.Call(t, name)
			if name == "nil" && era == harness.Older {
				continue // the SDK answers null then, see TestObserveLeavesAMissingResult
			}
			require.Contains(t, got.Text(), "Internal error: ", name)
			require.NotContains(t, string(got.Wire), canary)
		}
		require.Equal(t, "fine", s.Call(t, "good").Text())
	}
}

// TestObserveLeavesAMissingResult: to a client of an older version the SDK sends null for it, and so does Observe. In a
// newer version the process would have died.
func TestObserveLeavesAMissingResult(t *testing.T) {
	if speak.Oldest {
		t.Skip("go-sdk v1.7 ends the process at a resource without a result")
	}
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		log := harness.NewLog(slog.LevelInfo)
		run := func(chain ...mcp.Middleware) (string, harness.Answer) {
			s := harness.Start(t, at, harness.Setup{Handlers: map[string]harness.Handler{"nil": harness.Nothing()}, Middleware: chain})
			got := s.Call(t, "nil")
			return s.Sent(), got
		}
		observed, got := run(observing(log.Logger()))
		if at.Era == harness.Older {
			bare, _ := run()
			require.Equal(t, bare, observed)
			if strings.Contains(string(got.Wire), `"result":null`) {
				require.Contains(t, log.String(), `"sent":"null","would_send":"Internal error: `)
			}
		} else if at.Shape != harness.ServerTyped && at.Shape != harness.WrapAddTool && at.Shape != harness.ServerResource {
			require.Contains(t, got.Text(), "Internal error: ")
		}
	})
}

// TestObserveRunsWhatWouldBeRefused: the handler runs with what the caller sent, and the record has the
// refusal.
func TestObserveRunsWhatWouldBeRefused(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	var got string
	server := mcp.NewServer(&mcp.Implementation{Name: "stock"}, nil)
	server.AddTool(&mcp.Tool{Name: "count", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"of":{"type":"string","default":"all"}},"required":["n"]}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			got = string(req.Params.Arguments)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "counted"}}}, nil
		})
	server.AddReceivingMiddleware(observing(log.Logger()))
	there, here := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "count", Arguments: map[string]any{"n": "five"}})
	require.NoError(t, err)
	require.False(t, res.IsError)
	require.JSONEq(t, `{"n":"five"}`, got)
	r := log.Only(t)
	require.Equal(t, "mcpchain: observed: a call would have been refused", r["msg"])
	require.Equal(t, "counted", r["sent"])
	require.Contains(t, r["would_send"], "Argument 'n' expected an integer")
}

// TestAnObservedCallIsNotRefused: a call that the loop breaker would refuse runs, and its event says so.
func TestAnObservedCallIsNotRefused(t *testing.T) {
	for _, observe := range []bool{true, false} {
		var events []correlate.Event
		s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
			Handlers: map[string]harness.Handler{"fails": harness.Fail(errors.New("index out of range"))},
			Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{
				Observe: observe, Logger: slog.New(slog.DiscardHandler), Retry: &retry.Options{RefuseAfter: 2},
				Correlate: &correlate.Options{Observe: func(_ context.Context, e correlate.Event) { events = append(events, e) }},
			})},
		})
		for range 4 {
			s.Call(t, "fails")
		}
		require.Len(t, events, 5, "a server/discover, too")
		refused := "retry"
		if observe {
			refused = ""
		}
		require.Equal(t, refused, events[4].Refused)
	}
}

// TestObserveAndTheProgramsOwnCode: data that is no JSON would end a session, and a scrubber that panics changes nothing.
func TestObserveAndTheProgramsOwnCode(t *testing.T) {
	at := harness.Place{Shape: harness.ServerRaw, Era: harness.Current}
	s := harness.Start(t, at, harness.Setup{
		Handlers: map[string]harness.Handler{
			"data": harness.Fail(&jsonrpc.Error{Code: 5, Message: "m", Data: json.RawMessage("{bad")}), "told": harness.Tell(), "good": harness.Succeed(),
		},
		Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{
			Observe: true, Logger: slog.New(slog.DiscardHandler), Mask: &mask.Options{Scrub: func(string) string { panic(canary) }},
		})},
	})
	require.NotEmpty(t, s.Call(t, "data").Text())
	require.Equal(t, harness.ToldText, s.Call(t, "told").Text())
	require.Equal(t, "fine", s.Call(t, "good").Text())
}
