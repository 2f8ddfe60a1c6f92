package call

import (
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
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
