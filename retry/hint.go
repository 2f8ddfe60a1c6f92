package retry

import (
	"net/http"

	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
)

// A Hint is what an error says about a second try, beside its kind. middleware.HintOf reads it
// from any error. The zero Hint says nothing. It has these fields:
//
//	Retry  Retryable     // whether a second try can succeed at all: Unknown, Yes or No
//	After  time.Duration // how long to wait before it, as a service asked; zero: nobody said
//	Effect fault.Effect  // whether the failed try may have changed something; "": nobody knows
//	Status int           // the HTTP status of the answer of a service, from 400 to 599, or zero
//	Reason string        // a public sentence without a full stop, never the text of an error
type Hint = failure.Hint

// A HintRule says what an error of this program means for a second try:
//
//	func(err error) (Hint, bool)
//
// It reports false for an error that it does not know. It is asked before the built-in table,
// which fills in what its Hint leaves open; only what a fault itself says
// ([fault.Error.After], [fault.Error.Never], [fault.Error.WithRetry]) comes first. It may be
// called concurrently; one that panics counts as one that reported false.
type HintRule = failure.HintRule

// Retryable says whether a second try can succeed: Unknown, Yes or No. Its String method
// returns that in small letters.
type Retryable = classify.Retryable

// The answers to the question whether a second try can succeed.
const (
	Unknown = classify.RetryUnknown
	Yes     = classify.RetryYes
	No      = classify.RetryNo
)

// A ResponseError is the answer of an HTTP service that did not do what it was asked for.
// [FromResponse] makes one, and errors.As finds it. It has these methods:
//
//	Error() string             // the method, the host and the status, for the log
//	StatusCode() int           // the HTTP status
//	RetryAfter() time.Duration // how long the service asked to wait; zero: it did not say
//	Body() []byte              // a copy of what the service wrote, 64 KiB at most: it is private
type ResponseError = classify.ResponseError

// FromResponse returns a [*ResponseError] for the answer of an HTTP service whose status is
// 400 or more, and nil for any other, whose body is left to the caller:
//
//	resp, err := client.Do(req)
//	if err != nil {
//		return err
//	}
//	if err := retry.FromResponse(resp); err != nil {
//		return err
//	}
//	defer resp.Body.Close()
//
// Of the body it keeps 64 KiB at most, waits for it 2 seconds at most, and closes it. What the
// service wrote is not part of the error's text; of the readers of package mask, Trusted and Operator read it. A nil response is an
// error too.
func FromResponse(resp *http.Response) error { return classify.FromResponse(resp) }
