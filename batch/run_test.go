package batch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/middleware"
)

var errBroken = errors.New("the disk at /srv/secret is broken")

// statuses writes what became of the items: one letter each.
func statuses[Out any](items []batch.Item[Out]) string {
	letters := make([]byte, len(items))
	for i, item := range items {
		letters[i] = map[batch.Status]byte{
			batch.Succeeded: '+', batch.Failed: '-', batch.NotRun: '.',
		}[item.Status]
	}
	return string(letters)
}

// answered returns what an answer says of a result.
func answered[Out any](r *batch.Result[Out]) batch.Output[Out] {
	_, out, _ := r.Output()
	return out
}

func summary[Out any](r *batch.Result[Out]) batch.ErrorSummary {
	if out := answered(r); out.ErrorSummary != nil {
		return *out.ErrorSummary
	}
	return batch.ErrorSummary{}
}

func recoverable[Out any](item batch.Item[Out]) bool {
	retry, _ := item.Err.Retry()
	return retry.ShouldRetry
}

func indexOf(e batch.OutputError) int {
	index, err := strconv.Atoi(fmt.Sprint(e["index"]))
	if err != nil {
		return -1
	}
	return index
}

// consistent checks what holds for every result.
func consistent[Out any](t testing.TB, r *batch.Result[Out], n int) {
	t.Helper()
	require.Equal(t, n, r.Total)
	require.Equal(t, n, r.Succeeded+r.Failed+r.NotRun)
	require.Len(t, r.Items, n)
	counts := map[batch.Status]int{}
	for i, item := range r.Items {
		require.Equal(t, i, item.Index)
		require.Equal(t, item.Status == batch.Failed, item.Err != nil)
		counts[item.Status]++
	}
	require.Equal(t, r.Succeeded, counts[batch.Succeeded])
	require.Equal(t, r.Failed, counts[batch.Failed])
	require.Equal(t, r.NotRun, counts[batch.NotRun])
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// inTime runs a case with a fake clock and checks that no goroutine is left: a bubble
// cannot end before all of its goroutines have.
func inTime(t *testing.T, run func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		run(t)
		time.Sleep(3 * time.Hour) // what was left behind ends by then
	})
}

func TestConcurrencyIsBounded(t *testing.T) {
	for _, c := range []struct{ option, most, seconds int }{{0, 8, 7}, {1, 1, 50}, {7, 7, 8}, {100, 50, 1}} {
		inTime(t, func(t *testing.T) {
			var now, most atomic.Int64
			var order []int
			var mu sync.Mutex
			began := time.Now()
			r := batch.Run(t.Context(), numbers(50), func(_ context.Context, i int) (int, error) {
				mu.Lock()
				order = append(order, i)
				most.Store(max(most.Load(), now.Add(1)))
				mu.Unlock()
				defer now.Add(-1)
				time.Sleep(time.Second)
				return i, nil
			}, &batch.RunOptions[int]{Concurrency: c.option})
			consistent(t, r, 50)
			require.Equal(t, 50, r.Succeeded)
			require.EqualValues(t, c.most, most.Load())
			require.Equal(t, time.Duration(c.seconds)*time.Second, time.Since(began))
			if c.option == 1 {
				require.Equal(t, numbers(50), order)
			}
		})
	}
}

