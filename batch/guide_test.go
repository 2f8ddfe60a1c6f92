package batch_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
)

// strange panics when it is asked for anything.
type strange struct{}

func (strange) Error() string    { panic("no text") }
func (strange) Unwrap() error    { panic("nothing inside") }
func (strange) Is(error) bool    { panic("no comparison") }
func (strange) Timeout() bool    { panic("no time") }
func (*strange) Temporary() bool { panic("no") }

// TestWhatMaySentAgain: by what is known of an error, an item is to be sent again, or to
// be checked first, or neither.
func TestWhatMayBeSentAgain(t *testing.T) {
	const again, check, never = "again", "check", "never"
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"refused":           {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, again},
		"no such host":      {fmt.Errorf("get: %w", &net.DNSError{Err: "no such host"}), again},
		"not dialled":       {&net.OpError{Op: "dial", Err: errors.New("no route")}, again},
		"reset":             {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, check},
		"cut off":           {syscall.ECONNRESET, check},
		"late":              {context.DeadlineExceeded, check},
		"its own context":   {context.Canceled, check},
		"limited":           {fault.RateLimited("it", 0), again},
		"down":              {fault.Unavailable("it"), again},
		"upstream":          {fault.New(fault.KindServerError, "it failed"), check},
		"says yes":          {fault.New(fault.KindConflict, "it is locked").After(time.Second), again},
		"says no":           {fault.Unavailable("it").Never("it is gone"), never},
		"says nothing done": {fault.Timeout("it", 0).WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone}), again},
		"says committed":    {fault.Timeout("it", 0).WithRetry(fault.Retry{Effect: fault.EffectCommitted}), never},
		"status 429":        {middleware.FromResponse(&http.Response{StatusCode: http.StatusTooManyRequests}), again},
		"status 500":        {middleware.FromResponse(&http.Response{StatusCode: http.StatusInternalServerError}), check},
		"status 422":        {middleware.FromResponse(&http.Response{StatusCode: http.StatusUnprocessableEntity}), never},
		"missing":           {fault.NotFound("file", "x"), never},
		"unknown":           {errors.New("what"), never},
		"strange":           {strange{}, never},
		"a nil fault":       {(*fault.Error)(nil), never},
	} {
		t.Run(name, func(t *testing.T) {
			r := batch.Run(t.Context(), []int{0}, func(context.Context, int) (int, error) { return 0, c.err }, nil)
			require.Equal(t, "-", statuses(r.Items))
			require.Equal(t, c.want == again, len(r.RetryItems()) == 1)
			require.Equal(t, c.want == check, len(r.CheckItems()) == 1)
			require.Equal(t, c.want != never, r.Items[0].Recoverable)
			if retry := r.Items[0].Err.Data().Retry; c.want != never {
				require.True(t, retry.ShouldRetry)
				require.Equal(t, c.want == check, retry.Effect == fault.EffectUnknown)
			}
		})
	}
}

// TestAnItemWaitsAsLongAsItIsAsked: what a service asked for is what an item waits.
func TestAnItemWaitsAsLongAsItIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, calls := time.Now(), 0
		r := batch.Run(t.Context(), []int{0}, func(context.Context, int) (int, error) {
			if calls++; calls == 1 {
				return 0, middleware.FromResponse(&http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"7"}}})
			}
			return 1, nil
		}, &batch.RunOptions[int]{Attempts: 2})
		require.Equal(t, 1, r.Succeeded)
		require.Equal(t, 7*time.Second, time.Since(began))
	})
}

// TestWhatMustBeChecked: an item that may be at work still is to be checked, also when the
// failure says that sending it again does not help.
func TestWhatMustBeChecked(t *testing.T) {
	late := fault.Timeout("it", 0).WithRetry(fault.Retry{Reason: "it may still take effect", Effect: fault.EffectUnknown})
	fn := func(context.Context, int) (int, error) { return 0, late }
	r := batch.Run(t.Context(), []int{7}, fn, nil)
	require.Equal(t, []any{7}, r.CheckItems())
	require.Empty(t, r.RetryItems())
	require.False(t, r.Items[0].Recoverable)
	require.Contains(t, r.ErrorSummary().Suggestion, "The item in check_items may have taken effect")
	require.NotContains(t, r.ErrorSummary().Suggestion, "retry_items")

	r = batch.Run(t.Context(), []int{7}, fn, &batch.RunOptions[int]{Idempotent: true})
	require.Empty(t, r.CheckItems())
	require.Empty(t, r.RetryItems())
}

// TestRulesDecideAboutRetries: what the rules of the call make of an error is what
// counts.
func TestRulesDecideAboutRetries(t *testing.T) {
	errBusy := errors.New("database is locked")
	calls := 0
	got := harness.Call(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		return batch.Run(ctx, []int{0}, func(context.Context, int) (int, error) {
			if calls++; calls == 1 {
				return 0, errBusy
			}
			return 1, nil
		}, &batch.RunOptions[int]{Attempts: 2}).ToolResult(), nil
	}, mask.New(&mask.Options{Rules: []mask.Rule{mask.Is(errBusy, fault.Unavailable("the database"))}}))
	require.False(t, got.Tool().IsError)
	require.Equal(t, 2, calls)
}

// TestBackoff: attempts are further and further apart, up to a limit, and not all items
// are tried again at the same moment.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		r := batch.Run(t.Context(), []int{0}, func(context.Context, int) (int, error) {
			at = append(at, time.Now())
			return 0, fault.Unavailable("it")
		}, &batch.RunOptions[int]{Attempts: 30})
		require.Equal(t, 30, r.Items[0].Attempts)
		want := 200 * time.Millisecond
		distinct := map[time.Duration]bool{}
		for i := 1; i < len(at); i++ {
			wait := at[i].Sub(at[i-1])
			require.GreaterOrEqual(t, wait, want/2)
			require.Less(t, wait, want)
			distinct[wait] = true
			want = min(2*want, 5*time.Second)
		}
		require.Greater(t, len(distinct), 20)
	})
}
