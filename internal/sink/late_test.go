package sink_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/sink"
)

// A place is a log that does with the nth record what does says, and then keeps its message.
type place struct {
	does func(n int) error

	mu      sync.Mutex
	asked   int
	written []string
	attrs   map[string]int // how many records have an attribute of this name
	dropped []int64
}

func (*place) Enabled(context.Context, slog.Level) bool { return true }
func (p *place) WithAttrs([]slog.Attr) slog.Handler     { return p }
func (p *place) WithGroup(string) slog.Handler          { return p }

func (p *place) Handle(_ context.Context, r slog.Record) error {
	p.mu.Lock()
	n := p.asked
	p.asked++
	p.mu.Unlock()
	if p.does != nil {
		if err := p.does(n); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = append(p.written, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		if p.attrs == nil {
			p.attrs = map[string]int{}
		}
		p.attrs[a.Key]++
		if a.Key == "dropped" {
			p.dropped = append(p.dropped, a.Value.Int64())
		}
		return true
	})
	return nil
}

func (p *place) messages() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.written)
}

func write(t *testing.T, logger *slog.Logger, from, n int) (took time.Duration) {
	t.Helper()
	began := time.Now()
	for i := range n {
		sink.Write(t.Context(), logger, slog.NewRecord(time.Now(), slog.LevelError, fmt.Sprint(from+i), 0))
	}
	return time.Since(began)
}

func numbers(from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

// byDefault makes a log the default one of a test.
func byDefault(t *testing.T, h slog.Handler) {
	t.Helper()
	before := slog.Default()
	slog.SetDefault(slog.New(h))
	t.Cleanup(func() { slog.SetDefault(before) })
}

// A log that does not return holds up one record, for 250 ms. When it is back it gets what waits, once and in order, and
// learns how many records found no room.
func TestALogThatStallsAndComesBack(t *testing.T) {
	for _, waiting := range []int{1, 500, 1000, 1001, 1999} {
		synctest.Test(t, func(t *testing.T) {
			fallback := &place{}
			byDefault(t, fallback)
			release := make(chan struct{})
			log := &place{does: func(int) error { <-release; return nil }}
			logger := slog.New(log)
			require.Equal(t, 250*time.Millisecond, write(t, logger, 0, 1+waiting))
			time.Sleep(time.Hour)
			require.Empty(t, log.messages())
			close(release)
			synctest.Wait()
			want := numbers(0, 1+min(waiting, 1000))
			switch {
			case waiting == 1001:
				want = append(want, "mcpchain: 1 record was dropped, because the log did not return")
			case waiting > 1000:
				want = append(want, fmt.Sprintf("mcpchain: %d records were dropped, because the log did not return", waiting-1000))
			}
			require.Equal(t, want, log.messages())
			require.Zero(t, write(t, logger, 5000, 3), "it is a log like any other again")
			require.Equal(t, append(want, numbers(5000, 5003)...), log.messages())
			require.Empty(t, fallback.messages(), "nothing was written twice")
		})
	}
}

// A log that stalls again while it is given what waits, and one that is always slow.
func TestALogThatIsSlow(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		100 * time.Millisecond: 20 * 100 * time.Millisecond, // each in time
		300 * time.Millisecond: 250 * time.Millisecond,      // the first, and then none
		time.Minute:            250 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			log := &place{does: func(int) error { time.Sleep(took); return nil }}
			require.Equal(t, want, write(t, slog.New(log), 0, 20))
			time.Sleep(time.Hour)
			require.Equal(t, numbers(0, 20), log.messages())
		})
	}
	synctest.Test(t, func(t *testing.T) {
		log := &place{does: func(n int) error {
			if n%7 == 0 {
				time.Sleep(time.Minute)
			}
			return nil
		}}
		logger := slog.New(log)
		for i := range 50 { // some come while it drains
			write(t, logger, 100*i, 100)
			time.Sleep(time.Minute)
		}
		time.Sleep(24 * time.Hour)
		var got []int
		for _, m := range log.messages() {
			if i, err := strconv.Atoi(m); err == nil {
				got = append(got, i)
			}
		}
		require.True(t, slices.IsSorted(got), "in order")
		require.Len(t, slices.Compact(slices.Clone(got)), len(got), "once")
		require.Equal(t, 1000, got[1000]+got[0], "no record is dropped before")
		var dropped int64
		for _, n := range log.dropped {
			dropped += n
		}
		require.EqualValues(t, 5000, int64(len(got))+dropped, "each was written or counted")
	})
}

