package fault

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/words"
)

// A PanicError is a recovered panic. It counts as an internal error. Callers never see its
// value or its stack.
type PanicError struct {
	// Value is the argument of panic. A panic(nil) has a *runtime.PanicNilError.
	Value any

	callers []uintptr
}

// Panicked returns a PanicError for a value that recover returned, with the stack of the
// panic. Call it in the deferred function that recovered; skip is the number of further
// frames to leave out, as for [runtime.Callers]. It stores program counters only;
// [PanicError.Stack] formats them.
func Panicked(value any, skip int) *PanicError {
	var pcs [32]uintptr
	n := runtime.Callers(skip+2, pcs[:])
	return &PanicError{Value: value, callers: append([]uintptr(nil), pcs[:n]...)}
}

// Error returns "panic: " and the value. It is for the log.
func (e *PanicError) Error() string { return "panic: " + safe.Value(e.Value) }

// Unwrap returns the value if it is an error, so that errors.Is and errors.As find a
// runtime.Error, for example.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// recovery is the prefix of the functions of package recover.
const recovery = "github.com/mcpchain/mcpchain/recover."

// Stack returns the stack of the panic, the innermost frame first, in the form of
// debug.Stack without the arguments: from the code that panicked to the recovery.
func (e *PanicError) Stack() string {
	if len(e.callers) == 0 {
		return ""
	}
	// The deferred function and the runtime's frames come first. The code that panicked
	// follows the first runtime.gopanic. If the runtime panicked (a nil map, an index), its
	// own frames stand in between.
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
			return b.String() // the frames outside of it had no part in the panic
		default:
			fmt.Fprintf(&b, "%s(...)\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}
