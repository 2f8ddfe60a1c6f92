package retry_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
)

// TestARefusalRemembersTheEffect: a call that is refused because it failed too often says that it may have taken effect.
func TestARefusalRemembersTheEffect(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"not known": {fault.New(fault.KindServerError, "the answer was lost").WithRetry(fault.Retry{Effect: fault.EffectUnknown}), true},
		"committed": {fault.New(fault.KindServerError, "the receipt was lost").WithRetry(fault.Retry{Effect: fault.EffectCommitted}), true},
		"nobody":    {errElse, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := annotated(t, nil, nil, harness.Fail(tc.err))
			for range 6 {
				s.Call(t, "it")
			}
			text := s.Call(t, "it").Text()
			require.Contains(t, text, "this exact call has failed 6 times")
			require.Equal(t, tc.want, strings.Contains(text, "It may have taken effect: look before you go on."), text)
		})
	}
}
