package fault

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Format prints the public text for every verb, with its flags, and for %+v and
// %#v everything that the operator may know, the cause included. A nil fault is
// printed as <nil>.
func (e *Error) Format(f fmt.State, verb rune) {
	switch {
	case e == nil:
		_, _ = io.WriteString(f, "<nil>")
	case verb == 'v' && (f.Flag('+') || f.Flag('#')):
		_, _ = io.WriteString(f, causeText(e))
	default:
		fmt.Fprintf(f, fmt.FormatString(f, verb), e.Error())
	}
}

const (
	maxLogged           = 16 << 10 // bytes of the details in a record
	maxLoggedViolations = 50
)

// LogValue gives the operator's log everything, the cause included.
func (e *Error) LogValue() slog.Value {
	if e == nil {
		return slog.Value{}
	}
	d := e.Data() // a copy, because a log handler may change what it is given
	attrs := saying(
		slog.String("type", string(d.Type)), slog.String("message", d.Message), slog.String("code", d.Code), slog.String("field", d.Field),
		slog.String("resource_type", d.ResourceType), slog.String("identifier", d.Identifier),
		slog.String("action", d.Action), slog.String("resource", d.Resource),
		slog.String("required_permission", d.RequiredPermission), slog.String("reference", d.ReferenceID),
	)
	if len(d.Violations) > 1 {
		attrs = append(attrs, slog.Any("violations", d.Violations[:min(len(d.Violations), maxLoggedViolations)]))
	}
	if d.Retry != nil {
		attrs = append(attrs, d.Retry.attr())
	}
	if len(d.Details) > 0 {
		if text := compact(d.Details); len(text) > maxLogged {
			attrs = append(attrs, slog.String("details", words.Clip(text, maxLogged)))
		} else {
			attrs = append(attrs, slog.Any("details", d.Details))
		}
	}
	if e.cause != nil {
		attrs = append(attrs, slog.String("cause", causeText(e.cause)))
	}
	return slog.GroupValue(attrs...)
}

// causes are the private causes of a fault that has several. Unlike what
// errors.Join makes, it survives that one of them panics.
type causes struct{ errs []error }

func joinCauses(first, second error) error {
	switch c := first.(type) {
	case nil:
		return second
	case *causes:
		return &causes{append(slices.Clip(c.errs), second)}
	default:
		return &causes{[]error{first, second}}
	}
}

func (c *causes) Error() string {
	texts := make([]string, len(c.errs))
	for i, err := range c.errs {
		texts[i] = safe.Error(err)
	}
	return strings.Join(texts, "\n")
}

func (c *causes) Unwrap() []error { return c.errs }

// causeText returns all that is known of an error, for the log. The text of an
// error shows of a fault that it wraps only the public part, so the causes of
// those faults are added.
func causeText(err error) string {
	w := causeWriter{left: maxErrors}
	w.write(err)
	return w.String()
}

// maxErrors bounds the walk through an untrusted tree of errors, which may have
// a cycle.
const maxErrors = 64

type causeWriter struct {
	words.Builder
	left int
}

func (w *causeWriter) write(err error) {
	if w.left--; w.left < 0 {
		w.WriteString("...")
		return
	}
	switch e := err.(type) {
	case *Error:
		if e == nil {
			w.WriteString("<nil>")
			return
		}
		w.WriteString(e.Error())
		w.cause(e)
	case *causes:
		for i, c := range e.errs {
			if i > 0 {
				w.WriteByte('\n')
			}
			w.write(c)
		}
	case fmt.Formatter:
		w.WriteString(safe.Format(err))
	default:
		w.WriteString(safe.Error(err))
		w.wrapped(err)
	}
}

func (w *causeWriter) cause(e *Error) {
	if e != nil && e.cause != nil {
		w.WriteString("\nCause: ")
		w.write(e.cause)
	}
}

// wrapped writes the causes of the faults that err wraps.
func (w *causeWriter) wrapped(err error) {
	for _, inner := range safe.Unwrap(err) {
		if w.left--; w.left < 0 {
			return
		}
		if e, ok := inner.(*Error); ok {
			w.cause(e)
		} else {
			w.wrapped(inner)
		}
	}
}
