package classify_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/harness"
)

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func second[T any](_ T, err error) error { return err }

func TestClassifyNothing(t *testing.T) {
	require.Nil(t, failure.Classify(nil))
	require.Nil(t, failure.Classify(nil, func(error) *fault.Error { panic("asked") }))
}

// A type of every sort may be a typed nil.
type (
	pointerError  struct{ text string }
	sliceError    []string
	mapError      map[string]string
	functionError func() string
)

func (e *pointerError) Error() string { return e.text }
func (e sliceError) Error() string    { return e[0] }
func (e mapError) Error() string      { return "map" }
func (e functionError) Error() string { return e() }

func TestClassifyTypedNils(t *testing.T) {
	for _, err := range []error{
		(*pointerError)(nil), sliceError(nil), mapError(nil), functionError(nil),
		(*fs.PathError)(nil), (*net.OpError)(nil), (*fault.Error)(nil), (*jsonrpc.Error)(nil), (*fault.PanicError)(nil),
	} {
		for _, err := range []error{err, fmt.Errorf("%w", wrapping{err}), errors.Join(err)} {
			require.NotPanics(t, func() {
				f := failure.Classify(err)
				require.Equal(t, fault.Generic(fault.KindInternal).Data(), told(f), "%T", err)
			})
		}
	}
	// Beside a typed nil, what is known counts.
	require.Equal(t, fault.KindNotFound, failure.Classify(errors.Join((*pointerError)(nil), sql.ErrNoRows)).Kind())
}

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

type evilJoin struct{}

func (evilJoin) Error() string   { return "evil" }
func (evilJoin) Unwrap() []error { panic(harness.Canary) }

func TestClassifySurvivesEvilErrors(t *testing.T) {
	is := func(err error) *fault.Error {
		if errors.Is(err, errSecret) {
			return fault.New("never", "")
		}
		return nil
	}
	as := func(err error) *fault.Error {
		if e := (*pointerError)(nil); errors.As(err, &e) {
			return fault.New("never", "")
		}
		return nil
	}
	deliberate := fault.NotFound("file", "a")
	for _, method := range []string{"Error", "Unwrap", "Is", "As", "Timeout", "PublicMessage", "PublicHint", "PublicKind"} {
		t.Run(method, func(t *testing.T) {
			for _, err := range []error{
				evil{method, nil}, wrapping{evil{method, nil}}, evil{method, evil{method, nil}}, errors.Join(evil{method, nil}, evil{method, nil}),
			} {
				require.NotPanics(t, func() {
					f := failure.Classify(err, is, as)
					require.Equal(t, fault.Generic(fault.KindInternal).Data(), told(f))
				})
			}
			// An evil error around a fault hides it, if at all; it does not let out more.
			require.NotPanics(t, func() {
				f := failure.Classify(evil{method, deliberate}, is, as)
				if f.Kind() != fault.KindNotFound {
					require.Equal(t, fault.Generic(fault.KindInternal).Data(), told(f))
				}
			})
			// Below the fault it does not matter.
			require.NotPanics(t, func() {
				require.Equal(t, deliberate.Data(), failure.Classify(wrapping{deliberate.Because(evil{method, nil})}, is, as).Data())
			})
		})
	}
	require.NotPanics(t, func() {
		require.Equal(t, fault.KindInternal, failure.Classify(evilJoin{}).Kind())
		require.Equal(t, fault.KindInternal, failure.Classify(wrapping{evilJoin{}}).Kind())
	})
}

// ring is an error that wraps itself in the end.
type ring struct{ next error }

func (r *ring) Error() string { return "ring" }
func (r *ring) Unwrap() error { return r.next }

type joinRing struct{ next []error }

func (r *joinRing) Error() string   { return "ring" }
func (r *joinRing) Unwrap() []error { return r.next }

func TestClassifyCycles(t *testing.T) {
	one := &ring{}
	one.next = one
	two := &ring{}
	two.next = &ring{two}
	join := &joinRing{}
	join.next = []error{join, join}
	asks := func(err error) *fault.Error {
		if errors.Is(err, errSecret) { // which never ends in a cycle
			return fault.New("never", "")
		}
		return nil
	}
	for _, err := range []error{one, two, join, wrapping{one}, errors.Join(one, join)} {
		require.Equal(t, fault.Generic(fault.KindInternal).Data(), told(failure.Classify(err, asks)))
	}
	// What is found before the cycle is closed counts.
	join.next = []error{fault.NotFound("file", "a"), join}
	require.Equal(t, fault.KindNotFound, failure.Classify(join).Kind())
}

