package safe_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/safe"
)

func TestCall(t *testing.T) {
	p, panicked := safe.Call(func() {}, func() { t.Error("it returned") })
	require.Nil(t, p)
	require.False(t, panicked)
	p, panicked = safe.Call(func() { panic("x") }, func() { t.Error("it panicked") })
	require.Equal(t, "x", p)
	require.True(t, panicked)

	exited, returned, done := false, false, make(chan struct{})
	go func() {
		defer close(done)
		safe.Call(func() { runtime.Goexit() }, func() { exited = true })
		returned = true
	}()
	<-done
	require.True(t, exited)
	require.False(t, returned)
}

type evil struct{ with any }

func (e evil) MarshalJSON() ([]byte, error) { panic(e.with) }
func (e evil) LogValue() slog.Value         { panic(e.with) }
func (e evil) Error() string                { return "evil" }
func (e evil) As(any) bool                  { panic(e.with) }

type endless struct{}

func (endless) LogValue() slog.Value { return slog.AnyValue(endless{}) }

func TestGuards(t *testing.T) {
	_, err := safe.JSON(evil{canary})
	require.ErrorContains(t, err, "panicked")
	require.NotContains(t, err.Error(), canary)
	raw, err := safe.JSON([]int{1})
	require.NoError(t, err)
	require.Equal(t, "[1]", string(raw))

	require.Equal(t, "x", safe.Text(func() string { return "x" }))
	require.Empty(t, safe.Text(func() string { panic(canary) }))
	require.Equal(t, "EOF", safe.Format(io.EOF))
	require.NotContains(t, safe.Format(panicError{canary}), "goroutine")

	require.Equal(t, "<safe_test.evil: its LogValue method panicked>", safe.LogValue(slog.AnyValue(evil{canary})).String())
	require.Equal(t, "x", safe.LogValue(slog.StringValue("x")).String())
	require.Contains(t, safe.LogValue(slog.AnyValue(endless{})).String(), "does not end")

	require.Equal(t, []error{io.EOF}, safe.Unwrap(fmt.Errorf("x: %w", io.EOF)))
	require.Len(t, safe.Unwrap(errors.Join(io.EOF, io.ErrNoProgress)), 2)
	require.Empty(t, safe.Unwrap(hollow{}))
	require.Empty(t, safe.Unwrap(io.EOF))
}

func TestAs(t *testing.T) {
	e, ok := safe.As[*fs.PathError](fmt.Errorf("x: %w", &fs.PathError{Op: "open"}))
	require.True(t, ok)
	require.Equal(t, "open", e.Op)
	_, ok = safe.As[*fs.PathError](errors.Join(io.EOF, evil{canary}))
	require.False(t, ok)
	_, ok = safe.As[*fs.PathError](nil)
	require.False(t, ok)
}
