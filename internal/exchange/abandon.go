package exchange

import (
	"context"
	"fmt"
)

// ErrAbandoned is transport.ErrAbandoned.
var ErrAbandoned = fmt.Errorf("transport: nobody waits for the answer of the call: %w", context.Canceled)

// version20260728 is the first version of the protocol in which a closed stream is a cancellation.
const version20260728 = "2026-07-28"

// follows reports whether the calls of the POST end when it is abandoned. The caller holds the lock.
func (x *Exchange) follows() bool {
	return x.front != nil && !x.ended && !x.resumable &&
		(x.front.CancelOlder || x.header.Get("Mcp-Protocol-Version") >= version20260728)
}

// Follow returns a context for a call of x, which ends with [ErrAbandoned] when the POST is abandoned. Call
// stop when the call has been answered. Follow returns ctx itself if the call goes on without its client:
// over stdio, for clients before 2026-07-28 without [Front.CancelOlder], and for a nil Exchange.
//
// ctx has to end soon after the call, because that frees the new context. stop does not end it: package
// drain awaits the end of the context that the SDK made.
func (x *Exchange) Follow(ctx context.Context) (followed context.Context, stop func()) {
	if x == nil {
		return ctx, nothing
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.follows() {
		return ctx, nothing
	}
	followed, cancel := context.WithCancelCause(ctx)
	if x.abandoned {
		cancel(ErrAbandoned)
		return followed, nothing
	}
	if x.calls == nil {
		x.calls = map[*context.CancelCauseFunc]struct{}{}
	}
	x.calls[&cancel] = struct{}{}
	return followed, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.calls, &cancel)
	}
}

func nothing() {}

// Abandon ends the calls that follow the POST.
func (x *Exchange) Abandon() {
	x.mu.Lock()
	calls := x.calls
	x.abandoned, x.calls = true, nil
	if x.resumable {
		calls = nil
	}
	x.mu.Unlock()
	for cancel := range calls {
		(*cancel)(ErrAbandoned)
	}
}

// Resumable notes that the client has received the ID of an event. With the ID it can read the rest of the
// answer after it has lost the connection. From now on no call follows the POST.
func (x *Exchange) Resumable() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.resumable = true
}
