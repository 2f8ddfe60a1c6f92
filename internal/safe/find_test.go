package safe_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/safe"
)

// circle holds itself.
type circle struct{ error }

func (c *circle) Unwrap() error { return c }

// hollow panics when it is asked for anything but its text.
type hollow struct{}

func (hollow) Error() string { return "hollow" }
func (hollow) Unwrap() error { panic("nothing inside") }
func (hollow) Is(error) bool { panic("no comparison") }

// kind is what it says it is.
type kind struct{ of error }

func (kind) Error() string          { return "kind" }
func (k kind) Is(target error) bool { return target == k.of }

func TestIs(t *testing.T) {
	long := io.EOF
	for range 300 {
		long = fmt.Errorf("around: %w", long)
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"nil":              {nil, false},
		"itself":           {io.EOF, true},
		"wrapped":          {fmt.Errorf("x: %w", fmt.Errorf("y: %w", io.EOF)), true},
		"joined":           {errors.Join(io.ErrNoProgress, fmt.Errorf("x: %w", io.EOF)), true},
		"behind a cycle":   {errors.Join(&circle{io.EOF}, io.EOF), false},
		"before a cycle":   {errors.Join(io.EOF, &circle{io.EOF}), true},
		"says so":          {kind{io.EOF}, true},
		"says another":     {kind{io.ErrNoProgress}, false},
		"another":          {io.ErrNoProgress, false},
		"panics":           {errors.Join(hollow{}, io.EOF), false},
		"before it panics": {errors.Join(io.EOF, hollow{}), true},
		"too deep":         {long, false},
		"not comparable":   {sliceError{"a"}, false},
		"a nil pointer":    {(*pointerError)(nil), false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, safe.Is(c.err, io.EOF)) })
	}
}

func TestFindStopsAtTheFirst(t *testing.T) {
	var seen []string
	found := safe.Find(fmt.Errorf("a: %w", errors.Join(errors.New("b"), errors.New("c"))), func(err error) bool {
		seen = append(seen, safe.Error(err))
		return err.Error() == "b"
	})
	require.True(t, found)
	require.Equal(t, []string{"a: b\nc", "b\nc", "b"}, seen)
}