func TestProgrammersMistakes(t *testing.T) {
	fn := func(context.Context, int) (int, error) { return 0, nil }
	run := func(o batch.RunOptions[int]) func() {
		return func() { batch.Run(t.Context(), nil, fn, &o) }
	}
	for message, f := range map[string]func(){
		"batch.Run: fn is nil; give the function that is run for every item":                                               func() { batch.Run[int, int](t.Context(), nil, nil, nil) },
		"batch.Run: RunOptions.Concurrency is negative; give how many items may run at a time, or 0 for the default":       run(batch.RunOptions[int]{Concurrency: -1}),
		"batch.Run: RunOptions.MaxFailures is negative; give after how many failures to stop, or 0 for never":              run(batch.RunOptions[int]{MaxFailures: -1}),
		"batch.Run: RunOptions.KeyName is \"type\", which the answer uses itself; choose another name":                     run(batch.RunOptions[int]{KeyName: "type", Key: strconv.Itoa}),
		"batch.Run: RunOptions.MaxBytes is -1; give at least 1024, or 0 for the default":                                   run(batch.RunOptions[int]{MaxBytes: -1}),
		"batch.Run: RunOptions.MaxBytes is 1023; give at least 1024, or 0 for the default":                                 run(batch.RunOptions[int]{MaxBytes: 1023}),
		"batch.Run: RunOptions.Limit is 1ns, in which nothing finishes; give at least 1ms, or 0 for no limit":              run(batch.RunOptions[int]{Limit: 1}),
		"batch.Run: RunOptions.KeyName is \"file\", but items of type int have no keys; set Key too, or leave KeyName out": run(batch.RunOptions[int]{KeyName: "file"}),
	} {
		require.PanicsWithValue(t, message, f)
	}
}

func TestEveryItemPanicsOrExits(t *testing.T) {
	inTime(t, func(t *testing.T) {
		for _, timeout := range []time.Duration{0, time.Second} {
			r := batch.Run(t.Context(), numbers(100), func(_ context.Context, i int) (int, error) {
				switch i % 3 {
				case 0:
					panic(i)
				case 1:
					runtime.Goexit()
				}
				return i, nil
			}, &batch.RunOptions[int]{Concurrency: 3, Limit: timeout})
			consistent(t, r, 100)
			require.Equal(t, 33, r.Succeeded)
			for i, item := range r.Items {
				require.Equal(t, i%3 == 2, item.Status == batch.Succeeded)
			}
		}
	})
}

// TestStuckItems: functions that ignore their context are left behind, and end when
// they like.
func TestStuckItems(t *testing.T) {
	inTime(t, func(t *testing.T) {
		began := time.Now()
		r := batch.Run(t.Context(), numbers(20), func(ctx context.Context, i int) (int, error) {
			switch i {
			case 3: // ignores its context
				time.Sleep(time.Hour)
				return 1, nil
			case 4: // ends with it
				<-ctx.Done()
				return 0, ctx.Err()
			}
			time.Sleep(time.Second)
			return i, nil
		}, &batch.RunOptions[int]{Concurrency: 2, Limit: 5 * time.Second})
		consistent(t, r, 20)
		require.Equal(t, "+++--+++++++++++++++", statuses(r.Items))
		require.Less(t, time.Since(began), time.Minute)
		for _, i := range []int{3, 4} {
			require.ErrorIs(t, r.Items[i].Err, fault.KindTimeout)
			require.Equal(t, "the item did not finish within 5 s.", r.Items[i].Err.Message())
			require.False(t, recoverable(r.Items[i]))
		}
		require.ErrorIs(t, r.Items[4].Err, context.DeadlineExceeded, "what the function returned")
		require.Equal(t, []any{3, 4}, r.CheckItems())
		require.Empty(t, r.RetryItems())
		require.Empty(t, r.Stopped)
	})
}

func TestTooManyStuckItems(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var started atomic.Int64
		r := batch.Run(t.Context(), numbers(20), func(context.Context, int) (int, error) {
			started.Add(1)
			time.Sleep(time.Hour)
			return 0, nil
		}, &batch.RunOptions[int]{Concurrency: 3, Limit: time.Second})
		require.EqualValues(t, 6, started.Load()) // three, and three in their place
		require.Equal(t, 6, r.Failed)
		require.Equal(t, "stuck", r.Stopped)
		require.Equal(t, 0, r.Succeeded)
	})
}

// TestStuckOnesMakeRoom: what was stuck and has ended does not count.
func TestStuckOnesMakeRoom(t *testing.T) {
	inTime(t, func(t *testing.T) {
		r := batch.Run(t.Context(), numbers(50), func(context.Context, int) (int, error) {
			time.Sleep(2 * time.Second)
			return 0, nil
		}, &batch.RunOptions[int]{Concurrency: 3, Limit: time.Second})
		consistent(t, r, 50)
		require.Equal(t, 50, r.Failed)
		require.Empty(t, r.Stopped)
	})
}

