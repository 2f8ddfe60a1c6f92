package fault

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Format prints the public text for every verb, with its flags. %+v and %#v print everything for
// the operator, the cause included. A nil fault is printed as <nil>.
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

// LogValue returns everything for the operator's log, the cause included.
func (e *Error) LogValue() slog.Value {
	if e == nil {
		return slog.Value{}
	}
	d := e.Data() // a copy, because a log handler may change it
	attrs := saying(
		slog.String("type", string(d.Type)), slog.String("message", d.Message), slog.String("code", d.Code), slog.String("field", d.Field),
		slog.String("resource_type", d.ResourceType), slog.String("identifier", d.Identifier),
		slog.String("action", d.Action), slog.String("resource", d.Resource),
		slog.String("required_permission", d.RequiredPermission), slog.String("reference", d.ReferenceID),
	)
	if len(d.Violations) > 1 {
		attrs = append(attrs, slog.Any("violations", loggedViolations(d.Violations[:min(len(d.Violations), maxLoggedViolations)])))
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

// loggedViolations are violations in a record: a list of objects in a JSON log, and a sentence in a
// text log.
type loggedViolations []Violation

// MarshalJSON writes the violations as on the wire.
func (l loggedViolations) MarshalJSON() ([]byte, error) { return json.Marshal([]Violation(l)) }

// MarshalText writes them in one line: a: expected an integer, received "x"; b: required.
func (l loggedViolations) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

func (l loggedViolations) String() string {
	var b strings.Builder
	for i, v := range l {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(words.Line(v.Field))
		b.WriteString(": ")
		switch expected := words.Line(v.Expected); {
		case expected != "" && v.Rule == "required":
			b.WriteString("required, expected " + expected)
		case expected != "":
			b.WriteString("expected " + expected)
		default:
			b.WriteString(cmp.Or(words.Line(v.Rule), "not valid"))
		}
		if v.Received == nil {
			continue
		}
		if received, err := encode(v.Received); err == nil {
			b.WriteString(", received " + received)
		}
	}
	return b.String()
}

// causes are the private causes of a fault that has several. Unlike the result of errors.Join, it
// survives a cause that panics.
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

// causeText returns everything about an error, for the log. The text of an error has only the public
// part of a fault that it wraps. So causeText adds the causes of those faults.
func causeText(err error) string {
	w := causeWriter{left: maxErrors}
	w.write(err)
	return w.String()
}

// maxErrors bounds the walk through an untrusted tree of errors, which may have
// a cycle.
const maxErrors = 64

type causeWriter struct {
	strings.Builder
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
