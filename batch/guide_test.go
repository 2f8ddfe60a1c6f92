package batch_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/retry"
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
	const again, check, neither = "again", "check", "neither" // of an error alone nothing follows
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"refused":           {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, neither},
		"no such host":      {fmt.Errorf("get: %w", &net.DNSError{Err: "no such host"}), neither},
		"not dialled":       {&net.OpError{Op: "dial", Err: errors.New("no route")}, neither},
		"reset":             {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, neither},
		"cut off":           {syscall.ECONNRESET, neither},
		"late":              {context.DeadlineExceeded, neither},
		"its own context":   {context.Canceled, neither},
		"limited":           {fault.RateLimited("it", 0), again},
		"down":              {fault.Unavailable("it"), again},
		"upstream":          {fault.New(fault.KindServerError, "it failed"), neither},
		"says yes":          {fault.New(fault.KindConflict, "it is locked").After(0), again},
		"says no":           {fault.Unavailable("it").Never("it is gone"), neither},
		"says nothing done": {fault.Timeout("it", 0).WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone}), again},
		"says both":         {fault.Unavailable("it").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}), check},
		"says committed":    {fault.Timeout("it", 0).WithRetry(fault.Retry{Effect: fault.EffectCommitted}), neither},
		"status 429":        {retry.FromResponse(&http.Response{StatusCode: http.StatusTooManyRequests}), neither},
		"status 500":        {retry.FromResponse(&http.Response{StatusCode: http.StatusInternalServerError}), neither},
		"status 422":        {retry.FromResponse(&http.Response{StatusCode: http.StatusUnprocessableEntity}), neither},
		"missing":           {fault.NotFound("file", "x"), neither},
		"unknown":           {errors.New("what"), neither},
		"strange":           {strange{}, neither},
		"a nil fault":       {(*fault.Error)(nil), neither},
	} {
		t.Run(name, func(t *testing.T) {
			r := batch.Run(t.Context(), []int{0}, func(context.Context, int) (int, error) { return 0, c.err }, nil)
			require.Equal(t, "-", statuses(r.Items))
			require.Equal(t, c.want == again, len(r.RetryItems()) == 1)
			require.Equal(t, c.want == check, len(r.CheckItems()) == 1)
			// The machine form says the same.
			retry, _ := r.Items[0].Err.Retry()
			require.Equal(t, c.want == again, retry.ShouldRetry)
			if c.want != check { // of an error alone nothing is said
				require.NotEqual(t, fault.EffectUnknown, retry.Effect)
			}
			// And so does the text.
			suggestion := summary(r).Suggestion
			require.Equal(t, c.want == again, strings.Contains(suggestion, "Send retry_items again."), suggestion)
			require.Equal(t, c.want == check, strings.Contains(suggestion, "check_items took effect"), suggestion)
		})
	}
}

// TestWhatMustBeChecked: an item that may be at work still is to be checked, also when the
// failure says that sending it again does not help.
func TestWhatMustBeChecked(t *testing.T) {
	late := fault.Timeout("it", 0).WithRetry(fault.Retry{Reason: "it may still take effect", Effect: fault.EffectUnknown})
	fn := func(context.Context, int) (int, error) { return 0, late }
	r := batch.Run(t.Context(), []int{7}, fn, nil)
	require.Equal(t, []any{7}, r.CheckItems())
	require.Empty(t, r.RetryItems())
	require.False(t, recoverable(r.Items[0]))
	require.Contains(t, summary(r).Suggestion, "Check whether check_items took effect")
	require.NotContains(t, summary(r).Suggestion, "retry_items")
}
