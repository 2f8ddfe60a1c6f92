package limit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzClock moves the clock as nobody's does: whatever it shows, no more than a burst
// passes at one time, and after the time that was told the call fits.
func FuzzClock(f *testing.F) {
	f.Add(int64(0), int64(time.Hour), int64(-time.Hour), 3, 60, int64(time.Minute))
	f.Add(int64(1)<<62, int64(-1)<<62, int64(1), 1, 1, int64(farFuture))
	f.Fuzz(func(t *testing.T, a, b, c int64, burst, calls int, per int64) {
		if burst < 1 || calls < 1 || per < 1 {
			t.Skip()
		}
		limit := Limit{Calls: calls, Per: time.Duration(per), Burst: burst}
		l := &limiter{}
		r, ok := func() (r rule, ok bool) {
			defer func() { ok = recover() == nil }()
			return l.rule(0, limit), true
		}()
		if !ok {
			t.Skip() // refused by New
		}
		bucket := &bucket{rule: &r}
		const span = 200 * 365 * 24 * time.Hour
		for _, at := range []int64{a, b, c} {
			now := time.Duration(at) % span
			wait := bucket.wait(now, 1)
			require.LessOrEqual(t, wait, r.size, "longer than the filling of the bucket")
			if wait > 0 {
				require.LessOrEqual(t, bucket.wait(now+wait, 1), time.Duration(0))
				require.Positive(t, bucket.wait(now+wait-1, 1))
				now += wait
			}
			for n := 0; bucket.wait(now, 1) <= 0 && n <= 1000; n++ {
				require.Less(t, n, burst)
				bucket.take(now, false)
			}
		}
	})
}
