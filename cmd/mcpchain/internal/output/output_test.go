package output_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/output"
)

// A pipe keeps each write, and takes none before read says so.
type pipe struct {
	read func() error

	mu     sync.Mutex
	writes []string
}

func (p *pipe) Write(b []byte) (int, error) {
	if p.read != nil {
		if err := p.read(); err != nil {
			return 0, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = append(p.writes, string(b))
	return len(b), nil
}

func (p *pipe) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.writes)
}

func dropped(w io.Writer, n int) { fmt.Fprintln(w, n, "were dropped") }

func numbers(from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf("line %04d\n", i))
	}
	return all
}

func write(t *testing.T, o *output.Output, lines ...string) {
	t.Helper()
	for _, line := range lines {
		n, err := o.Write([]byte(line))
		require.NoError(t, err)
		require.Len(t, line, n)
	}
}

// Each line is one write, in order, and all are there after Flush.
func TestWholeLines(t *testing.T) {
	p := &pipe{}
	o := output.New(p, output.Options{Dropped: dropped})
	o.Flush(time.Minute)
	want := numbers(0, 5000)
	write(t, o, want...)
	o.Flush(time.Minute)
	require.Equal(t, want, p.lines())
	write(t, o, "a\nb\n", "no end")
	o.Flush(time.Minute)
	require.Equal(t, append(want, "a\n", "b\n", "no end"), p.lines())
}

// A place that takes nothing stops no writer. When it takes lines again, they are those that were held, the number of those
// that were not, and what is written from then on.
func TestAPlaceThatTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := &pipe{read: func() error { <-release; return nil }}
		o := output.New(p, output.Options{Dropped: dropped, Bytes: 1000})
		write(t, o, numbers(0, 3000)...)
		began := time.Now()
		o.Flush(time.Second)
		require.Equal(t, time.Second, time.Since(began))
		require.Empty(t, p.lines())
		close(release)
		o.Flush(time.Second)
		synctest.Wait()
		want := append(numbers(0, 100), "2900 were dropped\n")
		require.Equal(t, want, p.lines())
		write(t, o, numbers(0, 10)...)
		synctest.Wait()
		require.Equal(t, append(want, numbers(0, 10)...), p.lines())
	})
}

// A place that is slower than what is written gets stretches of lines, and the number of those between them.
func TestASlowPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipe{read: func() error { time.Sleep(10 * time.Millisecond); return nil }}
		o := output.New(p, output.Options{Dropped: dropped, Bytes: 1000})
		for _, line := range numbers(0, 4000) {
			write(t, o, line)
			time.Sleep(time.Millisecond)
		}
		o.Flush(time.Hour)
		next, gaps := 0, 0
		for _, line := range p.lines() {
			var n int
			if strings.HasSuffix(line, "dropped\n") {
				_, err := fmt.Sscanf(line, "%d were dropped\n", &n)
				require.NoError(t, err)
				next, gaps = next+n, gaps+1
				continue
			}
			_, err := fmt.Sscanf(line, "line %d\n", &n)
			require.NoError(t, err)
			if n != next { // what was held when the others were dropped stands before their number
				require.Fail(t, "a line is missing", "%d instead of %d", n, next)
			}
			next++
		}
		require.Equal(t, 4000, next)
		require.Less(t, gaps, 20)
	})
}

// A line that is longer than the bound is written if nothing else is held.
func TestALongLine(t *testing.T) {
	p := &pipe{}
	o := output.New(p, output.Options{Dropped: dropped, Bytes: 1000})
	long := strings.Repeat("x", 5000) + "\n"
	write(t, o, long)
	o.Flush(time.Minute)
	require.Equal(t, []string{long}, p.lines())
}

// What a place refuses goes to another one.
func TestAPlaceThatFails(t *testing.T) {
	p, other := &pipe{read: func() error { return errors.New("the disk is full") }}, &pipe{}
	o := output.New(p, output.Options{Dropped: dropped, Otherwise: other})
	write(t, o, numbers(0, 10)...)
	o.Flush(time.Minute)
	require.Empty(t, p.lines())
	require.Equal(t, numbers(0, 10), other.lines())
	output.New(p, output.Options{Dropped: dropped}).Flush(time.Second)
}
