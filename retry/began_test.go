package retry_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
)

// act is something that a handler does, which ended so.
func act(ctx context.Context, err error) { retry.Began(ctx)(err) }

func TestWhatBecomesOfAStep(t *testing.T) {
	const (
		took    = fault.EffectCommitted
		unknown = fault.EffectUnknown
		nothing = fault.Effect("")
	)
	for name, tc := range map[string]struct {
		steps func(ctx context.Context)
		want  fault.Effect
	}{
		"none":                           {func(context.Context) {}, nothing},
		"done":                           {func(ctx context.Context) { act(ctx, nil) }, took},
		"no word":                        {func(ctx context.Context) { retry.Began(ctx) }, unknown},
		"unchanged":                      {func(ctx context.Context) { act(ctx, retry.ErrUnchanged) }, nothing},
		"unchanged, wrapped":             {func(ctx context.Context) { act(ctx, fmt.Errorf("%w: %w", retry.ErrUnchanged, errElse)) }, nothing},
		"an error":                       {func(ctx context.Context) { act(ctx, errElse) }, unknown},
		"a strange error":                {func(ctx context.Context) { act(ctx, wild{}) }, unknown},
		"a connection that broke":        {func(ctx context.Context) { act(ctx, errReset) }, unknown},
		"a connection that was not made": {func(ctx context.Context) { act(ctx, errRefused) }, unknown},      // another try may have been made before
		"a statement that was undone":    {func(ctx context.Context) { act(ctx, serialization{}) }, unknown}, // one of several, perhaps
		"a fault that says so": {func(ctx context.Context) {
			act(ctx, fault.Timeout("it", 0).WithRetry(fault.Retry{Effect: fault.EffectNone}))
		}, nothing},
		"given up":   {func(ctx context.Context) { act(ctx, context.Canceled) }, unknown},
		"one of two": {func(ctx context.Context) { act(ctx, nil); act(ctx, errElse) }, took},
		"undone again": {func(ctx context.Context) {
			done := retry.Began(ctx)
			done(nil)
			done(retry.ErrUnchanged)
		}, nothing},
		"found to be done": {func(ctx context.Context) {
			done := retry.Began(ctx)
			done(errElse)
			done(nil)
			done(nil)
		}, took},
		"of nobody": {func(context.Context) { act(context.Background(), nil) }, nothing},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, witnessed(t, tc.steps)) })
	}
}

// wild is an error that cannot be asked for anything.
type wild struct{}

func (wild) Error() string   { panic("no text") }
func (wild) Is(error) bool   { panic("no comparison") }
func (wild) Unwrap() []error { panic("nothing inside") }

// TestATransactionIsItsCommit: what the documentation shows, with a rollback.
func TestATransactionIsItsCommit(t *testing.T) {
	for name, tc := range map[string]struct {
		insert, commit error
		want           fault.Effect
	}{
		"committed":   {nil, nil, fault.EffectCommitted},
		"rolled back": {errElse, nil, ""},
		"lost":        {nil, errReset, fault.EffectUnknown},
		"refused":     {nil, serialization{}, fault.EffectUnknown},
	} {
		db := sql.OpenDB(&fakeDB{insert: tc.insert, commit: tc.commit})
		require.Equal(t, tc.want, witnessed(t, func(ctx context.Context) {
			tx, err := db.BeginTx(ctx, nil)
			require.NoError(t, err)
			defer func() { _ = tx.Rollback() }()
			if _, err := tx.ExecContext(ctx, "INSERT"); err != nil {
				return
			}
			done := retry.Began(ctx)
			err = tx.Commit()
			done(err)
		}), name)
		require.NoError(t, db.Close())
	}
}

