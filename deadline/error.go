package deadline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/middleware"
)

var (
	errGoexit  = errors.New("the handler ended its goroutine with runtime.Goexit")
	errTooMany = errors.New("deadline: too many handlers are stuck, or run at the same time")
)

// A LimitError says that a call took longer than it may. From that moment on it is the cause of the
// handler's context. The call fails with another one, which errors.As finds. It counts as
// context.DeadlineExceeded.
type LimitError struct {
	// Limit is how long the handler was given, without the time for which the clock was
	// stopped.
	Limit time.Duration
	// Caller reports whether the limit follows from a deadline of the caller.
	Caller bool
	// Running reports whether the handler had not returned when the call was
	// answered. In the cause of a context it is false.
	Running bool
	// Err is the error of a handler that stopped after its context ended, else nil.
	Err error

	answer bool // the call failed with it: it is not the cause of a context
}

// Error returns the limit and what the handler did. It is for the log.
func (e *LimitError) Error() string {
	if e.Limit <= 0 {
		return "deadline: no time was left to start"
	}
	text := fmt.Sprintf("deadline: the limit of %v was reached", e.Limit)
	if e.Caller {
		text += ", which is what the caller's own left"
	}
	switch {
	case e.Running:
		text += "; the handler was told to stop and is still running"
	case e.elsewhere():
		text += "; the handler no longer waits, and it is not known whether the work has stopped"
	case e.Err != nil:
		text += "; the handler stopped: " + safe.Error(e.Err)
	}
	return text
}

// elsewhere reports whether the handler only waited for the work, so that its return does not prove
// that the work has stopped.
func (e *LimitError) elsewhere() bool {
	other, _ := safe.As[*call.ElsewhereError](e.Err)
	return other != nil
}

// Unwrap returns Err.
func (e *LimitError) Unwrap() error { return e.Err }

// Is reports whether the target is context.DeadlineExceeded.
func (e *LimitError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout returns true.
func (e *LimitError) Timeout() bool { return true }

func isDeadline(err error) bool { return safe.Same(err, context.DeadlineExceeded) }

// effectOf returns the effect of a call that was cut, as far as it is certain.
func effectOf(safety failure.Safety) fault.Effect {
	if safety == failure.Reads {
		return fault.EffectNone
	}
	return fault.EffectUnknown
}

// retryOf returns the guidance for a call that took too long. running says that its handler still runs,
// or that its work may go on elsewhere, and is "" if it has returned. seen is the effect that was noted until now.
func retryOf(public *fault.Error, safety failure.Safety, running string, seen failure.Witness) fault.Retry {
	at := failure.As(safety)
	at.Cut, at.Running, at.Witness = true, running, seen
	return failure.Again(&failure.Known{
		Finding: classify.Finding{Fault: public, By: classify.Cut},
		Hint:    &fault.Hint{Retry: fault.RetryYes},
	}, at).Retry
}

// subject returns words for what did not finish. It does not repeat the name that the
// caller sent.
func subject(method string) string {
	switch method {
	case middleware.MethodCallTool:
		return "the tool"
	case middleware.MethodReadResource:
		return "reading the resource"
	case middleware.MethodGetPrompt:
		return "the prompt"
	default:
		return "the completion"
	}
}

// exceeded returns the error of a call whose limit was reached.
func (w *run) exceeded(e *LimitError, safety failure.Safety) error {
	e.answer = true
	public := fault.Timeout(subject(w.c.Method()), e.Limit)
	message := public.Message()
	if e.Caller {
		message = strings.TrimSuffix(message, ".") + ", which is what your own time limit for this call left."
	}
	running, usually := "", w.usually()
	switch {
	case e.Running:
		message += " It was told to stop, but is still running."
		if running = failure.StillRunning(e.Limit); usually != "" {
			running += "; " + usually
		}
	case e.elsewhere():
		message += " It was told to stop. Whether it did is not known."
		if safety != failure.Reads {
			running = "it may still be running"
		}
	default:
		message += " It was told to stop, and did."
	}
	suggestion := ""
	if w.c.Method() == middleware.MethodCallTool {
		suggestion = failure.AskForLess
	}
	retry := retryOf(public, safety, running, w.c.Witness())
	retry.Fact = cmp.Or(retry.Fact, usually)
	return classify.HideErrorBy(classify.Cut, e, public.WithMessage(message).Suggest(suggestion).WithRetry(retry))
}

// cancelled returns the error of a call whose caller gave it up.
func cancelled(what string, err, cause error, safety failure.Safety) error {
	if !safe.Same(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return classify.HideErrorBy(classify.Cut, fmt.Errorf("deadline: %s: %w", what, err),
		fault.Generic(fault.KindCancelled).WithRetry(fault.Retry{Effect: effectOf(safety)}))
}

// notStarted returns the error of a call that was over before it began.
func (w *run) notStarted(err error) error {
	if safe.Find(err, isDeadline) {
		return classify.HideErrorBy(classify.Proven, &LimitError{Caller: true, answer: true},
			fault.New(fault.KindTimeout, "no time was left to start this call").
				WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone}))
	}
	return cancelled("the call was cancelled before it started", err, context.Cause(w.parent), failure.Reads)
}

// Why a call is refused.
const (
	stuckRefusal = "too many calls are still running"
	burstRefusal = "too many calls run at the same time"
)

// maxRefusal is the longest wait that a refusal asks for.
const maxRefusal = 30 * time.Second

// refused returns the error of a call that does not start.
func (w *run) refused(why string) error {
	after, message := time.Second, why
	if why == stuckRefusal {
		after = max(after, min(w.limit, maxRefusal).Truncate(time.Second))
		if w.c.Method() == middleware.MethodCallTool {
			message = "too many calls of this tool are still running"
		}
	}
	return classify.HideErrorBy(classify.Proven, errTooMany, fault.New(fault.KindServiceUnavailable, message).
		WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: after.Seconds(), Effect: fault.EffectNone}))
}

// fail answers a call with an error.
func (w *run) fail(err error) (mcp.Result, error) {
	w.c.Establish(w.settings)
	return nil, err
}
