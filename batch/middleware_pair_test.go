package batch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
)

// standard starts a server in the recommended chain, with a tool that ends only as its
// item says, the list form of it, and a tool that runs a batch itself.
func standard(t *testing.T, era harness.Era, annotations *mcp.ToolAnnotations, log *harness.Log) *harness.Session {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	return harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
		Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{
			Logger:   log.Logger(),
			Batch:    batch.New(&batch.Options{Lists: []batch.List{userList}}),
			Deadline: deadline.New(&deadline.Options{Limit: 300 * time.Millisecond, Grace: 10 * time.Millisecond}),
		})},
		More: func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "get_user", Annotations: annotations}, func(ctx context.Context, req *mcp.CallToolRequest, in userIn) (*mcp.CallToolResult, userOut, error) {
				switch in.UserID {
				case "slow":
					<-ctx.Done()
					return nil, userOut{}, ctx.Err()
				case "stuck":
					<-release
				}
				return getUser(ctx, req, in)
			})
			mcp.AddTool(s, &mcp.Tool{Name: "run"}, func(ctx context.Context, _ *mcp.CallToolRequest, in struct {
				Items []string `json:"items"`
			}) (*mcp.CallToolResult, batch.Output[string], error) {
				return batch.Run(ctx, in.Items, func(ctx context.Context, item string) (string, error) {
					if item == "stuck" {
						<-release
					}
					return item, nil
				}, nil).Output()
			})
		},
	})
}

// TestPairWithDeadline: in the list form each item has the limit of a call of its own;
// a batch in a handler ends before the limit of its call, and what was done is kept.
func TestPairWithDeadline(t *testing.T) {
	for _, era := range eras {
		for _, readOnly := range []bool{true, false} {
			test := func(t *testing.T) {
				log := harness.NewLog(slog.LevelInfo)
				s := standard(t, era, &mcp.ToolAnnotations{ReadOnlyHint: readOnly}, log)
				answer := s.CallTool(t.Context(), "get_users", ids("ann", "stuck", "slow", "bob"))
				out := outputOf(t, answer)
				require.Equal(t, 2, out.Succeeded)
				require.Empty(t, out.Stopped)
				require.Len(t, out.Errors, 2)
				for _, e := range out.Errors {
					require.Equal(t, fault.KindTimeout, e.Fault().Kind())
				}
				stuck, _ := out.Errors[0].Fault().Retry()
				require.Equal(t, fault.StillRunning, stuck.Reason)
				again, check := []any{"slow"}, []any(nil) // what still runs is not made again
				if !readOnly {
					again, check = nil, []any{"stuck", "slow"}
				}
				require.Equal(t, again, out.RetryItems)
				require.Equal(t, check, out.CheckItems)
				require.Equal(t, !readOnly, out.CheckItems != nil)
				schemaHolds(t, s, answer)

				answer = s.CallTool(t.Context(), "run", map[string]any{"items": []string{"a", "stuck", "b"}})
				require.False(t, answer.Tool().IsError, answer.Text())
				out = outputOf(t, answer)
				require.Equal(t, 2, out.Succeeded)
				require.Equal(t, 1, out.Failed)
				require.Equal(t, "deadline", out.Stopped)
			}
			t.Run(fmt.Sprint(era, " read only ", readOnly), func(t *testing.T) { synctest.Test(t, test) })
		}
	}
}

