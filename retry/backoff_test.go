package retry

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A wait without end does not fit into a budget because the sum of both overflows.
func TestAWaitWithoutEndDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := policy{attempts: 3, budget: time.Minute, initial: time.Second, longest: time.Second, asked: math.MaxInt64}.start()
		time.Sleep(time.Second)
		_, ok := s.next(context.Background(), 1, math.MaxInt64)
		require.False(t, ok)
		_, ok = s.next(context.Background(), 1, 59*time.Second)
		require.True(t, ok)
		_, ok = s.next(context.Background(), 1, 59*time.Second+1)
		require.False(t, ok)
	})
}