func TestClassifyHugeTrees(t *testing.T) {
	deep := func(err error, n int) error {
		for range n {
			err = wrapping{err}
		}
		return err
	}
	public := fault.NotFound("file", "a")
	require.Equal(t, public.Data(), failure.Classify(deep(public, 200)).Data())
	require.Equal(t, fault.KindTimeout, failure.Classify(deep(context.DeadlineExceeded, 200)).Kind())
	require.Equal(t, fault.KindInternal, failure.Classify(deep(errSecret, 10_000)).Kind())
	require.Equal(t, fault.KindInternal, failure.Classify(deep(public, 10_000)).Kind(), "that deep nobody looks")

	wide := make([]error, 10_000)
	for i := range wide {
		wide[i] = errSecret
	}
	require.Equal(t, fault.KindInternal, failure.Classify(errors.Join(wide...)).Kind())
	wide[0] = public
	require.Equal(t, fault.KindNotFound, failure.Classify(errors.Join(wide...)).Kind())
}

func TestClassifyDeliberate(t *testing.T) {
	a := fault.NotFound("file", "a").WithCode("A").Because(errSecret)
	b := fault.Invalid("n", "five", "an integer")
	c := fault.Invalid("m", 6, "a string")
	wire := &jsonrpc.Error{Code: 409, Message: "taken"}
	withData := &jsonrpc.Error{Code: -32602, Message: "other", Data: mustMarshal(t, b)}
	broken := &fault.PanicError{Value: errSecret}
	for _, test := range []struct {
		name string
		err  error
		want *fault.Error
	}{
		{"fault", a, a},
		{"wrapped", fmt.Errorf("outer: %w", a), a},
		{"joined with the unknown", errors.Join(errSecret, a), a},
		{"fault in a standard error", &fs.PathError{Err: a}, a},
		{"joined faults", errors.Join(b, c), fault.Join(b, c)},
		{"joined by fmt", fmt.Errorf("%w, %w", a, fmt.Errorf("inner: %w", b)), fault.Join(a, b)},
		{"joined in joined", errors.Join(a, errors.Join(b, wrapping{c})), fault.Join(a, fault.Join(b, c))},
		{"fault with a fault as its cause", a.Because(b), a},
		{"protocol error", wire, fault.New(fault.KindConflict, "taken")},
		{"protocol error with a fault as its data", withData, b},
		{"protocol error beside a fault", errors.Join(a, wire), fault.New(fault.KindConflict, "taken")},
		{"protocol error before a fault", errors.Join(wire, a), fault.New(fault.KindConflict, "taken")},
		{"panic", broken, fault.Generic(fault.KindInternal)},
		{"panic beside a fault", errors.Join(a, broken), fault.Generic(fault.KindInternal)},
		{"hidden", classify.HideError(errSecret, b), b},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := failure.Classify(test.err)
			require.Equal(t, told(test.want), told(got))
		})
	}
	require.Same(t, a, failure.Classify(fmt.Errorf("outer: %w", a)), "a fault is not changed")
	require.ErrorIs(t, failure.Classify(errors.Join(a, b)), errSecret, "the causes of joined faults are joined")
	require.ErrorIs(t, failure.Classify(broken), errSecret)
	require.ErrorIs(t, failure.Classify(classify.HideError(errSecret, b)), errSecret)
}

func mustMarshal(t *testing.T, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}

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

func TestClassifyPublicMethods(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want *fault.Error
	}{
		{"message", public{message: "the disk is full"}, fault.New(fault.KindTool, "the disk is full")},
		{"hint and kind", public{hint: "Look.", kind: "conflict"}, fault.Generic(fault.KindConflict).Suggest("Look.")},
		{"nothing to say of a standard error", public{err: sql.ErrNoRows}, fault.Generic(fault.KindNotFound)},
		{"message of a standard error", public{message: "gone", err: sql.ErrNoRows}, fault.New(fault.KindNotFound, "gone")},
		{"own word before the type", public{kind: "conflict", err: sql.ErrNoRows}, fault.Generic(fault.KindConflict)},
		{"the outermost wins", public{message: "outer", err: public{message: "inner", kind: "conflict", hint: "Look."}}, fault.New(fault.KindConflict, "outer").Suggest("Look.")},
		{"wrapped", fmt.Errorf("%w", public{message: "inner"}), fault.New(fault.KindTool, "inner")},
		{"joined", errors.Join(errSecret, public{message: "inner"}), fault.New(fault.KindTool, "inner")},
		{"a fault below is deliberate", public{message: "outer", err: fault.NotFound("file", "a")}, fault.NotFound("file", "a")},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := failure.Classify(c.err)
			require.Equal(t, told(c.want), told(got))
			require.NotContains(t, got.Error(), harness.Canary)
			if c.name != "a fault below is deliberate" {
				require.Equal(t, c.err, got.Unwrap())
			}
		})
	}
}