// TestPairWithValidate: what is wrong with an item is explained as for a call of its own,
// what is wrong with the list by the list form, and a misspelled name finds both tools.
func TestPairWithValidate(t *testing.T) {
	for _, era := range eras {
		t.Run(string(era), func(t *testing.T) {
			s := standard(t, era, nil, harness.NewLog(slog.LevelInfo))
			args := ids("ann", 7, nil)
			args["ful"] = true
			out := outputOf(t, s.CallTool(t.Context(), "get_users", args))
			require.Equal(t, 3, out.Failed)
			require.Contains(t, out.Errors[0].Fault().Message(), "Argument 'ful' is unknown. Did you mean 'full'?")
			require.Contains(t, out.Errors[1].Fault().Message(), "Argument 'user_id' expected a string, but received 7.")
			require.Contains(t, out.Errors[2].Fault().Message(), "Argument 'user_id' expected a string, but received null.")
			require.Len(t, out.Errors[1].Fault().Data().Violations, 2)

			one := s.CallTool(t.Context(), "get_user", map[string]any{"user_id": 7, "ful": true})
			require.Equal(t, one.Fault().Message(), out.Errors[1].Fault().Message())

			wrong := s.CallTool(t.Context(), "get_users", map[string]any{"user_ids": json.RawMessage(`{"a":1}`)})
			require.Equal(t, fault.KindValidation, wrong.Fault().Kind())
			require.Contains(t, wrong.Text(), "Argument 'user_ids' expected a list of 1 to 100 values")

			unknown := s.CallTool(t.Context(), "get_userz", ids("ann"))
			require.ErrorContains(t, unknown.Err, "Did you mean 'get_user' or 'get_users'?")
		})
	}
}

// TestPairWithDegrade: whatever the output of a tool is, an item that is stale says so.
func TestPairWithDegrade(t *testing.T) {
	type in struct {
		City string `json:"city"`
	}
	type strict struct {
		Celsius int `json:"celsius"`
	}
	type own struct {
		Celsius  int    `json:"celsius"`
		Metadata string `json:"metadata"`
	}
	type embedded struct {
		Celsius int `json:"celsius"`
		degrade.Status
	}
	stale := func(ctx context.Context, in in) (celsius int, err error) {
		_, err = degrade.Run(ctx, degrade.Required("now", &celsius, func(context.Context) (int, error) {
			if in.City == "fresh" {
				return 21, nil
			}
			return 0, errSecret
		}).Stale("cache", time.Hour, func(context.Context) (int, time.Time, error) { return 20, time.Now().Add(-time.Minute), nil }))
		return celsius, err
	}
	var lists []batch.List
	for _, tool := range []string{"strict", "own", "embedded", "number"} {
		lists = append(lists, batch.List{Tool: tool, Item: "city", As: tool + "s", Items: "cities"})
	}
	for _, era := range eras {
		s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
			Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{
				Logger: slog.New(slog.DiscardHandler), Batch: batch.New(&batch.Options{Lists: lists}), Degrade: degrade.New(nil),
			})},
			More: func(s *mcp.Server) {
				mcp.AddTool(s, &mcp.Tool{Name: "strict"}, func(ctx context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, strict, error) {
					celsius, err := stale(ctx, in)
					return nil, strict{celsius}, err
				})
				mcp.AddTool(s, &mcp.Tool{Name: "own"}, func(ctx context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, own, error) {
					celsius, err := stale(ctx, in)
					return nil, own{celsius, "mine"}, err
				})
				mcp.AddTool(s, &mcp.Tool{Name: "embedded"}, func(ctx context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, embedded, error) {
					celsius, err := stale(ctx, in)
					return nil, embedded{Celsius: celsius}, err
				})
				mcp.AddTool(s, &mcp.Tool{Name: "number"}, func(ctx context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
					celsius, err := stale(ctx, in)
					return nil, celsius, err
				})
			},
		})
		for tool, want := range map[string]string{
			"strict":   `"value":{"celsius":20}`,
			"own":      `"value":{"celsius":20,"metadata":"mine"}`,
			"embedded": `{"celsius":20,"degraded":true`,
			"number":   `"value":20,"warnings"`,
		} {
			answer := s.CallTool(t.Context(), tool+"s", map[string]any{"cities": []string{"fresh", "stale"}})
			out := outputOf(t, answer)
			require.Equal(t, 2, out.Succeeded)
			require.Contains(t, string(out.Results[1].Value), want, tool)
			require.Contains(t, string(out.Results[1].Value), `"degraded":true`, tool)
			require.Contains(t, string(out.Results[1].Value), `"fallback":"stale"`, tool)
			require.Contains(t, answer.Text(), `"fallback":"stale"`, tool)
			require.NotContains(t, string(out.Results[0].Value), `"degraded":true`, tool)
		}
	}
}
