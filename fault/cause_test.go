package fault_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
)

// canary is what no caller may see.
const canary = "canary-4711"

func TestIs(t *testing.T) {
	locked := fault.New(fault.KindConflict, "the invoice is locked").WithCode("INVOICE_LOCKED")
	thisOne := locked.WithMessage("invoice 7 is locked").After(time.Second).With("invoice", 7).Because(io.EOF)
	wraps := map[string]func(error) error{
		"bare":         func(err error) error { return err },
		"wrapped":      func(err error) error { return fmt.Errorf("load: %w", err) },
		"twice":        func(err error) error { return fmt.Errorf("a: %w", fmt.Errorf("b: %w", err)) },
		"two wrapped":  func(err error) error { return fmt.Errorf("%w and %w", sql.ErrNoRows, err) },
		"joined":       func(err error) error { return errors.Join(sql.ErrNoRows, err) },
		"cause":        func(err error) error { return fault.New("busy", "x").Because(err) },
		"second cause": func(err error) error { return fault.New("busy", "x").Because(sql.ErrNoRows).Because(err) },
	}
	for name, wrap := range wraps {
		t.Run(name, func(t *testing.T) {
			err := wrap(thisOne)
			require.ErrorIs(t, err, fault.KindConflict)
			require.ErrorIs(t, err, locked)
			require.ErrorIs(t, err, thisOne)
			require.ErrorIs(t, err, io.EOF)
			require.NotErrorIs(t, err, fault.KindNotFound)
			require.NotErrorIs(t, err, fault.New(fault.KindConflict, "the invoice is locked"), "another code")
			require.NotErrorIs(t, err, locked.WithCode("OTHER"))
			require.NotErrorIs(t, err, fault.New(fault.KindTimeout, "").WithCode("INVOICE_LOCKED"), "another kind")
			require.NotErrorIs(t, err, io.ErrUnexpectedEOF)
			require.NotErrorIs(t, err, (*fault.Error)(nil))

			var e *fault.Error
			require.ErrorAs(t, err, &e)
			require.Contains(t, []fault.Kind{fault.KindConflict, "busy"}, e.Kind())
		})
	}
	require.ErrorIs(t, fault.NotFound("a", "1"), fault.NotFound("b", "2"), "kind and code are what counts")
	require.ErrorIs(t, fault.New("disk_full", "x"), fault.Kind("disk_full"))
	require.ErrorIs(t, fault.New("", "x"), fault.KindInternal)
	require.NotErrorIs(t, fault.New("disk_full", "x"), fault.Kind(""))
	require.ErrorIs(t, fmt.Errorf("slow: %w", fault.KindTimeout), fault.KindTimeout)
}

func TestCauseIsReached(t *testing.T) {
	_, cause := fs.Stat(emptyFS{}, "secret/file")
	e := fault.New("busy", "x").Because(cause)
	require.Same(t, cause, e.Unwrap())
	var pathErr *fs.PathError
	require.ErrorAs(t, e, &pathErr)
	require.Equal(t, "secret/file", pathErr.Path)
	require.ErrorIs(t, e, fs.ErrNotExist)

	require.Same(t, cause, e.Because(nil).Unwrap(), "nil is no cause")
	require.NoError(t, fault.New("busy", "x").Because(nil).Unwrap())

	two := e.Because(context.Canceled)
	require.ErrorIs(t, two, fs.ErrNotExist)
	require.ErrorIs(t, two, context.Canceled)
	require.ErrorAs(t, two, &pathErr)
	require.NotErrorIs(t, e, context.Canceled)
	require.Equal(t, cause.Error()+"\ncontext canceled", two.Unwrap().Error())
}

type emptyFS struct{}

