package batch

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
)

const (
	firstWait = 200 * time.Millisecond
	lastWait  = 5 * time.Second
	maxWait   = 30 * time.Second // a longer one is left to the caller
)

// guidance is what a failure says about a second try.
type guidance struct {
	again  bool
	after  time.Duration // zero: it does not say
	effect fault.Effect  // "" when that is not known to matter
}

// guide reads the guidance of a failure: what the fault itself says, and else what its
// kind does.
func guide(err error, public *fault.Error) guidance {
	if r := public.Data().Retry; r != nil {
		g := guidance{again: r.ShouldRetry, effect: r.Effect}
		if r.RetryAfterSeconds > 0 {
			g.after = time.Duration(min(r.RetryAfterSeconds, float64(1<<30)) * float64(time.Second))
		}
		return g
	}
	switch public.Kind() {
	case fault.KindRateLimited, fault.KindServiceUnavailable:
		return guidance{again: true, effect: fault.EffectNone}
	case fault.KindConnectionFailed:
		if neverSent(err) {
			return guidance{again: true, effect: fault.EffectNone}
		}
		return guidance{again: true, effect: fault.EffectUnknown}
	case fault.KindTimeout, fault.KindCancelled, fault.KindServerError:
		return guidance{again: true, effect: fault.EffectUnknown}
	default:
		return guidance{}
	}
}

// neverSent reports whether a connection failed before anything was sent through it.
func neverSent(err error) bool {
	var (
		p    *middleware.PanicError
		name *net.DNSError
		op   *net.OpError
	)
	switch {
	case errors.As(err, &p):
		return false
	case is(err, syscall.ECONNREFUSED), errors.As(err, &name):
		return true
	default:
		return errors.As(err, &op) && op.Op == "dial" && !is(err, context.Canceled)
	}
}

// backoff returns how long to wait after an attempt, counted from 1: twice as long each
// time, less a random part, so that items that failed together are not all tried again
// at the same moment.
func backoff(attempt int) time.Duration {
	wait := lastWait
	if attempt < 16 {
		wait = min(lastWait, firstWait<<(attempt-1))
	}
	return wait/2 + rand.N(wait/2)
}
