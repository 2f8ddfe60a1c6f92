package retry

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mcpchain/mcpchain/fault"
)

// AttemptKey is the key of a request's _meta under which a caller says how often it
// has made this call, this time included: a number from 1. [Client] sends it with
// every repetition.
const AttemptKey = "io.github.mcpchain/attempt"

// AttemptsKey is the key of an answer's _meta under which [Server] says how often
// the handler was run for it: a number from 2. When once was enough it is absent.
const AttemptsKey = "io.github.mcpchain/attempts"

// An Attempt is one that failed and is to be followed by another.
type Attempt struct {
	Method string // "tools/call"
	Target string // the name of the tool or prompt, or the URI of the resource; else ""
	Number int    // from 1

	// Fault is what is public about the failure, and Err the error, which is private;
	// it is nil when the failure was told in a result.
	Fault *fault.Error
	Err   error

	// Wait is how long it takes from now until the next attempt begins.
	Wait time.Duration
}

// policy is what Options say about number and time. It is immutable.
type policy struct {
	attempts int           // at most, the first one included
	budget   time.Duration // from the first failure to the start of the last attempt
	initial  time.Duration // of the own waits
	longest  time.Duration // of the own waits
	asked    time.Duration // the longest wait that somebody may ask for
}

// check panics when an option is negative.
func check[N ~int | ~int64](option string, value N) {
	if value < 0 {
		panic(fmt.Sprintf("retry.%s is negative; leave it zero for the default", option))
	}
}

// schedule plans the attempts of one call. It is not safe for concurrent use: a
// backoff has a state, which calls must not share.
type schedule struct {
	policy

	first time.Time // when the first failure was seen
	own   backoff.ExponentialBackOff
}

// start begins the schedule of a call whose first attempt has just failed. That the
// clock is not read before that is why success costs nothing.
func (p policy) start() *schedule {
	return &schedule{
		policy: p,
		first:  time.Now(),
		own: backoff.ExponentialBackOff{
			InitialInterval:     p.initial,
			RandomizationFactor: backoff.DefaultRandomizationFactor,
			Multiplier:          2,
			MaxInterval:         p.longest,
		},
	}
}

// next returns how long to wait after a failed attempt, numbered from 1, and false
// when there is to be no other. asked is the wait that somebody asked for, zero if
// nobody did. It is never shortened: to come back too early is worse than to give
// up.
func (s *schedule) next(ctx context.Context, failed int, asked time.Duration) (time.Duration, bool) {
	if failed >= s.attempts || ctx.Err() != nil || asked > s.asked {
		return 0, false
	}
	wait := asked
	if asked <= 0 {
		wait = min(s.own.NextBackOff(), s.longest) // it caps before it adds the jitter
	}
	return wait, s.fits(ctx, wait)
}

// fits reports whether a wait that begins now ends in time: after the context's
// deadline nobody would be there for the answer.
func (s *schedule) fits(ctx context.Context, wait time.Duration) bool {
	now := time.Now()
	if wait > s.budget-now.Sub(s.first) { // not added up: a wait may be as long as there is
		return false
	}
	deadline, ok := ctx.Deadline()
	return !ok || now.Add(wait).Before(deadline)
}

// sleep waits, and reports false when the context ends before that.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
