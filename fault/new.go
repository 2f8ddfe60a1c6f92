package fault

import (
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/words"
)

// NotFound returns a fault that says that the resource ("project", "file") with this id
// does not exist. The candidates are existing ids that the caller may know. The text
// suggests the close ones, five at most, as "did you mean", and none that means the
// opposite. If none is close, it names the nearest ten, and says how many there are.
func NotFound(resource, id string, candidates ...string) *Error {
	e := Generic(KindNotFound).WithMessage(cut(resource, maxName) + " " + quoted(id) + " does not exist.")
	e.data.ResourceType, e.data.Identifier = resource, id
	e.data.SimilarMatches = near.Matches(id, candidates)
	switch {
	case len(candidates) == 0:
		return e
	case e.data.SimilarMatches != nil:
	case len(candidates) > maxCandidates:
		e.data.Message += " " + strconv.Itoa(len(candidates)) + " exist, among them " + words.List(quotedAll(near.Nearest(id, candidates, maxCandidates)), "and") + "."
	case len(candidates) == 1:
		e.data.Message += " This exists: " + quoted(candidates[0]) + "."
	default:
		e.data.Message += " These exist: " + strings.Join(quotedAll(candidates), ", ") + "."
	}
	return e.Suggest("")
}

// AlreadyExists returns a fault that says that the resource ("project") with this id
// exists and cannot be created again.
func AlreadyExists(resource, id string) *Error {
	e := Generic(KindAlreadyExists).WithMessage(cut(resource, maxName) + " " + quoted(id) + " cannot be created a second time.")
	e.data.ResourceType, e.data.Identifier = resource, id
	return e
}

// Unauthenticated returns a fault that says that the caller has to sign in, or to sign in
// again. The message is public, as that of [New]: "your access to GitHub has expired". An
// empty one means the general sentence of the kind.
//
// It says that nothing was changed by this call. Over HTTP the client can be asked to sign in
// and to send the call again, see package transport.
func Unauthenticated(message string) *Error {
	e := Generic(KindUnauthenticated)
	if message != "" {
		e = e.WithMessage(message)
	}
	return e
}

// Denied returns a fault that says that the caller may not do the action
// ("delete") on the resource ("project 'alpha'"). It says that nothing was changed by this call.
// Name the missing permissions with [Error.Needs].
func Denied(action, resource string) *Error {
	e := Generic(KindPermissionDenied).WithMessage(words.Ended("you are not allowed to " + cut(action, maxText) + " " + cut(resource, maxText)))
	e.data.Action, e.data.Resource = action, resource
	return e
}

// RateLimited returns a fault that says that what ("the search API") accepts no more
// calls now. The caller may try again after the given time; zero or less means that the
// time is unknown.
//
// A handler that returns it says that nothing was done, as with [Unavailable], [Denied],
// [Unauthenticated] and [Invalid]. With a cause ([Error.Because]) this and Unavailable are about the
// step that failed, and say nothing of the call. If something may have been done, say it:
//
//	fault.RateLimited("the API", wait).WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown})
func RateLimited(what string, after time.Duration) *Error {
	return New(KindRateLimited, cut(what, maxText)+" accepts no more calls now.").After(after)
}

// Timeout returns a fault that says that what ("the report") did not finish within the
// limit. It says nothing about trying again, nor about an effect: say with [Error.WithRetry] what
// is known of it. With zero or less it does not name the limit.
func Timeout(what string, limit time.Duration) *Error {
	within := "in time"
	if limit > 0 {
		within = "within " + words.Duration(limit)
	}
	return Generic(KindTimeout).WithMessage(cut(what, maxText) + " did not finish " + within + ".")
}

// Unavailable returns a fault that says that what ("the weather service") is not
// available now. Say when to try again with [Error.After]. A handler that returns it says that
// nothing was done, see [RateLimited].
func Unavailable(what string) *Error {
	e := Generic(KindServiceUnavailable).WithMessage(cut(what, maxText) + " is not available now.")
	e.refused = true
	return e
}
