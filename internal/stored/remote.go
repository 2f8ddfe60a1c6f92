package stored

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

// A Remote is a shared store that a server can do without. It may fail, hang, panic or end its
// goroutine: no call waits for it for longer than about 250 ms, and after a failure it rests for
// five seconds. Then one call tries it. All methods may be called
// concurrently.
type Remote struct {
	name   string
	logger *slog.Logger
	began  time.Time

	off  atomic.Int64 // when its rest ends, since began; zero while it answers
	said atomic.Int64 // when its failure was last recorded, since began
	left atomic.Int32 // the questions that hang beyond their time
}

// NewRemote returns a Remote with a name for records, such as "the shared store of package limit". A nil
// logger means that of the call.
func NewRemote(name string, logger *slog.Logger) *Remote {
	return &Remote{name: name, logger: logger, began: time.Now()}
}

// now is never zero.
func (r *Remote) now() time.Duration { return time.Since(r.began) + 1 }

// Rests reports whether a question would not be put to the store now.
func (r *Remote) Rests() bool {
	off := r.off.Load()
	return off != 0 && r.now() < time.Duration(off) || r.left.Load() >= remoteStuck
}

// Ask puts a question to a store, and reports whether the store answered. The question
// does not end with its caller's context, because a caller that gives up is not the store's
// failure. A question that ignores its own context goes on when Ask has returned.
func Ask[T any](ctx context.Context, r *Remote, question func(ctx context.Context) (T, error)) (_ T, ok bool) {
	var none T
	off := r.off.Load()
	if r.Rests() || off != 0 && !r.off.CompareAndSwap(off, int64(r.now()+remoteRest)) {
		return none, false // another call tries it
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), remoteTime)
	defer cancel()
	asked := apart.Go(func() (T, error) { return question(limited) })
	if !asked.Within(remoteTime + apart.Grace) {
		r.left.Add(1)
		go func() {
			<-asked.Done()
			r.left.Add(-1)
		}()
		r.failed(ctx, fmt.Errorf("it took more than %v", remoteTime))
		return none, false
	}
	answer, err := asked.Result()
	if err != nil {
		r.failed(ctx, apart.Reason(err))
		return none, false
	}
	if off != 0 {
		r.off.Store(0)
	}
	return answer, true
}

func (r *Remote) failed(ctx context.Context, err error) {
	now := r.now()
	r.off.Store(int64(now + remoteRest))
	if said := r.said.Load(); (said == 0 || now-time.Duration(said) >= remoteSay) && r.said.CompareAndSwap(said, int64(now)) {
		call.Warn(ctx, r.logger, r.name+" does not answer; each server counts for itself meanwhile", slog.Any("error", err))
	}
}
