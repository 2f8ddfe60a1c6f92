package call

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/apart"
)

const (
	remoteTime  = 250 * time.Millisecond // for one question
	remoteRest  = 5 * time.Second        // for which a store that failed is not asked
	remoteSay   = time.Minute            // how often at most it is said that one fails
	remoteStuck = 16                     // questions that may hang beyond their time
)

// A Remote is a store of several servers, without which each of them can go on by itself. It
// may fail, hang, panic or end its goroutine: no call waits for it for longer than about 250 ms,
// and after a failure it is left alone for five seconds. Then one call tries it. All methods may
// be called concurrently.
type Remote struct {
	name   string
	logger *slog.Logger
	began  time.Time

	off  atomic.Int64 // until when it is not asked, since it began; zero while it answers
	said atomic.Int64 // when it was last said that it fails
	room apart.Room
}

// NewRemote returns a Remote with a name for records, such as "the store of failed calls". A
// nil logger means that of the call.
func NewRemote(name string, logger *slog.Logger) *Remote {
	return &Remote{name: name, logger: logger, began: time.Now()}
}

// now is never zero.
func (r *Remote) now() time.Duration { return time.Since(r.began) + 1 }

// Rests reports whether it is of no use to ask now.
func (r *Remote) Rests() bool {
	off := r.off.Load()
	return off != 0 && r.now() < time.Duration(off) || r.room.Left() >= remoteStuck
}

// AskRemote puts a question to a store, and reports whether it was answered. A caller that has
// gone is not the store's fault, so that the question does not end with it. One that does not
// heed its context goes on when AskRemote has returned.
func AskRemote[T any](ctx context.Context, r *Remote, question func(ctx context.Context) (T, error)) (_ T, ok bool) {
	var none T
	off := r.off.Load()
	if r.Rests() || off != 0 && !r.off.CompareAndSwap(off, int64(r.now()+remoteRest)) {
		return none, false // another call tries it
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), remoteTime)
	defer cancel()
	answer, err := apart.Run(&r.room, remoteTime+apart.Grace, nil, func() (T, error) { return question(limited) }, nil)
	if err != nil {
		r.failed(ctx, whyApart(err, remoteTime))
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
		Warn(ctx, r.logger, r.name+" does not answer; each server counts for itself meanwhile", slog.Any("error", err))
	}
}
