package retry

import (
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/internal/classify"
)

// A ResponseError is the answer of an HTTP service that did not do what it was asked for.
// [FromResponse] makes one, and errors.As finds it.
type ResponseError struct{ answer *classify.ResponseError }

// Error returns the method, the host and the status, for the log.
func (e *ResponseError) Error() string { return e.answer.Error() }

// Unwrap returns what package middleware classifies.
func (e *ResponseError) Unwrap() error { return e.answer }

// StatusCode returns the HTTP status.
func (e *ResponseError) StatusCode() int { return e.answer.StatusCode() }

// RetryAfter returns how long the service asked to wait, by Retry-After or the headers of a
// rate limit; zero when it did not say, or when waiting does not help.
func (e *ResponseError) RetryAfter() time.Duration { return e.answer.RetryAfter() }

// Body returns a copy of what the service wrote, 64 KiB at most. It is private: log it, or
// read from it what you know, but pass nothing of it on as it is.
func (e *ResponseError) Body() []byte { return e.answer.Body() }

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
// It keeps at most 64 KiB of the body, waits at most 2 seconds for it, and closes it. The words of
// the service are not part of the error's text; package mask shows them to the readers Trusted and
// Operator. A nil response is an error too.
func FromResponse(resp *http.Response) error {
	err := classify.FromResponse(resp)
	if answer, ok := err.(*classify.ResponseError); ok { //nolint:errorlint // it is nothing else
		return &ResponseError{answer}
	}
	return err
}
