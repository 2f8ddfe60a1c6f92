package task_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/store"
	"github.com/mcpchain/mcpchain/task"
)

// both runs a test with two servers that have one store. away cuts the first one off from it.
func both(t *testing.T, reads bool, test func(t *testing.T, a, b *server, away *moody)) {
	t.Helper()
	inStandard(t, func(t *testing.T, a *server) {
		shared := store.NewMemory(nil)
		away := &moody{Store: shared}
		alice := func(context.Context, mcp.Request) string { return "alice" }
		b := &server{at: a.at, opts: task.Options{Store: shared, Owner: alice}}
		a.opts.Store, a.opts.Owner = away, alice
		if reads {
			a.tool = func(tool *mcp.Tool) { tool.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true} }
		}
		test(t, a.report(t), b.report(t), away)
	})
}

// TestAnotherServerAnswers: a server that does not run the call waits for its end.
func TestAnotherServerAnswers(t *testing.T) {
	both(t, false, func(t *testing.T, a, b *server, _ *moody) {
		id := a.handle(t, "report", "55s")
		began := time.Now()
		still := b.ask(t, "task_result", id)
		require.Equal(t, 20*time.Second, time.Since(began))
		require.Equal(t, id, idOf(t, still))
		require.Contains(t, still.Text(), "'report' has not finished after 40 s")
		require.Equal(t, "fine", b.ask(t, "task_result", id).Text())
		require.InDelta(t, 35, time.Since(began).Seconds(), 1, "it looks once a second")
		require.Zero(t, b.runs.Load())
		require.Equal(t, `It has ended already. task_result {"id":"`+id+`"} gets its answer.`, b.ask(t, "task_cancel", id).Text())
	})
}

// TestCancelOnAnotherServer: the server that runs the call hears of it within five seconds.
func TestCancelOnAnotherServer(t *testing.T) {
	both(t, false, func(t *testing.T, a, b *server, _ *moody) {
		id := a.handle(t, "report", "55m")
		began := time.Now()
		for range 2 {
			require.Contains(t, b.ask(t, "task_cancel", id).Text(), "It was told to stop.")
		}
		got := b.result(t, id)
		require.Equal(t, fault.KindCancelled, got.Fault().Kind())
		require.LessOrEqual(t, time.Since(began), 6*time.Second)
	})
}

// TestProgressOnAnotherServer: it is told within five seconds.
func TestProgressOnAnotherServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := store.NewMemory(nil)
		at := harness.Place{Shape: harness.ServerTyped, Era: harness.Current}
		opts := task.Options{Store: shared, Owner: func(context.Context, mcp.Request) string { return "alice" }, Wait: 6 * time.Second}
		a, b := &server{at: at, opts: opts}, &server{at: at, opts: opts}
		a.telling(t, func(ctx context.Context, _ *mcp.CallToolRequest, n int) {
			task.Report(ctx, []string{"", "a third", "a half"}[n])
		})
		b.report(t)
		id := idOf(t, a.CallTool(t.Context(), "report", nil))
		require.Contains(t, b.ask(t, "task_result", id).Text(), "Its last progress: a third.")
		time.Sleep(10 * time.Second)
		require.Contains(t, b.ask(t, "task_result", id).Text(), "Its last progress: a half.")
		require.Equal(t, "fine", b.result(t, id).Text())
	})
}

// TestAServerThatIsGone: when the lease is over, another server says that the end is not known, and to run it again only
// if that does no harm.
func TestAServerThatIsGone(t *testing.T) {
	for reads, want := range map[bool]string{
		false: "Conflict: it is not known whether the call has ended: the server that ran it is gone or cut off.\n" +
			"Suggestion: Check whether the change was made before you make the call again.\nRetry: no, unless you see that it did not take effect.",
		true: "Service unavailable: the call was lost: the server that ran it is gone or cut off.\nSuggestion: Make the call again. It does no harm if it runs twice.",
	} {
		both(t, reads, func(t *testing.T, a, b *server, away *moody) {
			id := a.handle(t, "report", "10m")
			away.fails.Store(true)
			began := time.Now()
			require.Equal(t, want, b.result(t, id).Text())
			require.LessOrEqual(t, time.Since(began), 16*time.Second)
			require.Equal(t, want, b.ask(t, "task_cancel", id).Text())

			// It was only cut off.
			away.fails.Store(false)
			time.Sleep(2 * time.Second)
			idOf(t, b.ask(t, "task_result", id))
			require.Equal(t, "fine", b.result(t, id).Text())
		})
	}
}
