package retry

import (
	"net/http"

	"github.com/mcpchain/mcpchain/internal/classify"
)

// What errors mean for a second try. middleware.HintOf reads it from any error.
type (
	// A Hint is what an error says about a second try.
	Hint = classify.Hint
	// A HintRule says what an error of this program means for a second try.
	HintRule = classify.HintRule
	// Retryable says whether a second try can succeed.
	Retryable = classify.Retryable
	// A ResponseError is the answer of an HTTP service that did not do what it was asked for.
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
func FromResponse(resp *http.Response) error { return classify.FromResponse(resp) }
