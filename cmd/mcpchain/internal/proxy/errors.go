package proxy

import (
	"errors"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/words"
)

// The failures of the server that it cannot answer itself. The effect of a call that was sent is
// unknown; package retry says what follows from that, by what the tool is.

// A lostError is the cause of a call that was sent and got no answer.
type lostError struct{ text string }

func (e *lostError) Error() string { return e.text }

// Effect says that the call may have taken effect.
func (e *lostError) Effect() fault.Effect { return fault.EffectUnknown }

func endedError(how, said string) error {
	f := fault.New(fault.KindServiceUnavailable, "the server ended ("+how+") while it ran this call, and is started again")
	if said != "" {
		said = ": " + said
	}
	return f.WithParty(fault.PartyServer).Because(&lostError{"the server ended: " + how + said})
}

// neverSpokeError is for a server that cannot work as it was started. said is what it wrote last, "" if that is
// not for the reader.
func neverSpokeError(how, said string) error {
	text := "the server ended (" + how + ") before it answered anything"
	if said != "" {
		text += ", and wrote: " + words.Quote(said, maxClip)
	}
	return fault.New(fault.KindServiceUnavailable, text).WithParty(fault.PartyServer).
		Never("Its command, its environment or its configuration has to be corrected")
}

func hungError(silent time.Duration) error {
	text := "the server answered no ping for " + words.Duration(silent) + " and was ended"
	return fault.New(fault.KindTimeout, text+" while it ran this call, and is started again").
		WithParty(fault.PartyServer).Because(&lostError{text})
}

func illegalError(reason string) error {
	return fault.New(fault.KindServerError, "the server's answer is no legal message: "+reason).
		WithParty(fault.PartyServer).Because(&lostError{"an illegal answer: " + reason})
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

// An unsentError is the failure of a request that was not sent, because no session can be begun with a
// server over HTTP. What the beginning failed with says why, and when to call again.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// Effect says that the call had none.
func (e *unsentError) Effect() fault.Effect { return fault.EffectNone }

// errCancelled ends a call that its client has cancelled. It is not answered.
var errCancelled = errors.New("the client cancelled the call")
