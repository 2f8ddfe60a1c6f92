package fault

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/words"
)

// A PanicError is a recovered panic. It counts as an internal error, and neither its value
// nor its stack is ever shown to a caller.
type PanicError struct {
	// Value is what was given to panic. A panic(nil) is a *runtime.PanicNilError.
	Value any

	callers []uintptr
}

// Panicked returns a PanicError for a value that recover returned, with the stack of the
// panic. Call it in the deferred function that recovered; skip is the number of further
// frames to leave out, as for [runtime.Callers]. It keeps program counters only: the stack
// is formatted when somebody reads it.
func Panicked(value any, skip int) *PanicError {
	var pcs [32]uintptr
	n := runtime.Callers(skip+2, pcs[:])
	return &PanicError{Value: value, callers: append([]uintptr(nil), pcs[:n]...)}
}

// Error returns "panic: " and the value. It is for the log.
func (e *PanicError) Error() string { return "panic: " + safe.Value(e.Value) }

// Unwrap returns the value if it is an error, so that errors.Is and errors.As see
// through to a runtime.Error, for example.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// recovery is how the names of the functions of package recover begin.
const recovery = "github.com/mcpchain/mcpchain/recover."

// Stack returns the stack of the panic, the innermost frame first, in the form of
// debug.Stack without the arguments: from the code that panicked to the recovery.
func (e *PanicError) Stack() string {
	if len(e.callers) == 0 {
		return ""
	}
	// The deferred function and the runtime's frames come first. The code that
	// panicked comes after the first runtime.gopanic, and after the frames of the
	// runtime itself when it was the runtime that panicked (a nil map, an index).
	var b words.Builder
	raised := false
	for frames := runtime.CallersFrames(e.callers); ; {
		f, more := frames.Next()
		switch inside := raised && b.Len() > 0; {
		case !raised && f.Function == "runtime.gopanic":
			raised = true
			b.Reset()
		case raised && !inside && strings.HasPrefix(f.Function, "runtime."):
		case inside && strings.HasPrefix(f.Function, recovery):
			return b.String() // outside of it nothing had a part in the panic
		default:
			fmt.Fprintf(&b, "%s(...)\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}