func TestClassifyRules(t *testing.T) {
	var asked []string
	rule := func(name string, f *fault.Error) classify.Rule {
		return func(error) *fault.Error {
			asked = append(asked, name)
			return f
		}
	}
	a, b := fault.New("a", "rule a"), fault.New("b", "rule b")
	panics := func(error) *fault.Error { asked = append(asked, "panics"); panic("no") }
	for _, c := range []struct {
		name  string
		err   error
		rules []classify.Rule
		want  *fault.Error
		asked []string
	}{
		{"first", errSecret, []classify.Rule{rule("a", a), rule("b", b)}, a, []string{"a"}},
		{"second", errSecret, []classify.Rule{rule("a", nil), rule("b", b)}, b, []string{"a", "b"}},
		{"none", errSecret, []classify.Rule{rule("a", nil)}, fault.Generic(fault.KindInternal), []string{"a"}},
		{"a rule that panics", errSecret, []classify.Rule{panics, rule("b", b)}, b, []string{"panics", "b"}},
		{"only a rule that panics", errSecret, []classify.Rule{panics}, fault.Generic(fault.KindInternal), []string{"panics"}},
		{"a nil rule", errSecret, []classify.Rule{nil, rule("b", b)}, b, []string{"b"}},
		{"before the standard kinds", sql.ErrNoRows, []classify.Rule{rule("a", a)}, a, []string{"a"}},
		{"before public methods", public{message: "m"}, []classify.Rule{rule("a", a)}, a, []string{"a"}},
		{"not for faults", fault.New("c", "c"), []classify.Rule{rule("a", a)}, fault.New("c", "c"), nil},
		{"before protocol errors", &jsonrpc.Error{Code: 404, Message: "m"}, []classify.Rule{rule("a", a)}, a, []string{"a"}},
		{"before wrapped protocol errors", fmt.Errorf("x: %w", &jsonrpc.Error{Code: 404, Message: "m"}), []classify.Rule{rule("a", a)}, a, []string{"a"}},
		{"not for what steers a client", &jsonrpc.Error{Code: mcp.CodeURLElicitationRequired, Message: "m"}, []classify.Rule{rule("a", a)}, fault.New(fault.KindPreconditionFailed, "m"), nil},
		{"not for panics", &fault.PanicError{Value: 1}, []classify.Rule{rule("a", a)}, fault.Generic(fault.KindInternal), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked = nil
			f := failure.Classify(c.err, c.rules...)
			require.Equal(t, told(c.want), told(f))
			require.Equal(t, c.asked, asked)
		})
	}
	require.ErrorIs(t, failure.Classify(errSecret, rule("a", a)), errSecret, "the error becomes the cause")
	require.NoError(t, a.Unwrap(), "the rule's own fault is not changed")
}

func TestClassifySDKTexts(t *testing.T) {
	f := failure.Classify(fmt.Errorf("validating \"arguments\": %s is not of type integer", harness.Canary))
	require.Equal(t, fault.Generic(fault.KindValidation).Data(), told(f))
	f = failure.Classify(errors.New("the server is busy, retry later"))
	require.Equal(t, fault.KindServiceUnavailable, f.Kind())
	require.Equal(t, fault.KindInternal, failure.Classify(errors.New(`not validating "arguments": x`)).Kind())
}

// TestAStatusInProse: a status with its name is an answer only where it stands as one.
func TestAStatusInProse(t *testing.T) {
	for text, kind := range map[string]fault.Kind{
		"GET http://127.0.0.1/x: 404 Not Found []":               fault.KindNotFound,
		"unexpected response: 409 Conflict":                      fault.KindConflict,
		"the service answered 503 Service Unavailable":           fault.KindServiceUnavailable,
		"comparing branches: found 409 Conflict markers in a.go": fault.KindInternal,
		"the user asked about 404 Not Found pages":               fault.KindInternal,
	} {
		require.Equal(t, kind, classify.Of(errors.New(text), classify.Options{}).Fault.Kind(), text)
	}
}