func TestCancelInTheMiddle(t *testing.T) {
	inTime(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		r := batch.Run(ctx, numbers(100), func(ctx context.Context, i int) (int, error) {
			switch i {
			case 10:
				time.Sleep(time.Second) // until the next two run
				cancel()
			case 11: // does not listen
				time.Sleep(time.Hour)
			case 12:
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return i, nil
		}, &batch.RunOptions[int]{Concurrency: 3})
		require.Equal(t, "cancelled", r.Stopped)
		require.Equal(t, "+++++++++++--", statuses(r.Items[:13]))
		require.Equal(t, 2, r.Failed)
		require.Equal(t, len(r.Items)-13, r.NotRun)
		require.Equal(t, time.Second+100*time.Millisecond, time.Since(began))
		for _, i := range []int{11, 12} {
			require.ErrorIs(t, r.Items[i].Err, fault.KindCancelled)
		}
		require.Equal(t, []any{11, 12}, r.CheckItems())
		require.Len(t, r.RetryItems(), r.NotRun)
	})
}

// What the server's shutdown cut is the server's failure, not the caller's.
func TestShutdownInTheMiddle(t *testing.T) {
	inTime(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		r := batch.Run(ctx, numbers(4), func(ctx context.Context, i int) (int, error) {
			if i == 1 { // does not listen
				time.Sleep(time.Hour)
			}
			time.Sleep(time.Second) // until the next one runs
			cancel(classify.ErrShutdown)
			<-ctx.Done()
			return 0, fmt.Errorf("item %d: %w", i, ctx.Err())
		}, &batch.RunOptions[int]{Concurrency: 2})
		require.Equal(t, "shutdown", r.Stopped)
		require.Equal(t, "--..", statuses(r.Items))
		f, _ := middleware.FaultOf(r.ToolResult(), nil)
		for _, e := range []*fault.Error{r.Items[0].Err, r.Items[1].Err, f} {
			require.ErrorIs(t, e, fault.KindServiceUnavailable)
			require.Equal(t, fault.PartyServer, e.Party())
		}
		require.Equal(t, []any{0, 1}, r.CheckItems())
		require.Equal(t, []any{2, 3}, r.RetryItems())
	})
}

func TestCancelledBefore(t *testing.T) {
	inTime(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := batch.Run(ctx, numbers(3), func(context.Context, int) (int, error) { panic("not called") }, nil)
		require.Zero(t, r.Succeeded+r.Failed)
		require.Equal(t, "cancelled", r.Stopped)
		require.False(t, answered(r).Success && r.Total > 0)
		consistent(t, r, 3)
		require.Equal(t, "...", statuses(r.Items))
		require.Equal(t, []any{0, 1, 2}, r.RetryItems())
		f, _ := middleware.FaultOf(r.ToolResult(), nil)
		require.ErrorIs(t, f, fault.KindCancelled)
	})
}

// TestDeadline: the batch ends before the deadline of its caller, who else could not
// tell anybody what was done.
func TestDeadline(t *testing.T) {
	inTime(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		r := batch.Run(ctx, numbers(100), func(ctx context.Context, i int) (int, error) {
			select {
			case <-time.After(2 * time.Second):
				return i, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}, &batch.RunOptions[int]{Concurrency: 2})
		require.NoError(t, ctx.Err())
		require.Equal(t, 8, r.Succeeded)
		require.Equal(t, 2, r.Failed)
		require.Equal(t, "deadline", r.Stopped)
		require.ErrorIs(t, r.Items[8].Err, fault.KindTimeout)
	})
}

