package call

import (
	"reflect"
	"runtime"
	"strings"

	"github.com/mcpchain/mcpchain/internal/classify"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/fault"
)

// An Explanation is what the caller is told of a failure by a middleware that knows
// more about it than its error says. One of Fault and Wire is set.
type Explanation struct {
	// Fault is told as any fault is: a failed tool call becomes a result, a failed
	// method of another kind a protocol error.
	Fault *fault.Error

	// Protocol makes a protocol error of the fault for a tool call too.
	Protocol bool

	// Wire is a protocol error that is told in the place of the one that there was.
	Wire *jsonrpc.Error
}

// Explain replaces what the caller is told of a failure of this Call. The original
// error stays what it was, for the log and for the middlewares outside. What is told
// is not masked: it is made of what the server lists to the caller anyway and of what
// the caller sent, which who explains has scrubbed. Explain is for the middleware
// that stands next to the handler: what others have added to f is not carried over.
func (c *Call) Explain(f *Failure, x Explanation) {
	explained := &Failure{
		err: f.err, res: f.res,
		found: classify.Finding{Origin: classify.Explained, Fault: x.Fault, Wire: x.Wire, Protocol: x.Protocol && x.Wire == nil, Refused: f.found.Refused},
	}
	if x.Fault != nil {
		explained.found.Party = classify.PartyOf(x.Fault)
	}
	explained.logged.Store(f.logged.Load())
	cold := c.lock()
	defer c.mu.Unlock()
	cold.failure = explained
}

// Explainable reports whether what the caller is told of the failure says no more
// than its kind, so that a middleware that knows more may say it: nobody worded it,
// no rule knows it, and it is no bug of the server's.
func (f *Failure) Explainable() bool {
	return f.err != nil && (f.found.Origin == classify.Unknown || f.found.Origin == classify.Classified)
}

// Refused reports whether the SDK refused the arguments of a typed tool, which it
// tells by the text of the error alone: the handler was not called, unless it
// imitates that text.
func (f *Failure) Refused() bool { return f.found.Refused && f.res != nil && f.Explainable() }

// ArgumentError marks an error as being about the arguments of the call.
type ArgumentError struct{ Err error }

func (e ArgumentError) Error() string { return e.Err.Error() }
func (e ArgumentError) Unwrap() error { return e.Err }

// PublicKind is what is told of the error where package validate does not explain it.
func (e ArgumentError) PublicKind() string { return string(fault.KindValidation) }

// Outermost reports whether nothing of the program's own stands outside the
// middleware that opened this Call, so that what the opener's handler lists is what
// the caller may list. It looks at the stack: it is for failures, and reports false
// when it cannot know, because a middleware in between went on in another goroutine.
func (c *Call) Outermost() bool {
	const enough = 1024 // frames
	pcs := make([]uintptr, 64)
	n := runtime.Callers(2, pcs)
	for n == len(pcs) && n < enough {
		pcs = make([]uintptr, 2*len(pcs))
		n = runtime.Callers(2, pcs)
	}
	opened := false
	for frames := runtime.CallersFrames(pcs[:n]); ; {
		f, more := frames.Next()
		switch {
		case !opened:
			opened = f.Function == openFunction // the innermost one is this Call's
		case strings.HasPrefix(f.Function, ownPrefix), strings.HasPrefix(f.Function, selecting): // such as ForMethods
		default:
			return strings.HasPrefix(f.Function, sdkPath+".")
		}
		if !more {
			return false
		}
	}
}

var (
	// selecting is the package that only selects what a middleware applies to.
	selecting    = strings.TrimSuffix(ownPrefix, "internal/call.") + "middleware."
	ownPrefix    = strings.TrimSuffix(openFunction, "(*opener).open")
	openFunction = functionName((*opener).open)
)

// functionName returns the name under which a function stands in a stack.
func functionName(f any) string {
	return runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
}
