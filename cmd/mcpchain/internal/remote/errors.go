package remote

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
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
	status  int  // of HTTP, 0 for none
	refused bool // the same request will be refused again
	lost    bool // see [rpc.FailedError]
}

func (e *failure) Error() string        { return e.text }
func (e *failure) Unwrap() error        { return e.cause }
func (e *failure) Effect() fault.Effect { return e.effect }
func (e *failure) PublicKind() string   { return string(e.kind) }
func (e *failure) PublicHint() string   { return e.hint }

// Refused reports whether the same request will be refused again.
func (e *failure) Refused() bool { return e.refused }

// goneError is for a request in a session that the server does not have, without an answer of its own. The answer
// may be that of a gateway, for example, which has passed the request on before.
func goneError() error {
	return fault.New(fault.KindConnectionFailed, "The session was lost; it is not known whether this call took effect").
		WithParty(fault.PartyServer).
		Because(&failure{text: "the session was lost", effect: fault.EffectUnknown, kind: fault.KindConnectionFailed, lost: true})
}

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
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err
	}
	return err.Error()
}

// statusError is for an answer of HTTP that is not one of MCP. The library reads what it means. The call is that one
// request, so both have the same effect. But 404 in a session that the server has is a contradiction, which proves
// nothing.
func (s *Session) statusError(res *http.Response, inSession bool) error {
	if res.StatusCode < http.StatusBadRequest {
		return s.redirectError(res)
	}
	cause := retry.FromResponse(res)
	refused := middleware.HintOf(cause).Retry == fault.RetryNo
	e := &failure{text: cause.Error(), cause: cause, effect: effectOf(res.StatusCode), status: res.StatusCode, refused: refused}
	switch {
	case res.StatusCode == http.StatusUnauthorized && s.accepted == nil: // or it is the client's own
		e.hint = "Whoever runs mcpchain has to pass a valid token with -header, or in the headers of its file."
	case res.StatusCode == http.StatusNotFound && inSession:
		e.kind, e.effect, e.cause = fault.KindServerError, fault.EffectUnknown, nil
		e.text += ", and not with the answer to the request"
	case res.StatusCode == http.StatusNotFound, res.StatusCode == http.StatusMethodNotAllowed:
		e.kind = fault.KindServerError // what the call names was not even looked for
		e.text += ", so there may be no MCP server at the URL of -to"
	case e.effect == fault.EffectUnknown:
		e.kind = middleware.Classify(cause).Kind()
	}
	return e
}

// effectOf returns the effect of a call that was sent once and answered with the status of a failure. A refusal
// proves that the one request did nothing; a gateway may have lost the answer in all other cases.
func effectOf(status int) fault.Effect {
	if status <= http.StatusUnavailableForLegalReasons && status != http.StatusRequestTimeout {
		return fault.EffectNone
	}
	return fault.EffectUnknown
}

// redirectError is for a redirect that is not followed. The server has read the request, and nothing
// proves that it did nothing. At the same server the next call goes there, see do.
func (s *Session) redirectError(res *http.Response) error {
	_ = res.Body.Close()
	e := &failure{text: "the server answered " + res.Status, kind: fault.KindServerError, effect: fault.EffectUnknown, status: res.StatusCode, refused: true}
	to, err := res.Location()
	switch {
	case err != nil:
	case s.goesTo(s.client.placeOf(res)):
		e.text += ", a redirect to another place of the same server, where the next call is sent"
		e.refused = false
	default:
		e.text += ", a redirect to " + to.Scheme + "://" + to.Host + " that is not followed; correct the URL of -to"
	}
	return e
}

// illegalError is for an answer that is not a message, such as the page to sign in to which a redirect led.
func (s *Session) illegalError(res *http.Response, why string) error {
	s.moved("")
	of := cmp.Or(res.Header.Get("Content-Type"), "nothing")
	return &failure{
		text: "the server answered " + res.Status + " with " + of[:min(len(of), 100)] + ", " + why,
		kind: fault.KindServerError, effect: fault.EffectUnknown,
	}
}
