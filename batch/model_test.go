package batch_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
)

// What an item does in the model, one byte each.
const (
	fine = iota
	fails
	isMissing
	isLimited
	panics
	exits
	obeys // its limit
	ignores
	isSlow
	returnsBoth
	behaviours
)

// model is what Run should do, in the simplest way: one item after the other.
func model(items []byte, maxFailures int) (outcomes string, retry []byte) {
	failures := 0
	for i, item := range items {
		if maxFailures > 0 && failures >= maxFailures {
			for _, rest := range items[i:] {
				outcomes += "."
				retry = append(retry, rest)
			}
			return outcomes, retry
		}
		switch item % behaviours {
		case fine, isSlow:
			outcomes += "+"
		case isLimited:
			outcomes += "-"
			retry = append(retry, item)
			failures++
		default:
			outcomes += "-"
			failures++
		}
	}
	return outcomes, retry
}

func behave(ctx context.Context, item byte) (int, error) {
	switch item % behaviours {
	case fails:
		return 0, errors.New("it failed")
	case isMissing:
		return 0, fault.NotFound("file", "x")
	case isLimited:
		return 0, fault.RateLimited("it", time.Second)
	case panics:
		panic(item)
	case exits:
		runtime.Goexit()
	case obeys:
		<-ctx.Done()
		return 0, ctx.Err()
	case ignores:
		time.Sleep(3 * time.Second)
	case isSlow:
		time.Sleep(time.Duration(item) * time.Millisecond)
	case returnsBoth:
		return int(item), errBroken
	}
	return int(item), nil
}

// sent returns what is to be sent again.
func sent(r *batch.Result[int]) string {
	var items []byte
	for _, item := range r.RetryItems() {
		items = append(items, item.(byte))
	}
	return string(items)
}

// FuzzModel runs random items with random options and compares with the model: the same
// outcomes in the same order, whatever the concurrency.
func FuzzModel(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, uint8(3), uint8(0))
	f.Add([]byte{7, 7, 7, 7, 7, 7, 7, 7}, uint8(1), uint8(0))
	f.Add([]byte{5, 5, 5, 4, 4, 4, 0, 0}, uint8(1), uint8(4))
	f.Add(slices.Repeat([]byte{0, 5, 8, 4}, 30), uint8(16), uint8(0))
	f.Fuzz(func(t *testing.T, items []byte, concurrency, maxFailures uint8) {
		if len(items) > 500 {
			return
		}
		if maxFailures > 0 {
			concurrency = 1 // else it is a matter of chance who fails first
		}
		concurrency = concurrency%32 + 1 - min(1, maxFailures)*(concurrency%32)
		// A limit may be reached by as many as may be stuck at the same time.
		stuck := 0
		for _, item := range items {
			if item%behaviours == ignores {
				stuck++
			}
		}
		want, retry := model(items, int(maxFailures))
		synctest.Test(t, func(t *testing.T) {
			defer time.Sleep(time.Minute) // what is stuck ends by then
			o := &batch.RunOptions[byte]{
				Concurrency: int(concurrency), MaxFailures: int(maxFailures), Limit: time.Second,
			}
			r := batch.Run(t.Context(), items, behave, o)
			if r.Stopped == "stuck" {
				require.Greater(t, stuck, int(concurrency))
				return
			}
			require.Equal(t, want, statuses(r.Items))
			consistent(t, r, len(want))
			require.Equal(t, string(retry), sent(r))
			for i, item := range r.Items {
				if item.Status == batch.Succeeded {
					require.Equal(t, int(items[i]), item.Value)
				}
			}
		})
	})
}
