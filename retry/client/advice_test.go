package client

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSpanOf(t *testing.T) {
	for _, c := range []struct {
		n    float64
		want time.Duration
	}{
		{0, 0}, {-1, 0}, {math.NaN(), 0}, {math.Inf(-1), 0}, {math.Inf(1), math.MaxInt64}, {1e300, math.MaxInt64},
		{1.5, 1500 * time.Millisecond}, {1e-12, 0},
	} {
		require.Equal(t, c.want, spanOf(c.n, time.Second), "%v", c.n)
	}
}

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		value any
		want  float64
		ok    bool
	}{
		{2.5, 2.5, true},
		{" 4 ", 4, true},
		{"five", 0, false},
		{nil, 0, false},
		{true, 0, false},
	} {
		got, ok := amount(c.value)
		require.Equal(t, c.ok, ok, "%v", c.value)
		if ok {
			require.InDelta(t, c.want, got, 0)
		}
	}
	_, found := retryAfter(map[string]any{"retryAfter": "NaN"})
	require.False(t, found)
}
