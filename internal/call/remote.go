package call

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/safe"
)

const (
	remoteTime  = 250 * time.Millisecond // for one question
	remoteGrace = 20 * time.Millisecond  // for one that ends because its time is over: it says why
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

	off   atomic.Int64 // until when it is not asked, since it began; zero while it answers
	said  atomic.Int64 // when it was last said that it fails
	stuck atomic.Int32
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
	return off != 0 && r.now() < time.Duration(off) || r.stuck.Load() >= remoteStuck
}

type reply[T any] struct {
	answer T
	err    error
}

// AskRemote puts a question to a store, and reports whether it was answered. A caller that has
// gone is not the store's fault, so that the question does not end with it. One that does not
// heed its context goes on when AskRemote has returned.
func AskRemote[T any](ctx context.Context, r *Remote, question func(ctx context.Context) (T, error)) (answer T, ok bool) {
	off := r.off.Load()
	if r.Rests() || off != 0 && !r.off.CompareAndSwap(off, int64(r.now()+remoteRest)) {
		return answer, false // another call tries it
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), remoteTime)
	defer cancel()
	done := make(chan reply[T], 1)
	var late atomic.Bool // set by the first of the two that come to their end
	go func() {
		it := reply[T]{err: errGoexit}
		defer func() {
			if late.Swap(true) {
				r.stuck.Add(-1)
			}
			done <- it
		}()
		p, panicked := safe.Call(func() { it.answer, it.err = question(limited) }, nil)
		if panicked {
			it.err = errors.New("it panicked: " + safe.Value(p))
		}
	}()
	timer := time.NewTimer(remoteTime + remoteGrace)
	defer timer.Stop()
	var it reply[T]
	select {
	case it = <-done:
	case <-timer.C:
		r.stuck.Add(1)
		if late.Swap(true) { // it has just come back
			r.stuck.Add(-1)
			it = <-done
		} else {
			it.err = fmt.Errorf("it took more than %v", remoteTime)
		}
	}
	if it.err != nil {
		r.failed(ctx, it.err)
		return answer, false
	}
	if off != 0 {
		r.off.Store(0)
	}
	return it.answer, true
}

func (r *Remote) failed(ctx context.Context, err error) {
	now := r.now()
	r.off.Store(int64(now + remoteRest))
	if said := r.said.Load(); (said == 0 || now-time.Duration(said) >= remoteSay) && r.said.CompareAndSwap(said, int64(now)) {
		Warn(ctx, r.logger, r.name+" does not answer; each server counts for itself meanwhile", slog.Any("error", err))
	}
}
