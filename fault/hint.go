package fault

import "time"

// A Hint is what an error says about a second try, beside its kind. The zero Hint says
// nothing. middleware.HintOf reads it from any error.
type Hint struct {
	// Retry says whether a second try can succeed at all.
	Retry Retryable

	// After is how long to wait before it, as a service asked; zero means that no wait is
	// known. It is never negative and never more than 30 days.
	After time.Duration

	// Effect says whether the failed call may have changed something; "" means that it is unknown. An
	// error proves what it is, never what became of the call. A rule gives [EffectNone] only for
	// errors that the handler makes itself when it has done nothing.
	Effect Effect

	// Status is the HTTP status with which a service answered, from 400 to 599, or zero.
	Status int

	// Reason is a public sentence without a full stop, such as "The failure is permanent";
	// never the text of an error. It may be empty.
	Reason string
}

// A HintRule says what an error of a program means for a second try. It reports false for an
// error that it does not match. It may be called concurrently; one that panics counts as one
// that reported false.
type HintRule func(err error) (Hint, bool)

// Retryable says whether a second try can succeed.
type Retryable uint8

// Whether a second try can succeed.
const (
	RetryUnknown Retryable = iota // not known
	RetryYes                      // it can succeed
	RetryNo                       // it will fail again
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
