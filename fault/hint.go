package fault

import "time"

// A Hint is what an error says about a second try, beside its kind. The zero Hint says
// nothing. middleware.HintOf reads it from any error.
type Hint struct {
	// Retry says whether a second try can succeed at all.
	Retry Retryable

	// After is how long to wait before it, as a service that is needed asked; zero means
	// that nobody said. It is never negative and never more than 30 days.
	After time.Duration

	// Effect says whether the failed try may have changed something: [EffectNone] when it
	// was refused before anything was done, [EffectUnknown] when it was sent and no answer
	// came, [EffectCommitted] when the change was made, and "" when the error alone does
	// not tell.
	Effect Effect

	// Status is the HTTP status of the answer of a service that is needed, from 400 to
	// 599, or zero.
	Status int

	// Reason is a public sentence without a full stop, such as "The failure is permanent";
	// never the text of an error. It may be empty.
	Reason string
}

// A HintRule says what an error of a program means for a second try. It reports false for an
// error that it does not know. It may be called concurrently; one that panics counts as one
// that reported false.
type HintRule func(err error) (Hint, bool)

// Retryable says whether a second try can succeed.
type Retryable uint8

// The answers to the question whether a second try can succeed.
const (
	RetryUnknown Retryable = iota // nobody knows
	RetryYes
	RetryNo
)

// String returns "unknown", "yes" or "no".
func (r Retryable) String() string {
	switch r {
	case RetryYes:
		return "yes"
	case RetryNo:
		return "no"
	default:
		return "unknown"
	}
}
