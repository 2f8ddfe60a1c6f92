package classify_test

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
)

func TestEffectOfTheCause(t *testing.T) {
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, c := range []struct {
		name string
		err  error
		want fault.Effect
	}{
		{"a fault without a cause", fault.Timeout("it", time.Second), ""},
		{"a cause that nobody knows", fault.Timeout("it", time.Second).Because(errors.New("nobody knows it")), ""},
		{"sent, no answer", fault.New(fault.KindConflict, "m").Because(reset).After(time.Second), fault.EffectUnknown},
		{"the same, wrapped", fmt.Errorf("w: %w", fault.New(fault.KindConflict, "m").Because(fmt.Errorf("w: %w", reset))), fault.EffectUnknown},
		{"a timeout below", fault.New(fault.KindConflict, "m").Because(fault.Timeout("it", time.Second)), fault.EffectUnknown},
		{"never sent", fault.Timeout("it", time.Second).Because(refused), fault.EffectNone},
		{"committed", fault.New(fault.KindConflict, "m").Because(fault.New("a", "b").WithRetry(fault.Retry{Effect: fault.EffectCommitted})), fault.EffectCommitted},
		{"no fault at all", reset, fault.EffectUnknown},
		{"unknown", errors.New("nobody knows it"), ""},
		{"panic", fault.Panicked("p", 0), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := classify.Of(c.err, classify.Options{})
			require.Equal(t, c.want, found.Says.Effect)
		})
	}
}