// TestDeadlineOfWhatDoesNotListen: the result comes before the deadline even so.
func TestDeadlineOfWhatDoesNotListen(t *testing.T) {
	for _, limit := range []time.Duration{50 * time.Millisecond, time.Second, time.Minute} {
		inTime(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			r := batch.Run(ctx, numbers(3), func(_ context.Context, i int) (int, error) {
				if i == 1 {
					time.Sleep(time.Hour)
				}
				return i, nil
			}, &batch.RunOptions[int]{Concurrency: 1})
			require.NoError(t, ctx.Err())
			require.Equal(t, "+-", statuses(r.Items[:2]))
			require.Equal(t, "deadline", r.Stopped)
		})
	}
}

// TestWhatIsLeftBehindHarmsNobody: whatever it does when nobody waits for it.
func TestWhatIsLeftBehindHarmsNobody(t *testing.T) {
	for name, end := range map[string]func(){
		"returns": func() {}, "panics": func() { panic("late") }, "exits": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				var late atomic.Int64
				r := batch.Run(t.Context(), numbers(9), func(_ context.Context, i int) (int, error) {
					if i%3 == 0 {
						defer late.Add(1)
						time.Sleep(time.Duration(i+1) * time.Minute)
						end()
					}
					return i, nil
				}, &batch.RunOptions[int]{Concurrency: 3, Limit: time.Second})
				consistent(t, r, 9)
				want := "-++-++-++"
				require.Equal(t, want, statuses(r.Items))
				time.Sleep(time.Hour)
				require.EqualValues(t, 3, late.Load())
				require.Equal(t, want, statuses(r.Items))
				require.ErrorIs(t, r.Items[3].Err, fault.KindTimeout)
			})
		})
	}
}

func TestKeys(t *testing.T) {
	r := batch.Run(t.Context(), []string{"a", "b", "a"}, func(_ context.Context, s string) (int, error) {
		if s == "b" {
			return 3, errBroken // both
		}
		return len(s), nil
	}, nil)
	require.Equal(t, []string{"a", "b", "a"}, []string{r.Items[0].Key, r.Items[1].Key, r.Items[2].Key})
	require.Equal(t, 3, r.Items[1].Value)
	require.Equal(t, batch.Failed, r.Items[1].Status)
	require.Equal(t, []int{1, 1}, []int{r.Items[0].Value, r.Items[2].Value})

	inTime(t, func(t *testing.T) {
		r := batch.Run(t.Context(), numbers(4), func(_ context.Context, i int) (int, error) { return i, nil },
			&batch.RunOptions[int]{Concurrency: 1, Key: func(i int) string {
				if i == 1 {
					panic("no key")
				}
				return "#" + strconv.Itoa(i)
			}})
		consistent(t, r, 4)
		require.Equal(t, "++++", statuses(r.Items), "a name is not worth an item")
		require.Empty(t, r.Items[1].Key)
		require.Equal(t, "#3", r.Items[3].Key)
	})
}

// TestProgressOfWhatIsLeftBehind is told when it is, not when the next item ends.
func TestProgressOfWhatIsLeftBehind(t *testing.T) {
	inTime(t, func(t *testing.T) {
		began := time.Now()
		var seen []string
		batch.RunTelling(t.Context(), numbers(2), func(ctx context.Context, i int) (int, error) {
			if i == 0 {
				time.Sleep(time.Hour)
			}
			time.Sleep(5100 * time.Millisecond)
			return i, nil
		}, &batch.RunOptions[int]{Limit: 10 * time.Second, Concurrency: 2}, func(_, _ int, message string) error {
			seen = append(seen, fmt.Sprint(time.Since(began), " ", message))
			return nil
		})
		require.Equal(t, []string{"5.25s 1 of 2 items", "10.1s 2 of 2 items, 1 failed"}, seen)
	})
}

// TestWordsOfALateItem are kept where the function has some.
func TestWordsOfALateItem(t *testing.T) {
	inTime(t, func(t *testing.T) {
		r := batch.Run(t.Context(), numbers(1), func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			return 0, fault.New(fault.KindTimeout, "the printer is slow").Because(ctx.Err())
		}, &batch.RunOptions[int]{Limit: time.Second})
		require.Equal(t, "the printer is slow", r.Items[0].Err.Message())
	})
}