// Many calls at once wait for a log that stalls as long as one does, and not one after another.
func TestManyCallsOnALogThatStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		log := &place{does: func(int) error { <-release; return nil }}
		logger := slog.New(log)
		began := time.Now()
		var calls sync.WaitGroup
		for i := range 100 {
			calls.Go(func() { write(t, logger, 100*i, 20) })
		}
		calls.Wait()
		require.Equal(t, 250*time.Millisecond, time.Since(began))
		close(release)
		synctest.Wait()
		messages := log.messages()
		require.Contains(t, messages[len(messages)-1], "mcpchain: 900 records were dropped")
		messages = messages[:len(messages)-1]
		require.Len(t, messages, 1100)
		slices.Sort(messages)
		require.Len(t, slices.Compact(messages), 1100, "once")
	})
}

// A log that fails while nobody waits for it loses no record, and what waits behind is written.
func TestALateLogThatFails(t *testing.T) {
	for name, fails := range map[string]func(){
		"error":  nil,
		"panic":  func() { panic("the log is broken") },
		"goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fallback := &place{}
				byDefault(t, fallback)
				release := make(chan struct{})
				log := &place{does: func(n int) error {
					<-release
					if n%2 == 1 {
						return nil
					}
					if fails != nil {
						fails()
					}
					return errors.New("the disk is full")
				}}
				require.Equal(t, 250*time.Millisecond, write(t, slog.New(log), 0, 10))
				require.Empty(t, fallback.messages())
				close(release)
				synctest.Wait()
				require.Equal(t, []string{"1", "3", "5", "7", "9"}, log.messages())
				require.Equal(t, []string{"0", "2", "4", "6", "8"}, fallback.messages())
				require.Equal(t, 5, fallback.attrs["log_failed"])
			})
		})
	}
}

// The record of a log that fails in time goes to the default log at once, with the reason. A default log that
// stalls holds up one record.
func TestALogThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		fallback := &place{does: func(int) error { <-release; return nil }}
		byDefault(t, fallback)
		log := &place{does: func(int) error { return errors.New("the disk is full") }}
		require.Equal(t, 250*time.Millisecond, write(t, slog.New(log), 0, 100))
		close(release)
		synctest.Wait()
		require.Equal(t, numbers(0, 100), fallback.messages())
		require.Equal(t, 100, fallback.attrs["log_failed"])
	})
}

// Two loggers do not wait for each other, and two users of one logger know the same of it.
func TestEachLogIsForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		bad, good := slog.New(&place{does: func(int) error { <-release; return nil }}), &place{}
		require.Equal(t, 250*time.Millisecond, write(t, bad, 0, 10))
		began := time.Now()
		sink.Log(t.Context(), bad, slog.LevelWarn, "a notice")
		require.Zero(t, time.Since(began))
		require.Zero(t, write(t, slog.New(good), 0, 10))
		require.Len(t, good.messages(), 10)
	})
}

// What a record that waits holds is what its context says that lasts.
func TestTheContextOfALateRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var seen []any
		logger := slog.New(contexts{func(ctx context.Context) { <-release; seen = append(seen, ctx.Value(contextKey{}), ctx.Err()) }})
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), contextKey{}, "whole"))
		sink.Log(ctx, logger, slog.LevelWarn, "first")
		sink.Log(ctx, logger, slog.LevelWarn, "waits")
		lasting := context.WithValue(context.Background(), contextKey{}, "small")
		sink.Log(context.WithValue(ctx, sink.Lasting{}, lasting), logger, slog.LevelWarn, "waits, too")
		cancel()
		close(release)
		synctest.Wait()
		require.Equal(t, []any{"whole", nil, "whole", nil, "small", nil}, seen)
	})
}

type contextKey struct{}

type contexts struct{ does func(context.Context) }

func (contexts) Enabled(context.Context, slog.Level) bool { return true }
func (c contexts) WithAttrs([]slog.Attr) slog.Handler     { return c }
func (c contexts) WithGroup(string) slog.Handler          { return c }
func (c contexts) Handle(ctx context.Context, _ slog.Record) error {
	c.does(ctx)
	return nil
}
