package apart_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/apart"
)

var errOwn = errors.New("own")

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		f    func() (int, error)
		want int
		err  error
	}{
		"returns": {func() (int, error) { return 7, errOwn }, 7, errOwn},
		"panics":  {func() (int, error) { panic(errOwn) }, 0, errOwn},
		"exits":   {func() (int, error) { runtime.Goexit(); return 7, nil }, 0, apart.ErrGoexit},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := apart.Run(nil, 0, nil, c.f, func(error) { t.Error("it was waited for") })
			require.Equal(t, c.want, got)
			require.ErrorIs(t, err, c.err)
		})
	}
	_, err := apart.Run(nil, 0, nil, func() (int, error) { panic(errOwn) }, nil)
	var p *fault.PanicError
	require.ErrorAs(t, err, &p)
	require.Contains(t, p.Stack(), "apart_test.TestRun")
}

// TestRunGivesUp takes the time by both of its ends.
func TestRunGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for name, run := range map[string]func(*apart.Room, func() (int, error), func(error)) (int, error){
			"limit": func(room *apart.Room, f func() (int, error), late func(error)) (int, error) {
				return apart.Run(room, time.Second+apart.Grace, nil, f, late)
			},
			"over": func(room *apart.Room, f func() (int, error), late func(error)) (int, error) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				return apart.Run(room, 0, ctx.Done(), f, late)
			},
		} {
			var room apart.Room
			began, end := time.Now(), make(chan struct{})
			late := make(chan error, 1)
			_, err := run(&room, func() (int, error) { <-end; return 7, errOwn }, func(err error) { late <- err })
			require.ErrorIs(t, err, apart.ErrLeft, name)
			require.Equal(t, time.Second+apart.Grace, time.Since(began), name)
			require.Equal(t, 1, room.Left(), name)
			close(end)
			require.Equal(t, errOwn, <-late, name)
			synctest.Wait()
			require.Zero(t, room.Left(), name)
		}
		// One that returns within the grace says why itself.
		got, err := apart.Run(nil, 0, ctx.Done(), func() (int, error) {
			time.Sleep(apart.Grace / 2)
			return 7, errOwn
		}, nil)
		require.Equal(t, 7, got)
		require.ErrorIs(t, err, errOwn)
	})
}

// TestRunAtTheSameMoment has functions that return when their time is over: whoever is first, the
// room is empty at the end, and late is called for those alone that were given up.
func TestRunAtTheSameMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var room apart.Room
		for range 200 {
			called := make(chan error, 1)
			_, err := apart.Run(&room, time.Second, nil, func() (int, error) {
				time.Sleep(time.Second)
				return 0, errOwn
			}, func(err error) { called <- err })
			synctest.Wait()
			require.Zero(t, room.Left())
			require.Equal(t, errors.Is(err, apart.ErrLeft), len(called) == 1)
		}
	})
}