func (emptyFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func TestTypedNilInAChain(t *testing.T) {
	var none *fault.Error
	for _, err := range []error{none, fmt.Errorf("x: %w", none), errors.Join(none, io.EOF), fault.New("busy", "x").Because(none)} {
		require.NotErrorIs(t, err, fault.KindTimeout)
		require.NotErrorIs(t, err, fault.New(fault.KindTimeout, ""))
		require.NotPanics(t, func() {
			var e *fault.Error
			errors.As(err, &e)
			_ = err.Error()
			_ = fmt.Sprintf("%v %+v", err, err)
		})
	}
	require.NotErrorIs(t, fault.New("busy", "x"), none)
	require.Nil(t, fault.Join(none, none))
}

type (
	panicError  struct{ with any }
	nilError    struct{ text string }
	formatError struct{ panics bool }
	loopError   struct{ inner error }
)

func (e panicError) Error() string { panic(e.with) }
func (e *nilError) Error() string  { return e.text }
func (formatError) Error() string  { return canary }

// Format prints more than Error does, as errors with a stack do.
func (e formatError) Format(f fmt.State, _ rune) {
	if e.panics {
		panic(panicError{panicError{canary}})
	}
	fmt.Fprint(f, canary+" with stack")
}

func (e *loopError) Error() string { return canary }
func (e *loopError) Unwrap() error { return e.inner }

// uncomparable is an error that can be neither compared nor hashed.
type uncomparable []string

func (u uncomparable) Error() string { return strings.Join(u, "\n") }

// unwrapError panics when it is asked what it wraps.
type unwrapError struct{}

func (unwrapError) Error() string { return canary }
func (unwrapError) Unwrap() error { panic(canary) }

func TestCauseIsForTheLogOnly(t *testing.T) {
	inner := fault.New(fault.KindTimeout, "the query took too long").Because(errors.New(canary + " inner"))
	loop := &loopError{}
	loop.inner = fault.New("busy", "looped").Because(loop)
	formatLoop := &loopError{}
	formatLoop.inner = errors.Join(io.EOF, formatLoop, formatLoop)

	for _, tc := range []struct {
		name  string
		cause error
		want  string // what the log has of it
	}{
		{"joined", errors.Join(io.EOF, errors.New(canary)), "EOF\n" + canary},
		{"formatter", formatError{}, canary + " with stack"},
		{"formatter that panics", formatError{panics: true}, canary},
		{"Error panics with a value that panics", panicError{panicError{canary}}, "<fault_test.panicError: its Error method panicked>"},
		{"typed nil", (*nilError)(nil), "<nil *fault_test.nilError>"},
		{"nil fault", (*fault.Error)(nil), "<nil>"},
		{"cannot be compared", uncomparable{canary}, canary},
		{"Unwrap panics", unwrapError{}, canary},
		{"wrapped fault with a cause", fmt.Errorf("load: %w", inner), "load: Timeout: the query took too long.\nCause: " + canary + " inner"},
		{
			"joined faults with causes", errors.Join(inner, fmt.Errorf("x: %w", inner)),
			"Timeout: the query took too long.\nx: Timeout: the query took too long.\nCause: " + canary + " inner\nCause: " + canary + " inner",
		},
		{"fault around a fault", fault.New("busy", "y").Because(inner), "Busy: y.\nCause: Timeout: the query took too long.\nCause: " + canary + " inner"},
		{"chain in itself", loop, ""},
		{"tree in itself", formatLoop, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bare := fault.New("busy", "try later").With("a", 1).WithReference("0198c7f2")
			checkPrivate(t, bare, bare.Because(tc.cause), tc.want)
		})
	}

	t.Run("two", func(t *testing.T) {
		bare := fault.New("busy", "try later")
		checkPrivate(t, bare, bare.Because(io.EOF).Because(errors.New(canary)), "EOF\n"+canary)
	})
	t.Run("one of several panics", func(t *testing.T) {
		bare := fault.New("busy", "try later")
		e := bare.Because((*nilError)(nil)).Because(panicError{canary}).Because(inner)
		checkPrivate(t, bare, e, "<nil *fault_test.nilError>\n<fault_test.panicError: its Error method panicked>\n"+
			"Timeout: the query took too long.\nCause: "+canary+" inner")
		require.Equal(t, "<nil *fault_test.nilError>\n<fault_test.panicError: its Error method panicked>\nTimeout: the query took too long.", e.Unwrap().Error())
		require.NotPanics(t, func() { _ = map[error]bool{e.Unwrap(): true} }, "causes can be compared")
	})
	t.Run("wrapped, with several causes", func(t *testing.T) {
		bare := fault.New("busy", "try later")
		several := fmt.Errorf("z: %w", fault.New("busy", "x").Because(io.EOF).Because(errors.New(canary)))
		checkPrivate(t, bare, bare.Because(several), "z: Busy: x.\nCause: EOF\n"+canary)
	})
}

