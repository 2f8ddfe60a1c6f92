package retry

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
)

// reason says why a call that failed with this kind is not to be made again as it
// is, where the error itself gives no reason.
func reason(kind fault.Kind) string {
	switch kind {
	case fault.KindValidation:
		return "Correct the arguments first, then call again."
	case fault.KindNotFound, fault.KindAlreadyExists, fault.KindClientError:
		return "The same call will fail again."
	case fault.KindPermissionDenied, fault.KindUnauthenticated:
		return "" // the first line says it
	default:
		return "The same call will fail again unless something changes."
	}
}

// instead says what to do when calling again does not help.
func instead(e *fault.Error) string {
	switch e.Kind() {
	case fault.KindValidation:
		return "Compare the arguments with the tool's description, or ask the user for the right values."
	case fault.KindNotFound:
		return "Find out what exists, or ask the user."
	case fault.KindPermissionDenied, fault.KindUnauthenticated:
		return "Ask the user."
	case fault.KindInternal: // has a step that says the same
		return "Try another way, or tell the user what does not work."
	}
	if len(e.Data().RecoverySteps) > 0 {
		return "Take the next steps below, try another way, or tell the user what does not work."
	}
	return "Try another way, or tell the user what does not work."
}

// What is said of a call, or of a tool, that failed too often.
func exactly(failures int) string {
	return "this exact call has failed " + times(failures) + " with the same error"
}

func inARow(failures int) string {
	return fmt.Sprintf("the last %d calls of this tool have all failed", failures)
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

// suggestion returns what to suggest. The general words of a kind, which have to do
// without knowing whether the call may be made again, are shortened by what the line
// about that says, and given to a fault that says nothing about what to do. said says
// that it has a word about calling again.
func suggestion(e *fault.Error, said bool, effect fault.Effect) string {
	kind, own := e.Kind(), e.Suggestion()
	general := fault.Generic(kind).Suggestion()
	switch {
	case own == "" && (said || !suitable(kind)), own != general && own != "":
		return own
	case own == "":
		if d := e.Data(); len(d.RecoverySteps) > 0 || len(d.SimilarMatches) > 0 {
			return ""
		}
	}
	switch {
	case effect == fault.EffectUnknown:
		return "" // to check comes first
	case kind == fault.KindTimeout:
		return "Ask for less at a time if the tool allows it."
	case kind == fault.KindRateLimited:
		return "Make fewer calls at a time."
	case kind == fault.KindValidation:
		return "Compare them with the tool's input schema."
	default:
		return general
	}
}

// suitable reports whether the general suggestion of a kind suits a failure of which
// somebody else chose the words.
func suitable(kind fault.Kind) bool {
	switch kind {
	case fault.KindNotFound, fault.KindAlreadyExists, fault.KindUnauthenticated, fault.KindPermissionDenied,
		fault.KindTimeout, fault.KindConflict:
		return true
	default:
		return false
	}
}

// refusal is the answer to a call that is not run.
func refusal(p pause) *fault.Error {
	what := exactly(p.failures)
	if p.streak {
		what = inARow(p.failures)
	}
	return fault.New(fault.KindRateLimited, fmt.Sprintf("%s, so it is not run for the next %d s", what, int(math.Ceil(p.rest.Seconds())))).
		WithCode(CodeRefused).
		Never("Do not repeat it. Try another way, or tell the user what does not work.")
}
