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

// notifier tells a caller how far a batch is: how many items have finished, of how many,
// and how many failed. It tells at once, then four times a second at most, and at the end,
// before the answer. A notification that cannot be sent, or not within a second, ends them.
type notifier struct {
	send func(done, total int, message string) error

	mu   sync.Mutex
	sent int // items that the last one told of
	last time.Time
	off  bool
}

// newNotifier returns nil unless the caller of req asked with a progress token. ctx is the
// context of the handler, in which the SDK finds where to send notifications.
func newNotifier(ctx context.Context, req mcp.Request) *notifier {
	if safe.Nil(req) || safe.Nil(req.GetParams()) {
		return nil
	}
	params, ok := req.GetParams().(mcp.RequestParams)
	session, _ := req.GetSession().(*mcp.ServerSession)
	if !ok || session == nil || params.GetProgressToken() == nil {
		return nil
	}
	token := params.GetProgressToken()
	return &notifier{send: func(done, total int, message string) error {
		return session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(done), Total: float64(total), Message: message,
		})
	}}
}

// tell tells how far the batch is. Nobody waits for a notification but who sends it, and
// the last one. What the protocol wants to increase does so.
func (n *notifier) tell(end bool, counts func() (done, failed, total int)) {
	if end {
		n.mu.Lock()
	} else if !n.mu.TryLock() {
		return
	}
	defer n.mu.Unlock()
	done, failed, total := counts()
	if n.off || done <= n.sent || !end && done < total && time.Since(n.last) < progressEvery {
		return
	}
	n.sent, n.last = done, time.Now()
	message := fmt.Sprintf("%d of %s", done, words.Plural(total, "item"))
	if failed > 0 {
		message += fmt.Sprintf(", %d failed", failed)
	}
	// In a goroutine of its own, because a write to a client that does not read may
	// take for ever, whatever its context says. A transport is untrusted code.
	sent := make(chan error, 1)
	go func() {
		err := errNotSent
		defer func() { sent <- err }()
		safe.Call(func() { err = n.send(done, total, message) }, nil)
	}()
	timer := time.NewTimer(progressWait)
	defer timer.Stop()
	select {
	case err := <-sent:
		n.off = err != nil
	case <-timer.C:
		n.off = true
	}
}

var errNotSent = errors.New("batch: a notification was not sent")
