package limit

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/apart"
	"github.com/mcpchain/mcpchain/internal/call"
)

const (
	remoteTime  = 250 * time.Millisecond // the limit for one question
	remoteRest  = 5 * time.Second        // how long a store rests after it failed
	remoteSay   = time.Minute            // the shortest time between two warnings that a store fails
	remoteStuck = 16                     // how many questions may hang beyond their time
)

// A guard stands before a shared store that a server can do without. The store may fail, hang, panic or
// end its goroutine: no call waits for it for longer than about 250 ms, and after a failure it rests for
// five seconds. Then one call tries it. All methods may be called concurrently.
type guard struct {
	name   string
	logger *slog.Logger
	began  time.Time

	off  atomic.Int64 // when its rest ends, since began; zero while it answers
	said atomic.Int64 // when its failure was last recorded, since began
	left atomic.Int32 // the questions that hang beyond their time
}

// newGuard returns a guard with a name for records, such as "the shared store of package limit". A nil
// logger means that of the call.
func newGuard(name string, logger *slog.Logger) *guard {
	return &guard{name: name, logger: logger, began: time.Now()}
}

// now is never zero.
func (g *guard) now() time.Duration { return time.Since(g.began) + 1 }

// rests reports whether a question would not be put to the store now.
func (g *guard) rests() bool {
	off := g.off.Load()
	return off != 0 && g.now() < time.Duration(off) || g.left.Load() >= remoteStuck
}

// ask puts a question to a store, and reports whether the store answered. The question
// does not end with its caller's context, because a caller that gives up is not the store's
// failure. A question that ignores its own context goes on when ask has returned.
func ask[T any](ctx context.Context, g *guard, question func(ctx context.Context) (T, error)) (_ T, ok bool) {
	var none T
	off := g.off.Load()
	if g.rests() || off != 0 && !g.off.CompareAndSwap(off, int64(g.now()+remoteRest)) {
		return none, false // another call tries it
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), remoteTime)
	defer cancel()
	asked := apart.Go(func() (T, error) { return question(limited) })
	if !asked.Within(remoteTime + apart.Grace) {
		g.left.Add(1)
		go func() {
			<-asked.Done()
			g.left.Add(-1)
		}()
		g.failed(ctx, fmt.Errorf("it took more than %v", remoteTime))
		return none, false
	}
	answer, err := asked.Result()
	if err != nil {
		g.failed(ctx, apart.Reason(err))
		return none, false
	}
	if off != 0 {
		g.off.Store(0)
	}
	return answer, true
}

func (g *guard) failed(ctx context.Context, err error) {
	now := g.now()
	g.off.Store(int64(now + remoteRest))
	if said := g.said.Load(); (said == 0 || now-time.Duration(said) >= remoteSay) && g.said.CompareAndSwap(said, int64(now)) {
		call.Warn(ctx, g.logger, g.name+" does not answer; each server counts for itself meanwhile", slog.Any("error", err))
	}
}
