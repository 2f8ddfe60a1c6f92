package proxy

import (
	"errors"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/words"
	"github.com/mcpchain/mcpchain/task"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/child"
)

// The failures of the server that it cannot answer itself. The effect of a call that was sent is
// unknown; package retry says what follows from that, by what the tool is.

// A lostError is the cause of a call that was sent and got no answer.
type lostError struct{ text string }

func (e *lostError) Error() string { return e.text }

// Effect says that the call may have taken effect.
func (e *lostError) Effect() fault.Effect { return fault.EffectUnknown }

// endedError is for a call whose run ended. It is an internal error, as a panic is: the same call may end the next run
// as well. last says that no other run follows: the program ends, too.
func endedError(how, said string, last bool) error {
	text := "the server ended (" + how + ") while it ran this call"
	if !last {
		text += ", and is started again"
	}
	f := fault.New(fault.KindInternal, text)
	if said != "" {
		said = ": " + said
	}
	return f.WithParty(fault.PartyServer).Because(&lostError{"the server ended: " + how + said})
}

// neverSpokeError is for a server that cannot work as it was started. said is what it wrote last, which is not for a
// stranger.
func neverSpokeError(how, said string, stranger bool) error {
	text := "the server ended (" + how + ") before it answered anything"
	switch {
	case stranger:
	case said == "":
		text += ", and wrote nothing"
	default:
		text += ", and wrote: " + words.Quote(said, 2*maxClip)
	}
	return never(text)
}

// startError is for a run that was ended because it did not answer anything in the time of its start.
func (u *upstream) startError() error {
	text := "the server did not answer within " + words.Duration(u.proxy.StartTimeout) + " of its start and was ended"
	if came := u.came(0); came != "" {
		text += ": " + came
	}
	lines := u.proxy.stderr.recent()
	if said := lines.ending().cause; said != "" && !u.proxy.Strange {
		text += ". Its standard error: " + words.Quote(said, 2*maxClip)
	}
	return never(text).Because(&lostError{text})
}

// insteadError is for a call that has run into its time limit while the server wrote something else, or starts.
func insteadError(cause *call.ElsewhereError, starts bool, came string) error {
	text := "the server did not answer this call in time"
	if starts {
		text = "the server, which has not answered anything since its start, did not answer this call in time"
	}
	if came != "" {
		text += ": " + came
	}
	return fault.New(fault.KindTimeout, text+". It was told to stop. Whether it did is not known").
		WithParty(fault.PartyServer).Because(cause)
}

// never is for a server that does not work as it was started.
func never(text string) *fault.Error {
	return fault.New(fault.KindServiceUnavailable, text).WithParty(fault.PartyServer).
		Never("The command, the environment or the configuration of the server may have to be corrected")
}

// unstartedError is for a server that cannot be started. A stranger is not told why, and a secret is not cut.
func (p *Proxy) unstartedError(err error) error {
	text := "the server cannot be started"
	if unstarted, ok := errors.AsType[*child.UnstartedError](err); ok && !p.Strange && p.Hide(p.Command[0]) == p.Command[0] {
		text += ": " + unstarted.Why
	}
	return never(text).Because(err)
}

// A silentError ends a run that was silent for too long.
type silentError struct{ silent time.Duration }

func (e *silentError) Error() string {
	return "the server answered no ping for " + words.Duration(e.silent) + " and was ended"
}

// Effect says that the call may have taken effect.
func (e *silentError) Effect() fault.Effect { return fault.EffectUnknown }

// hungError is for a call whose run was ended because it was silent. again says that the same call ended a run
// before: it would end the next one as well.
func hungError(e *silentError, again bool) error {
	f := fault.New(fault.KindTimeout, e.Error()+" while it ran this call, and is started again").
		WithParty(fault.PartyServer).Because(e)
	if again {
		f = f.WithRetry(notAgain)
	}
	return f
}

// notAgain is the advice about a call during which a run was ended before.
var notAgain = fault.Retry{Reason: "The server was ended before, while it ran the same call", Effect: fault.EffectUnknown}

// overdueError is for a call that has run into its time limit and during which a run was ended before.
func overdueError(cause *call.ElsewhereError) error {
	return fault.New(fault.KindTimeout, "the server did not answer this call in time. It was told to stop. Whether it did is not known").
		WithParty(fault.PartyServer).WithRetry(notAgain).Because(cause)
}

// illegalError is for an illegal answer. text says what came.
func illegalError(text string) error {
	return fault.New(fault.KindServerError, text).WithParty(fault.PartyServer).Because(&lostError{text})
}

// cancelledError is for a call that its client gave up, which is the cause. Only the log has it, and who fetches the
// answer of a call that task_cancel has stopped. sent says that the server had the call.
func cancelledError(cause error, sent bool) error {
	f := fault.New(fault.KindCancelled, errCancelled.Error()).WithParty(fault.PartyCaller).Because(cause)
	if !sent || !errors.Is(cause, task.ErrCancelled) {
		return f
	}
	return f.WithMessage("the server was told to stop this call. Whether it did is not known").
		WithRetry(fault.Retry{Effect: fault.EffectUnknown})
}

// notSentError is for a call that was not sent. why says why not, reason is that of the advice, "" for none.
func notSentError(why, reason string, cause error) error {
	return fault.New(fault.KindServiceUnavailable, "this call was not sent: "+why).WithParty(fault.PartyServer).
		WithRetry(fault.Retry{ShouldRetry: true, Reason: reason, Effect: fault.EffectNone}).Because(cause)
}

func tooLargeError(most int) error {
	return fault.New(fault.KindClientError, "the answer is larger than "+words.Plural(most>>10, "KiB", "KiB")+", which is the most that is passed on").
		Suggest("Ask for less: a part, a page, or fewer items at a time, if there is an argument for it.").
		WithRetry(fault.Retry{Reason: "The call was carried out, and the same call has the same answer", Effect: fault.EffectUnknown})
}

// notRunningError is the failure of a request that was not sent.
func notRunningError(wait time.Duration) error {
	f := fault.Unavailable("the server").WithParty(fault.PartyServer)
	retry := fault.Retry{ShouldRetry: true, Reason: "It ended, and is started again", Effect: fault.EffectNone}
	if wait > 0 {
		retry.RetryAfterSeconds = wait.Seconds()
	}
	return f.WithRetry(retry)
}

// otherVersionError is for requests of a session with which a server that was started again cannot go on.
func otherVersionError(agreed, now string) error {
	text := "the server was started again and speaks version " + words.Quote(now, maxClip) + " of the protocol now, and this session began with " + words.Quote(agreed, maxClip)
	return &unsentError{fault.New(fault.KindServiceUnavailable, text).WithParty(fault.PartyServer).Never("The client has to connect anew")}
}

// An unsentError is the failure of a request that was not sent, because no session begins with the server.
// The error in it says why, and when to call again.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// Effect says that the call had none.
func (e *unsentError) Effect() fault.Effect { return fault.EffectNone }

// errCancelled ends a call that its client has cancelled. It is not answered.
var errCancelled = errors.New("the client cancelled the call")