// TestItemsHaveTheirOwn: what one item did is said of it alone; the call knows of all.
func TestItemsHaveTheirOwn(t *testing.T) {
	run := func(ctx context.Context) *batch.Result[string] {
		return batch.Run(ctx, []string{"done", "begun", "silent", "stuck"}, func(ctx context.Context, item string) (string, error) {
			switch item {
			case "done":
				act(ctx, nil)
			case "begun":
				retry.Began(ctx)
			case "stuck":
				time.Sleep(time.Hour)
			}
			return "", errRefused
		}, &batch.RunOptions[string]{Limit: time.Minute})
	}
	for name, whole := range map[string]func(string) bool{"not declared": nil, "witnessed": always} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var effects []string
				public, text := tells(t, nil, &retry.Options{Witnessed: whole}, func(ctx context.Context) error {
					for _, item := range run(ctx).Items {
						r, _ := item.Err.Retry()
						effects = append(effects, fmt.Sprintf("%s %v", r.Effect, r.Partial))
					}
					return errElse
				})
				refused := " false" // the error proves what became of its step, and of the item nothing
				if whole != nil {
					refused = "none false"
				}
				require.Equal(t, []string{"committed true", "unknown false", refused, "unknown false"}, effects)
				require.Equal(t, fault.EffectCommitted, effectOf(public), text)
				time.Sleep(2 * time.Hour)
			})
		})
	}
	t.Run("outside of a call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, _ := run(t.Context()).Items[0].Err.Retry()
			require.Equal(t, fault.EffectCommitted, r.Effect)
			time.Sleep(2 * time.Hour)
		})
	})
}

// TestPartsHaveTheirOwn: the parts of an answer, too.
func TestPartsHaveTheirOwn(t *testing.T) {
	s := annotated(t, nil, nil, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		status, err := degrade.Run(ctx,
			degrade.Optional("done", nil, func(ctx context.Context) (int, error) { act(ctx, nil); return 0, errRefused }),
			degrade.Optional("begun", nil, func(ctx context.Context) (int, error) { retry.Began(ctx); return 0, errRefused }),
			degrade.Optional("silent", nil, func(context.Context) (int, error) { return 0, errElse }))
		if err != nil {
			return nil, err
		}
		for i, want := range []fault.Retry{{Effect: fault.EffectCommitted, Partial: true}, {Effect: fault.EffectUnknown}} {
			if got := status.Warnings[i].Retry; got == nil || *got != want {
				t.Errorf("%s: %+v", status.Warnings[i].Component, got)
			}
		}
		if got := status.Warnings[2].Retry; got != nil {
			t.Errorf("silent: %+v", got)
		}
		return nil, errElse
	})
	answer := s.Call(t, "it")
	require.Equal(t, fault.EffectCommitted, effectOf(answer.Fault()), answer.Text())
}

// TestTheWitnessOfACutCall: when a call is cut, what was seen until then is said, and silence is no word as long
// as the handler is at work.
func TestTheWitnessOfACutCall(t *testing.T) {
	for name, tc := range map[string]struct {
		begin func(ctx context.Context)
		stops bool
		want  string
	}{
		"took effect, and it runs on": {func(ctx context.Context) { act(ctx, nil) }, false, "not the same call: it is still running after 60 s. " + tookEffect},
		"took effect, and it stopped": {func(ctx context.Context) { act(ctx, nil) }, true, "no. " + tookEffect},
		"begun, and it runs on":       {func(ctx context.Context) { retry.Began(ctx) }, false, "not the same call: it is still running after 60 s. It may still take effect."},
		"begun, and it stopped":       {func(ctx context.Context) { retry.Began(ctx) }, true, mayHave},
		"silent, and it runs on":      {func(context.Context) {}, false, "not the same call: it is still running after 60 s. It may still take effect."},
		"silent, and it stopped":      {func(context.Context) {}, true, "yes, after W (attempt 2). " + nothingDone},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mw := append(chain(harness.NewLog(100), &retry.Options{Witnessed: always}), deadline.New(&deadline.Options{Limit: time.Minute}))
				h := func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
					tc.begin(ctx)
					if <-ctx.Done(); !tc.stops {
						time.Sleep(time.Hour)
						act(ctx, nil) // the answer is out
					}
					return nil, ctx.Err()
				}
				s := harness.Start(t, rawAt, harness.Setup{Handlers: map[string]harness.Handler{"it": h}, Middleware: mw})
				text := s.Call(t, "it").Text()
				require.Contains(t, shown(text)+"\n", "\nRetry: "+tc.want+"\n")
				time.Sleep(2 * time.Hour)
				synctest.Wait()
			})
		})
	}
}

