package remote

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/retry"
)

// A failure is what became of a request that the server did not answer as the protocol says. What it
// means, the library reads from the error below it: an answer of HTTP, or an error of the network.
type failure struct {
	text    string
	cause   error // nil if the text says all
	effect  fault.Effect
	kind    fault.Kind // "" leaves that to the cause
	hint    string
	refused bool
}

func (e *failure) Error() string        { return e.text }
func (e *failure) Unwrap() error        { return e.cause }
func (e *failure) Effect() fault.Effect { return e.effect }
func (e *failure) PublicKind() string   { return string(e.kind) }
func (e *failure) PublicHint() string   { return e.hint }

// Refused reports whether the same request will be refused again.
func (e *failure) Refused() bool { return e.refused }

// errGone says that the server does not have the session, and did nothing of the request.
var errGone = errors.New("remote: the session is gone")

// lostError is for a request that was sent, and whose answer did not come.
func lostError(what string, cause error) error {
	e := &failure{text: what, cause: cause, effect: fault.EffectUnknown, kind: fault.KindConnectionFailed}
	if cause != nil {
		e.text += ": " + textOf(cause)
	}
	return e
}

// brokenError is for a request that could not be made, or had no answer. began reports whether the
// server may have read something of it.
func brokenError(err error, began bool) error {
	if began {
		return lostError("the connection to the server broke before the answer came", err)
	}
	return &failure{text: "the server cannot be reached: " + textOf(err), cause: err, effect: fault.EffectNone}
}

// textOf returns the text of an error without the URL, which may hold secrets.
func textOf(err error) string {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	return err.Error()
}

// statusError is for an answer that is none of MCP, but one of HTTP.
func (s *Session) statusError(res *http.Response) error {
	e := &failure{effect: effectOf(res.StatusCode)}
	if res.StatusCode < http.StatusBadRequest {
		_ = res.Body.Close()
		e.text = "the server answered " + res.Status
		e.kind, e.refused = fault.KindServerError, true
		if to, err := res.Location(); err == nil && res.StatusCode >= http.StatusMultipleChoices {
			e.text += ", a redirect to " + to.Scheme + "://" + to.Host + " that is not followed"
			e.hint = "Correct the URL of -to, or of what redirects."
		}
		return e
	}
	e.cause = retry.FromResponse(res)
	e.text = e.cause.Error()
	e.refused = res.StatusCode < http.StatusInternalServerError &&
		res.StatusCode != http.StatusRequestTimeout && res.StatusCode != http.StatusTooManyRequests
	switch res.StatusCode {
	case http.StatusUnauthorized:
		if s.authorization != nil { // the client's own
			break
		}
		e.hint = "Whoever runs mcpchain has to pass a valid token with -header, or in the headers of its file."
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		e.kind, e.hint = fault.KindServerError, "There may be no MCP server at this URL: correct that of -to."
	}
	return e
}

// effectOf returns what a status says about a request, "" if the library should judge: one that was
// refused did nothing.
func effectOf(status int) fault.Effect {
	switch {
	case status == http.StatusMovedPermanently, status == http.StatusFound, status == http.StatusSeeOther, status == http.StatusRequestTimeout:
		return fault.EffectUnknown // it may lead to what became of the request
	case status >= http.StatusMultipleChoices && status <= http.StatusUnavailableForLegalReasons:
		return fault.EffectNone
	case status == http.StatusServiceUnavailable:
		return ""
	default:
		return fault.EffectUnknown
	}
}

// illegalError is for an answer that is no message.
func illegalError(res *http.Response, why string) error {
	of := cmp.Or(res.Header.Get("Content-Type"), "nothing")
	return &failure{
		text: "the server answered " + res.Status + " with " + of[:min(len(of), 100)] + ", " + why,
		kind: fault.KindServerError, effect: fault.EffectUnknown,
	}
}
