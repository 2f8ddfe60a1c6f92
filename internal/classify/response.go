package classify

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// A ResponseError is the answer of an HTTP service that did not do what it was asked
// for. [FromResponse] makes one.
type ResponseError struct {
	request string // the method and the host
	said    clue
	status  int
	body    []byte
}

const (
	maxBody = 64 << 10
	// bodyTime is how long the rest of an answer is waited for that is known to be a
	// failure.
	bodyTime = 2 * time.Second
)

// FromResponse returns an error for the answer of an HTTP service whose status is
// 400 or more, and nil for any other, whose body is left to the caller.
//
//	resp, err := client.Do(req)
//	if err != nil {
//		return err
//	}
//	if err := middleware.FromResponse(resp); err != nil {
//		return err
//	}
//	defer resp.Body.Close()
//
// Of the body it keeps 64 KiB at most, waits for it 2 seconds at most, and closes
// it. What the service wrote is not part of the error's text and reaches no caller;
// [ResponseError.Body] has it. A nil response is an error too.
func FromResponse(resp *http.Response) error {
	if resp == nil {
		return errors.New("middleware.FromResponse: resp is nil; look at the error of the request first")
	}
	if resp.StatusCode < http.StatusBadRequest {
		return nil
	}
	e := &ResponseError{status: resp.StatusCode, said: ofResponse(resp.StatusCode, resp.Header, time.Now())}
	if r := resp.Request; r != nil {
		e.request = r.Method + " "
		if r.URL != nil {
			e.request += r.URL.Host + " " // the path and the query may hold secrets
		}
	}
	e.body = readBody(resp.Body)
	return e
}

// readBody reads what there is of a body, and closes it. A body that does not come
// to its end is closed in the middle of it, which net/http allows.
func readBody(body io.ReadCloser) (read []byte) {
	if body == nil {
		return nil
	}
	closing := time.AfterFunc(bodyTime, func() { shut(body) })
	defer func() {
		_ = recover() // a stranger's reader
		closing.Stop()
		shut(body)
	}()
	read, _ = io.ReadAll(io.LimitReader(body, maxBody)) // what came before an error is what there is
	return read
}

func shut(body io.Closer) {
	defer func() { _ = recover() }()
	_ = body.Close()
}

// Error returns the method, the host and the status, for the log.
func (e *ResponseError) Error() string {
	text := e.request + "answered " + strconv.Itoa(e.status)
	if name := http.StatusText(e.status); name != "" {
		text += " " + name
	}
	return text
}

// StatusCode returns the HTTP status.
func (e *ResponseError) StatusCode() int { return e.status }

// RetryAfter returns how long the service asked to wait, by Retry-After or the
// headers of a rate limit; zero when it did not say, or when waiting does not help.
func (e *ResponseError) RetryAfter() time.Duration { return e.said.after }

// Body returns a copy of what the service wrote, 64 KiB at most. It is private: log
// it, or read from it what you know, but pass nothing of it on as it is.
func (e *ResponseError) Body() []byte { return slices.Clone(e.body) }

// clue returns what the answer says about a second try.
func (e *ResponseError) clue() clue { return e.said }
