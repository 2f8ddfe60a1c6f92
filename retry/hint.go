package retry

import (
	"net/http"

	"github.com/mcpchain/mcpchain/internal/classify"
)

// What errors mean for a second try. middleware.HintOf reads it from any error.
type (
	// A Hint is what an error says about a second try. Its fields are Retry, of type
	// [Retryable], After (a time.Duration), Effect (a fault.Effect), Status (an HTTP
	// status) and Reason (a public sentence).
	Hint = classify.Hint
	// A HintRule is a func(error) (Hint, bool). It says what an error of this program means
	// for a second try, and reports false for an error that it does not know. The table of
	// known errors fills in what its Hint leaves open.
	HintRule = classify.HintRule
	// Retryable says whether a second try can succeed: [Unknown], [Yes] or [No].
	Retryable = classify.Retryable
	// A ResponseError is the answer of an HTTP service that did not do what it was asked for.
	// Its method Body returns what the service wrote.
	ResponseError = classify.ResponseError
)

// The answers to the question whether a second try can succeed.
const (
	Unknown = classify.RetryUnknown
	Yes     = classify.RetryYes
	No      = classify.RetryNo
)

// FromResponse returns an error for the answer of an HTTP service whose status is
// 400 or more, and nil for any other:
//
//	if err := retry.FromResponse(resp); err != nil {
//		return nil, err
//	}
//
// If it returns an error, it has closed the body. Otherwise the body is left to the caller.
// What the service wrote is not part of the error's text and reaches no caller. A nil
// response is an error too.
func FromResponse(resp *http.Response) error { return classify.FromResponse(resp) }