// TestServerAndWitness: the server calls again by the same decision.
func TestServerAndWitness(t *testing.T) {
	for name, tc := range map[string]struct {
		end   error
		begun bool
		tool  *mcp.ToolAnnotations
		whole func(string) bool
		rules []fault.HintRule
		runs  int
	}{
		"nothing is known":                   {nil, false, nil, nil, nil, 1},
		"nothing was begun":                  {nil, false, nil, always, nil, 3},
		"it was refused":                     {retry.ErrUnchanged, true, nil, always, nil, 3},
		"it was refused, which is all known": {retry.ErrUnchanged, true, nil, nil, nil, 1},
		"it took effect":                     {nil, true, nil, always, nil, 1},
		"it was lost":                        {errElse, true, nil, always, nil, 1},
		"it took effect, and does no harm":   {nil, true, harmless, always, nil, 3},
		"it took effect, and a rule says that it did not": {nil, true, nil, nil, []fault.HintRule{func(error) (fault.Hint, bool) {
			return fault.Hint{Retry: fault.RetryYes, Effect: fault.EffectNone}, true
		}}, 1},
		"nothing is known, and a rule says that nothing was done": {nil, false, nil, nil, []fault.HintRule{func(error) (fault.Hint, bool) {
			return fault.Hint{Retry: fault.RetryYes, Effect: fault.EffectNone}, true
		}}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				s := harness.Start(t, rawAt, harness.Setup{
					Middleware: []mcp.Middleware{retry.New(&retry.Options{Witnessed: tc.whole}), retry.Server(&retry.ServerOptions{Rules: tc.rules})},
					More: func(server *mcp.Server) {
						server.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}, Annotations: tc.tool},
							func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
								runs++
								if tc.begun {
									act(ctx, tc.end)
								}
								return nil, errReset
							})
					},
				})
				s.Call(t, "it")
				require.Equal(t, tc.runs, runs)
			})
		})
	}
}

// TestReplayAndWitness: under a key a call that took effect in part is not run again, one that changed nothing is.
func TestReplayAndWitness(t *testing.T) {
	denied := fault.Denied("pay", "it")
	for name, tc := range map[string]struct {
		begin func(ctx context.Context)
		err   error
		whole func(string) bool
		rerun bool
		runs  int
	}{
		"nothing is known, the error is a refusal": {func(context.Context) {}, denied, nil, false, 2},
		"took effect, and then a refusal":          {func(ctx context.Context) { act(ctx, nil) }, denied, nil, false, 1},
		"lost, and then a refusal":                 {func(ctx context.Context) { retry.Began(ctx) }, denied, nil, false, 1},
		"took effect, and may be run again":        {func(ctx context.Context) { act(ctx, nil) }, denied, nil, true, 2},
		"nothing is known":                         {func(context.Context) {}, errElse, nil, false, 1},
		"nothing was begun":                        {func(context.Context) {}, errElse, always, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			h := middleware.Chain(
				replay.New(&replay.Options{
					Owner: func(context.Context, mcp.Request) string { return "ann" },
					Rerun: func(string) bool { return tc.rerun },
				}), retry.New(&retry.Options{Witnessed: tc.whole}),
			)(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
				runs++
				tc.begin(ctx)
				return nil, tc.err
			})
			for range 2 {
				_, _ = h(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
					Name: "pay", Arguments: []byte(`{}`), Meta: mcp.Meta{"io.modelcontextprotocol/idempotencyKey": "k"},
				}})
			}
			require.Equal(t, tc.runs, runs)
		})
	}
}

// TestCallsWithoutAWitnessPayNothing: a call in which nothing is begun allocates nothing for it, and in one that
// begins something the notes are small.
func TestCallsWithoutAWitnessPayNothing(t *testing.T) {
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() { retry.Began(ctx)(nil) }), "outside of a call")
	witnessed(t, func(ctx context.Context) {
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { retry.Began(ctx)(nil) }), 2.)
	})
	mw := retry.New(&retry.Options{Witnessed: always})
	h := mw(func(context.Context, string, mcp.Request) (mcp.Result, error) { return success, nil })
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = h(ctx, middleware.MethodCallTool, req) }), 1., "the Call itself")
}

var success = &mcp.CallToolResult{}
