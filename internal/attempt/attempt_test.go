package attempt

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
		s := Policy{Attempts: 3, Budget: time.Minute, Initial: time.Second}.Start()
		time.Sleep(time.Second)
		_, ok := s.Next(context.Background(), 1, math.MaxInt64)
		require.False(t, ok)
		_, ok = s.Next(context.Background(), 1, 59*time.Second)
		require.True(t, ok)
		_, ok = s.Next(context.Background(), 1, 59*time.Second+1)
		require.False(t, ok)
	})
}
