package whole_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/state"
)

// TestReplayAndStateInStandard proves where the two stand: a repetition reaches nothing
// that stands further in, what the first call saved is saved once, each item of a list
// has a key of its own, and what stands outside sees every call.
func TestReplayAndStateInStandard(t *testing.T) {
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		t.Run(string(era), func(t *testing.T) {
			var tr harness.Trace
			log := harness.NewLog(slog.LevelDebug)
			add := func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
				count, err := state.From[int](ctx)
				if err != nil {
					return nil, err
				}
				*count++
				if string(req.GetParams().(*mcp.CallToolParamsRaw).Arguments) == `{"word":"fail"}` {
					return nil, fault.New(fault.KindServerError, "added, but not announced").WithRetry(fault.Retry{Effect: fault.EffectCommitted})
				}
				return harness.Success(req), nil
			}
			s := harness.Start(t, harness.Place{Shape: harness.ServerTyped, Era: era}, harness.Setup{
				Handlers: map[string]harness.Handler{"add": tr.Handler("h", add)},
				Middleware: []mcp.Middleware{tr.Middleware("out"), mcpchain.Standard(&mcpchain.Options{
					Logger: log.Logger(),
					Replay: replay.New(nil), State: state.New(&state.Options{SaveFailed: true}),
					Batch: batch.New(&batch.Options{Lists: []batch.List{{Tool: "add", Item: "word", As: "add_many", Run: &batch.RunOptions[json.RawMessage]{Concurrency: 1}}}}),
				}, tr.Middleware("in"))},
			})
			call := func(key, tool, args, want string) *mcp.CallToolResult {
				t.Helper()
				tr.Take()
				res, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{
					Name: tool, Arguments: json.RawMessage(args), Meta: mcp.Meta{"io.modelcontextprotocol/idempotencyKey": key},
				})
				require.NoError(t, err)
				require.Equal(t, want, tr.Take())
				return res
			}
			call("a", "add", `{"word":"x"}`, ">out >in h <in <out")
			call("a", "add", `{"word":"x"}`, ">out <out")
			require.True(t, call("b", "add", `{"word":"fail"}`, ">out >in h <in <out").IsError)
			require.True(t, call("b", "add", `{"word":"fail"}`, ">out <out").IsError)
			require.Contains(t, call("a", "add", `{"word":"y"}`, ">out <out").Content[0].(*mcp.TextContent).Text, "other arguments")
			call("c", "add_many", `{"words":["x","y"]}`, ">out >in h <in >in h <in <out")
			call("c", "add_many", `{"words":["x","y"]}`, ">out <out")
		})
	}
}
