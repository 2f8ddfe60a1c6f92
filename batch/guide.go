package batch

import (
	"math/rand/v2"
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

// guide reads the guidance of a failure from what the classifier knows of it.
func guide(hint middleware.Hint, public *fault.Error) guidance {
	g := guidance{again: hint.Retry == middleware.RetryYes, after: hint.After, effect: hint.Effect}
	_, own := public.Retry()
	switch {
	case own:
	case public.Kind() == fault.KindCancelled: // by the end of the batch: it is to be sent again
		g = guidance{again: true, effect: fault.EffectUnknown}
	case !g.again, g.effect != "":
	case public.Kind() == fault.KindServiceUnavailable:
		g.effect = fault.EffectNone // it refused
	default:
		g.effect = fault.EffectUnknown
	}
	return g
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
