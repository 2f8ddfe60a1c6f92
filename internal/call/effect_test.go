package call_test

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
)

func TestCauseEffect(t *testing.T) {
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, c := range []struct {
		name string
		err  error
		want fault.Effect
	}{
		{"a fault without a cause", fault.Timeout("it", time.Second), ""},
		{"a cause that nobody knows", fault.Timeout("it", time.Second).Because(errSecret), ""},
		{"sent, no answer", fault.New(fault.KindConflict, "m").Because(reset).After(time.Second), fault.EffectUnknown},
		{"the same, wrapped", fmt.Errorf("w: %w", fault.New(fault.KindConflict, "m").Because(fmt.Errorf("w: %w", reset))), fault.EffectUnknown},
		{"a timeout below", fault.New(fault.KindConflict, "m").Because(fault.Timeout("it", time.Second)), fault.EffectUnknown},
		{"never sent", fault.Timeout("it", time.Second).Because(refused), fault.EffectNone},
		{"committed", fault.New(fault.KindConflict, "m").Because(fault.New("a", "b").WithRetry(fault.Retry{Effect: fault.EffectCommitted})), fault.EffectCommitted},
		{"no fault at all", reset, fault.EffectUnknown},
		{"unknown", errSecret, ""},
		{"panic", classify.NewPanicError("p", 0), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inCall(t, func(_ context.Context, this *call.Call) {
				require.Equal(t, c.want, this.Failure(nil, c.err).CauseEffect())
			})
		})
	}
}