// checkPrivate checks that e shows to a caller what bare, the same fault without
// its cause, shows, and that the log has the cause.
func checkPrivate(t *testing.T, bare, e *fault.Error, want string) {
	t.Helper()
	require.Equal(t, bare.Error(), e.Error())
	require.Equal(t, bare.Text(), e.Text())
	require.Equal(t, bare.Message(), e.Message())
	require.Equal(t, bare.Data(), e.Data())
	require.Equal(t, string(mustJSON(t, bare)), string(mustJSON(t, e)))
	require.Equal(t, bare.Error(), fmt.Sprintf("%v", e))
	require.Equal(t, bare.Error(), fmt.Sprintf("%s", e))
	require.Equal(t, bare.Error(), fmt.Sprint(e))
	require.Equal(t, bare.Error(), fmt.Errorf("%w", e).Error())
	require.Equal(t, fmt.Sprintf("%q", bare.Error()), fmt.Sprintf("%q", e))
	require.Equal(t, fmt.Sprintf("%x", bare.Error()), fmt.Sprintf("%x", e))
	require.Equal(t, fmt.Sprintf("%200.9s", bare.Error()), fmt.Sprintf("%200.9s", e))
	require.Equal(t, fmt.Sprintf("%-200v|", bare.Error()), fmt.Sprintf("%-200v|", e))
	require.NotContains(t, fmt.Sprintf("%d", e), canary)

	full := fmt.Sprintf("%+v", e)
	require.Equal(t, full, fmt.Sprintf("%#v", e))
	if want == "" { // without end: it has to stop
		require.Contains(t, full, canary)
		require.Less(t, len(full), 10_000)
		require.Less(t, len(e.LogValue().String()), 10_000)
		return
	}
	require.Equal(t, bare.Error()+"\nCause: "+want, full)

	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Error("failed", slog.Any("err", e))
	var record struct {
		Err map[string]any `json:"err"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &record), out.String())
	require.Equal(t, want, record.Err["cause"])
	require.Equal(t, "busy", record.Err["type"])

	out.Reset()
	slog.New(slog.NewTextHandler(&out, nil)).Error("failed", slog.Any("err", e))
	if strings.ContainsAny(want, " \n") {
		require.Contains(t, out.String(), fmt.Sprintf("err.cause=%q", want))
	} else {
		require.Contains(t, out.String(), "err.cause="+want)
	}
}

// bareLog leaves out of a log record what is not the fault's.
var bareLog = &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}}

func TestLogOfFullFault(t *testing.T) {
	e := fault.Join(fault.Invalid("a", 1, "2"), fault.Invalid("b", 3, "4").Because(errors.New(canary))).After(time.Second)
	for _, tc := range []struct {
		name  string
		fault *fault.Error
		json  string
	}{
		{"nil", nil, `{"err":null}`},
		{"all", full(), `{"err":{"type":"deployment_in_progress","message":"version 7 is being deployed","code":"BUSY","field":"version",` +
			`"resource_type":"deployment","identifier":"7","action":"deploy","resource":"production","required_permission":"deploy:production",` +
			`"reference":"0198c7f2-9d3e-7c41-9f0a-5b7d6c1e2a34",` +
			`"retry":{"should_retry":true,"retry_after_seconds":1.5,"next_attempt":2,"max_attempts":3,"reason":"it is nearly done","fact":"it has failed once","effect":"none","partial":true},` +
			`"details":{"log":[{"line":"ok"}],"percent":99.5},"cause":"unexpected EOF"}}`},
		{"violations", e, `{"err":{"type":"validation_error","message":"2 arguments are wrong.\n- Argument 'a' expected 2, but received 1.\n- Argument 'b' expected 4, but received 3.",` +
			`"violations":[{"field":"a","expected":"2","received":1},{"field":"b","expected":"4","received":3}],` +
			`"retry":{"should_retry":true,"retry_after_seconds":1},"cause":"canary-4711"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			slog.New(slog.NewJSONHandler(&out, bareLog)).Error("", slog.Any("err", tc.fault))
			require.Equal(t, tc.json+"\n", out.String())
		})
	}
	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, bareLog)).Error("", slog.Any("err", e.WithReference("0198c7f2")))
	require.Contains(t, out.String(), "err.reference=0198c7f2 ")
	require.Contains(t, out.String(), "err.cause=canary-4711")
}
