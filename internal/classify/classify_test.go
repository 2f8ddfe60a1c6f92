package classify_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/harness"
)

// realErrors returns errors of the standard library as it makes them.
func realErrors(t *testing.T) map[string]struct {
	err  error
	kind fault.Kind
} {
	t.Helper()
	dir := t.TempDir()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := closed.Addr().String()
	require.NoError(t, closed.Close())
	dial := func() error { _, err := net.Dial("tcp", address); return err }
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithTimeout(t.Context(), 0)
	t.Cleanup(cancel)
	released := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-released:
		}
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(released) })
	get := func(ctx context.Context, client *http.Client, url string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		require.NoError(t, err)
		res, err := client.Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	}
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))

	all := map[string]struct {
		err  error
		kind fault.Kind
	}{}
	add := func(name string, kind fault.Kind, err error) {
		t.Helper()
		require.Error(t, err, name)
		all[name] = struct {
			err  error
			kind fault.Kind
		}{err, kind}
	}
	// The paths are none of the caller's.
	add("os.Open of nothing", fault.KindInternal, second(os.Open(filepath.Join(dir, "nothing"))))
	add("os.ReadDir of nothing", fault.KindInternal, second(os.ReadDir(filepath.Join(dir, "nothing"))))
	add("os.Mkdir of what is there", fault.KindInternal, os.Mkdir(dir, 0o700))
	add("exclusive creation", fault.KindInternal, second(os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600)))
	add("removal of a directory that is not empty", fault.KindInternal, os.Remove(dir))
	require.NoError(t, os.Chmod(file, 0))
	if err := second(os.Open(file)); err != nil { // nil for root
		add("os.Open without permission", fault.KindInternal, err)
	}
	add("dial to a closed port", fault.KindConnectionFailed, dial())
	add("dial with a cancelled context", fault.KindCancelled, second((&net.Dialer{}).DialContext(cancelled, "tcp", address)))
	add("dial with an expired context", fault.KindTimeout, second((&net.Dialer{}).DialContext(expired, "tcp", address)))
	add("listen on a taken port", fault.KindConnectionFailed, func() error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		return second(net.Listen("tcp", l.Addr().String()))
	}())
	add("unknown host", fault.KindConnectionFailed, func() error {
		resolver := net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("no network")
		}}
		return second(resolver.LookupHost(t.Context(), "host.invalid."))
	}())
	add("read of a closed connection", fault.KindConnectionFailed, func() error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, l.Close())
		return second(l.Accept())
	}())
	add("deadline of a connection", fault.KindTimeout, func() error {
		a, b := net.Pipe()
		defer func() { _, _ = a.Close(), b.Close() }()
		require.NoError(t, a.SetDeadline(time.Unix(1, 0)))
		return second(a.Read(make([]byte, 1)))
	}())
	add("deadline of a TCP connection", fault.KindTimeout, func() error {
		conn, err := net.Dial("tcp", slow.Listener.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Unix(1, 0)))
		return second(conn.Read(make([]byte, 1)))
	}())
	add("end of a pipe", fault.KindConnectionFailed, func() error {
		r, w := io.Pipe()
		require.NoError(t, r.Close())
		return second(w.Write([]byte("x")))
	}())
	add("half of a message", fault.KindConnectionFailed, func() error {
		r, w := io.Pipe()
		require.NoError(t, w.CloseWithError(nil))
		return second(io.ReadFull(io.MultiReader(io.LimitReader(zeros{}, 1), r), make([]byte, 2)))
	}())
	add("http to a closed port", fault.KindConnectionFailed, get(t.Context(), http.DefaultClient, "http://"+address))
	add("http with a cancelled context", fault.KindCancelled, get(cancelled, http.DefaultClient, slow.URL))
	add("http with an expired context", fault.KindTimeout, get(expired, http.DefaultClient, slow.URL))
	add("http with a timeout", fault.KindTimeout, get(t.Context(), &http.Client{Timeout: time.Millisecond}, slow.URL))
	add("context cancelled", fault.KindCancelled, cancelled.Err())
	add("context expired", fault.KindTimeout, expired.Err())

	add("bad number", fault.KindInternal, second(strconv.Atoi("x")))
	add("bad JSON", fault.KindInternal, json.Unmarshal([]byte("{"), new(any)))
	add("bad URL", fault.KindInternal, second(url.Parse("://")))
	return all
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func second[T any](_ T, err error) error { return err }

// timeoutError is an error of a library that follows the net package's habit.
type timeoutError bool

func (timeoutError) Error() string   { return "it took a while" }
func (e timeoutError) Timeout() bool { return bool(e) }

