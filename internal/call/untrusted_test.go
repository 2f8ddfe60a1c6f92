package call_test

import (
	"github.com/mcpchain/mcpchain/internal/harness"
)

// wrapping wraps an error without asking it for its text.
type wrapping struct{ err error }

func (w wrapping) Error() string { return "wrapping" }
func (w wrapping) Unwrap() error { return w.err }

// evil has methods that panic, those that are named.
type evil struct {
	method string
	err    error
}

func (e evil) check(method string) {
	if e.method == method {
		panic(method + " panicked: " + harness.Canary)
	}
}
func (e evil) Error() string         { e.check("Error"); return "evil" }
func (e evil) Unwrap() error         { e.check("Unwrap"); return e.err }
func (e evil) Is(error) bool         { e.check("Is"); return false }
func (e evil) As(any) bool           { e.check("As"); return false }
func (e evil) Timeout() bool         { e.check("Timeout"); return false }
func (e evil) PublicMessage() string { e.check("PublicMessage"); return "" }
func (e evil) PublicHint() string    { e.check("PublicHint"); return "" }
func (e evil) PublicKind() string    { e.check("PublicKind"); return "" }

type joinRing struct{ next []error }

func (r *joinRing) Error() string   { return "ring" }
func (r *joinRing) Unwrap() []error { return r.next }

// public is an error that says what a caller may know.
type public struct {
	message, hint, kind string
	err                 error
}

func (p public) Error() string         { return harness.Canary }
func (p public) Unwrap() error         { return p.err }
func (p public) PublicMessage() string { return p.message }
func (p public) PublicHint() string    { return p.hint }
func (p public) PublicKind() string    { return p.kind }

type evilJoin struct{}

func (evilJoin) Error() string   { return "evil" }
func (evilJoin) Unwrap() []error { panic(harness.Canary) }

type (
	pointerError struct{ text string }
	sliceError   []string
)

func (e *pointerError) Error() string { return e.text }
func (e sliceError) Error() string    { return e[0] }

type count struct{ N int }
