package apart_test

import (
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

func TestGo(t *testing.T) {
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
			got, err := apart.Go(c.f).Result()
			require.Equal(t, c.want, got)
			require.ErrorIs(t, err, c.err)
		})
	}
	_, err := apart.Go(func() (int, error) { panic(errOwn) }).Result()
	var p *fault.PanicError
	require.ErrorAs(t, err, &p)
	require.Contains(t, p.Stack(), "apart_test.TestGo")
}

// TestGivenUp takes the time by both of its ends.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, waits := range map[string]func(*apart.Work[int]) bool{
			"limit": func(w *apart.Work[int]) bool { return w.Within(time.Second + apart.Grace) },
			"over": func(w *apart.Work[int]) bool {
				over := make(chan struct{})
				time.AfterFunc(time.Second, func() { close(over) })
				return w.Until(over, apart.Grace)
			},
		} {
			end := make(chan struct{})
			began, work := time.Now(), apart.Go(func() (int, error) { <-end; return 7, errOwn })
			require.False(t, waits(work), name)
			require.Equal(t, time.Second+apart.Grace, time.Since(began), name)
			close(end)
			got, err := work.Result()
			require.Equal(t, 7, got, name)
			require.Equal(t, errOwn, err, name)
		}
		over := make(chan struct{})
		close(over)
		for _, takes := range []time.Duration{0, apart.Grace / 2} { // what returns within the grace says why itself
			require.True(t, apart.Go(func() (int, error) { time.Sleep(takes); return 7, nil }).Until(over, apart.Grace))
		}
		require.True(t, apart.Go(func() (int, error) { time.Sleep(time.Hour); return 7, nil }).Until(nil, 0))
	})
}
