package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/words"
)

const (
	// progressEvery is the least time between two notifications.
	progressEvery = 250 * time.Millisecond

	// progressWait is how long one notification may take. A client that does not read
	// them gets no more.
	progressWait = time.Second
)

// Notify returns a function for [Advanced].Progress that tells the caller of req
// how far the batch is, if the caller asked for that with a progress token; it is nil
// otherwise:
//
//	batch.Run(ctx, in.Files, read, &batch.RunOptions[string]{
//		Advanced: batch.Advanced[string]{Progress: batch.Notify(ctx, req)},
//	})
//
// Notifications say how many items have finished, of how many, and how many failed:
// four a second at most, the first at once, and one at the end, before the answer.
// They increase. One that cannot be sent, or not within a second, ends them and
// harms nobody. ctx is the context of the handler, in which the SDK finds where to
// send them. Use the function for one batch.
func Notify(ctx context.Context, req mcp.Request) func(Progress) {
	if safe.Nil(req) || safe.Nil(req.GetParams()) {
		return nil
	}
	params, ok := req.GetParams().(mcp.RequestParams)
	session, _ := req.GetSession().(*mcp.ServerSession)
	if !ok || session == nil {
		return nil
	}
	token := params.GetProgressToken()
	if token == nil {
		return nil
	}
	n := &notifier{send: func(p Progress) error {
		return session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(p.Done), Total: float64(p.Total), Message: p.String(),
		})
	}}
	return n.notify
}

// Progress is how far a batch is.
type Progress struct {
	Done   int  // items that have finished: succeeded, failed or skipped
	Failed int  // those of them that failed
	Total  int  // all items
	End    bool // the batch has ended: there is no further call
}

// String says how far the batch is, as a notification does: "12 of 50 items, 2 failed".
func (p Progress) String() string {
	text := fmt.Sprintf("%d of %s", p.Done, words.Plural(p.Total, "item"))
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	return text
}

// notifier limits the rate of notifications.
type notifier struct {
	send func(Progress) error

	mu   sync.Mutex
	sent int // items that the last one told of
	last time.Time
	off  bool
}

func (n *notifier) notify(p Progress) {
	n.mu.Lock()
	defer n.mu.Unlock()
	// What the protocol wants to increase does so, and the last one is always told.
	end := p.End || p.Done == p.Total
	if n.off || p.Done <= n.sent || !end && time.Since(n.last) < progressEvery {
		return
	}
	n.sent, n.last = p.Done, time.Now()
	// In a goroutine of its own, because a write to a client that does not read may
	// take for ever, whatever its context says.
	done := make(chan error, 1)
	go func() {
		err := errNotSent
		defer func() {
			_ = recover() // a transport is untrusted code
			done <- err
		}()
		err = n.send(p)
	}()
	timer := time.NewTimer(progressWait)
	defer timer.Stop()
	select {
	case err := <-done:
		n.off = err != nil
	case <-timer.C:
		n.off = true
	}
}

var errNotSent = errors.New("batch: a notification was not sent")
