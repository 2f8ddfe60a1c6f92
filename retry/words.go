package retry

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/words"
)

const kindNotReady fault.Kind = "not_ready" //nolint:errname // a kind is an error, and its name is Kind

// NotReady returns the fault of a tool that a caller polls: what, such as "the export", is not
// ready yet, and the caller should ask again after a time. It is for a tool that reports the
// progress of something: such calls are not counted, so that a caller may poll as often as the
// answers say. A tool that answers "not ready" with a success does not need it.
func NotReady(what string, after time.Duration) *fault.Error {
	return fault.New(kindNotReady, what+" is not ready yet").After(after)
}

// suggestion returns the fault's own suggestion, or that of its kind if the fault does not say what
// to do.
func suggestion(f *failure.Failure, e *fault.Error, a *failure.Answer) string {
	kind, own, again := e.Kind(), e.Suggestion(), a.Retry.ShouldRetry
	_, said := e.Retry()
	if cut := f.View().By == classify.Cut && a.Retry.Effect != fault.EffectUnknown; cut || a.Retry.Reason == fault.StillRunning {
		return own // to ask for less
	}
	done := a.Retry.Effect == fault.EffectUnknown || a.Retry.Effect == fault.EffectCommitted
	if done && (!f.Worded() && !f.View().Chosen || own == fault.Generic(kind).Suggestion()) {
		return "" // to check the effect comes first
	}
	if !f.Worded() {
		passes := kinds.Of(string(kind)).Retry == kinds.Yes
		if passes && !again || kind == fault.KindConflict && again {
			return "" // the advice to read the state is for a caller that may not call again
		}
	}
	if own != "" || said || f.View().Shown { // its words say more than its kind does
		return own
	}
	switch kind {
	case fault.KindNotFound, fault.KindAlreadyExists, fault.KindUnauthenticated, fault.KindPermissionDenied,
		fault.KindTimeout, fault.KindConflict:
		d := e.Data()
		named := len(d.SimilarMatches) > 0 || kind == fault.KindNotFound && d.ResourceType != "" // the message lists what exists
		if len(d.RecoverySteps) == 0 && !named && !again && a.Retry.Effect == "" {
			return fault.Generic(kind).Suggestion()
		}
	}
	return ""
}

const (
	// maxHeadline is how many bytes of the last error a refusal repeats: a first line of that length stays whole.
	maxHeadline = 1000
	// shortHeadline is up to how many bytes an error stays whole with all its lines.
	shortHeadline = 200
)

// headline returns what a failure says first.
func headline(e *fault.Error) string {
	text := e.Kind().Label() + ": " + e.Message()
	if len(text) <= shortHeadline {
		return text
	}
	first, rest, _ := strings.Cut(text, "\n")
	switch {
	case len(first) > maxHeadline:
		return words.Clip(text, maxHeadline)
	case rest != "":
		rest = strings.TrimPrefix(strings.ReplaceAll("\n"+rest, "\n> ", "\n"), "\n") // without the marks of a quotation
		return first + " [" + words.Plural(utf8.RuneCountInString(rest), "more character") + " left out]"
	}
	return first
}

// lookFirst follows the last error of calls that may have taken effect, when the next one is refused.
const lookFirst = "It may have taken effect: look before you go on"

// refusal is the answer to a call that is not run.
func refusal(p pause) *fault.Error {
	if p.running > 0 {
		return fault.New(fault.KindRepeatedFailure, "this exact call was given up and has not ended, so it was not made a second time").
			Suggest(failure.AskForLess).
			WithRetry(fault.Retry{Reason: fault.StillRunning, Effect: fault.EffectUnknown, Fact: failure.StillRunning(p.running)})
	}
	what, other := failure.ThisCallFailed(p.failures, 0), "Calls with other arguments are made as before"
	if p.streak {
		what, other = failure.TheToolFailed(p.failures), "Other tools can be called as before"
	}
	e := fault.New(fault.KindRepeatedFailure, fmt.Sprintf("%s, so it is not made for the next %d s. Its last error was: %s",
		what, int(math.Ceil(p.rest.Seconds())), p.last)).WithCode(codeRefused)
	if p.final {
		return e.Never(other)
	}
	return e.Never("").WithRetry(fault.Retry{Reason: fault.NotNow, RetryAfterSeconds: math.Ceil(p.rest.Seconds()), Fact: other})
}
