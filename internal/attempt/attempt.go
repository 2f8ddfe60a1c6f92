// Package attempt plans the repetition of a call, in a server and in a client: the number of
// attempts, the waits between them, and their numbers on the wire.
package attempt

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Policy bounds the number of attempts and their time. It is immutable.
type Policy struct {
	Attempts int           // at most, the first one included
	Budget   time.Duration // from the first failure to the start of the last attempt
	Initial  time.Duration // about the first wait of our own; later ones double, up to ten times as long
}

// Schedule plans the attempts of one call. It is not safe for concurrent use: its backoff has
// a state, which calls must not share.
type Schedule struct {
	Policy

	first time.Time // when the first failure was seen
	own   backoff.ExponentialBackOff
}

// Start begins the schedule of a call whose first attempt has just failed. Only then is the
// clock read, so a success costs nothing.
func (p Policy) Start() *Schedule {
	return &Schedule{Policy: p, first: time.Now(), own: backoff.ExponentialBackOff{
		InitialInterval: p.Initial, RandomizationFactor: backoff.DefaultRandomizationFactor, Multiplier: 2,
	}}
}

// Next returns how long to wait after a failed attempt, numbered from 1. It returns false if
// there is to be no further attempt. asked is the wait that the failure names, zero for none.
// It is never shortened: an attempt that is too early is worse than none.
func (s *Schedule) Next(ctx context.Context, failed int, asked time.Duration) (time.Duration, bool) {
	if failed >= s.Attempts || ctx.Err() != nil {
		return 0, false
	}
	wait := asked
	if asked <= 0 {
		s.own.MaxInterval = 10 * min(s.Initial, math.MaxInt64/10)
		wait = s.own.NextBackOff()
	}
	return wait, s.Fits(ctx, wait)
}

// Fits reports whether a wait that begins now ends within the budget and before the context's
// deadline. After the deadline the caller no longer waits for the answer.
func (s *Schedule) Fits(ctx context.Context, wait time.Duration) bool {
	if wait > s.Budget-time.Since(s.first) { // no addition, which could overflow
		return false
	}
	deadline, ok := ctx.Deadline()
	return !ok || wait < time.Until(deadline)
}

// Sleep waits, and reports false if the context ends before that.
func Sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// maxNumber is the largest attempt number that is accepted.
const maxNumber = 1_000_000

// Number returns a whole number from 1 to a million, and 0 for anything else.
func Number(v any) int {
	var f float64
	switch v := v.(type) {
	case float64:
		f = v
	case int:
		f = float64(v)
	case json.Number:
		f, _ = v.Float64() // zero or infinite if it is not a number
	case string:
		return Number(json.Number(v))
	}
	if f >= 1 && f <= maxNumber && f == math.Trunc(f) {
		return int(f)
	}
	return 0
}

// AnswersInput reports whether a call brings the input that the server asked for. Such a call
// is not repeated: a person gave the input, and the state of the question may be valid only
// once.
func AnswersInput(p mcp.Params) bool {
	switch p := p.(type) {
	case *mcp.CallToolParamsRaw:
		return p.InputResponses != nil || p.RequestState != ""
	case *mcp.CallToolParams:
		return p.InputResponses != nil || p.RequestState != ""
	case *mcp.ReadResourceParams:
		return p.InputResponses != nil || p.RequestState != ""
	case *mcp.GetPromptParams:
		return p.InputResponses != nil || p.RequestState != ""
	default:
		return false
	}
}