func TestClassifyStandardKinds(t *testing.T) {
	all := realErrors(t)
	for _, c := range []struct {
		kind fault.Kind
		errs []error
	}{
		{fault.KindTimeout, []error{
			context.DeadlineExceeded, os.ErrDeadlineExceeded, timeoutError(true), syscall.ETIMEDOUT, syscall.EAGAIN,
			&net.DNSError{IsTimeout: true}, &fs.PathError{Err: os.ErrDeadlineExceeded}, &url.Error{Err: context.DeadlineExceeded},
			&net.OpError{Err: &os.SyscallError{Err: syscall.ETIMEDOUT}},
		}},
		{fault.KindCancelled, []error{context.Canceled, &url.Error{Err: context.Canceled}, &net.OpError{Err: context.Canceled}}},
		{fault.KindNotFound, []error{
			sql.ErrNoRows, fault.KindNotFound,
		}},
		{fault.KindAlreadyExists, []error{fault.KindAlreadyExists}},
		{fault.KindServerError, []error{
			&url.Error{Err: &json.SyntaxError{}}, &url.Error{Err: &json.UnmarshalTypeError{Type: reflect.TypeFor[int]()}}, // what a service answered
		}},
		{fault.KindConnectionFailed, []error{
			io.ErrClosedPipe, net.ErrClosed, driver.ErrBadConn, sql.ErrConnDone,
			syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
			syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENOTCONN,
			&net.OpError{Err: errors.New("anything")}, &net.DNSError{IsNotFound: true}, &url.Error{Err: io.EOF}, &net.OpError{Op: "read", Err: io.ErrUnexpectedEOF}, io.ErrUnexpectedEOF,
		}},
		{fault.KindInternal, []error{
			errors.New("unknown"), timeoutError(false), syscall.EINVAL, sql.ErrTxDone, &fs.PathError{Err: errors.New("unknown")},
			fs.ErrInvalid, fs.ErrClosed, http.ErrAbortHandler,
			// The end of a local file or text, and files that the caller did not name.
			io.EOF, &json.SyntaxError{}, fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, syscall.ENOENT, syscall.EEXIST, syscall.EACCES,
			&fs.PathError{Err: syscall.ENOENT}, &os.LinkError{Err: fs.ErrNotExist}, &fs.PathError{Err: syscall.EACCES},
		}},
		{"deployment_in_progress", []error{fault.Kind("deployment_in_progress")}},
	} {
		for _, err := range c.errs {
			all[fmt.Sprintf("%s %T %[2]v", c.kind, err)] = struct {
				err  error
				kind fault.Kind
			}{err, c.kind}
		}
	}
	require.Greater(t, len(all), 60)
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			for how, err := range map[string]error{
				"bare":          c.err,
				"wrapped":       fmt.Errorf("outer: %w", fmt.Errorf("inner: %w", c.err)),
				"joined":        errors.Join(errors.New(harness.Canary), c.err),
				"joined first":  errors.Join(c.err, errors.New(harness.Canary)),
				"joined by fmt": fmt.Errorf("%w and %w", errors.New(harness.Canary), fmt.Errorf("inner: %w", c.err)),
			} {
				f := failure.Classify(err)
				require.Equal(t, c.kind, f.Kind(), how)
				want := fault.Generic(c.kind)
				if strings.HasPrefix(f.Message(), "the connection to a service that is needed broke") || strings.HasPrefix(f.Message(), "what was read, ") { // it was reached
					want = want.WithMessage(f.Message())
				}
				require.Equal(t, want.Data(), told(f), "%s: the public text is the kind's own", how)
				require.ErrorIs(t, f, c.err, how)
			}
		})
	}
}

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
		{"joined with a standard error", errors.Join(context.DeadlineExceeded, a), a},
		{"fault in a standard error", &fs.PathError{Err: a}, a},
		{"joined faults", errors.Join(b, c), fault.Join(b, c)},
		{"joined by fmt", fmt.Errorf("%w, %w", a, fmt.Errorf("inner: %w", b)), fault.Join(a, b)},
		{"joined in joined", errors.Join(a, errors.Join(b, wrapping{c})), fault.Join(a, fault.Join(b, c))},
		{"fault with a fault as its cause", a.Because(b), a},
		{"fault with a protocol error as its cause", a.Because(wire), a},
		{"fault with a panic as its cause", a.Because(broken), a},
		{"protocol error", wire, fault.New(fault.KindConflict, "taken")},
		{"wrapped protocol error", fmt.Errorf("outer %w", wire), fault.New(fault.KindConflict, "taken")},
		{"protocol error with a fault as its data", withData, b},
		{"protocol error beside a fault", errors.Join(a, wire), fault.New(fault.KindConflict, "taken")},
		{"protocol error before a fault", errors.Join(wire, a), fault.New(fault.KindConflict, "taken")},
		{"panic", broken, fault.Generic(fault.KindInternal)},
		{"panic with a fault", &fault.PanicError{Value: a}, fault.Generic(fault.KindInternal)},
		{"panic beside a fault", errors.Join(a, broken), fault.Generic(fault.KindInternal)},
		{"hidden", classify.HideError(errSecret, b), b},
		{"hidden fault", classify.HideError(a, b), b},
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
		{"message and hint", public{message: "the disk is full", hint: "Delete a file."}, fault.New(fault.KindTool, "the disk is full").Suggest("Delete a file.")},
		{"message and kind", public{message: "gone", kind: "not_found"}, fault.New(fault.KindNotFound, "gone")},
		{"all", public{message: "gone", hint: "Look.", kind: "own_kind"}, fault.New("own_kind", "gone").Suggest("Look.")},
		{"kind", public{kind: "rate_limited"}, fault.Generic(fault.KindRateLimited)},
		{"own kind", public{kind: "own_kind"}, fault.Generic("own_kind")},
		{"hint", public{hint: "Look."}, fault.Generic(fault.KindInternal).Suggest("Look.")},
		{"hint and kind", public{hint: "Look.", kind: "conflict"}, fault.Generic(fault.KindConflict).Suggest("Look.")},
		{"nothing to say", public{}, fault.Generic(fault.KindInternal)},
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
