package batch

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/apart"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/words"
)

const (
	// progressEvery is the time between two notifications.
	progressEvery = 250 * time.Millisecond

	// progressWait is how long a notification may take, and how long the answer waits for the
	// last one.
	progressWait = time.Second
)

// A notify sends one notification.
type notify func(ctx context.Context, done, total int, message string) error

// notifying returns nil unless the caller of req asked with a progress token.
func notifying(req mcp.Request) notify {
	if safe.Nil(req) || safe.Nil(req.GetParams()) {
		return nil
	}
	params, ok := req.GetParams().(mcp.RequestParams)
	session, _ := req.GetSession().(*mcp.ServerSession)
	if !ok || session == nil || params.GetProgressToken() == nil {
		return nil
	}
	return func(ctx context.Context, done, total int, message string) error {
		return session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: params.GetProgressToken(), Progress: float64(done), Total: float64(total), Message: message,
		})
	}
}

// progress notifies a caller how many items have finished, of how many, and how many failed,
// whenever that number has grown, and once more when end is called. end waits for the last
// notification. progress runs in a goroutine of its own, because a write to a client that
// does not read may take for ever. A notification that fails or takes too long ends it. ctx
// is that of the handler: the SDK finds in it where to send notifications.
func progress(ctx context.Context, send notify, counts func() (done, failed, total int)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	loop := apart.Go(func() (struct{}, error) {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for sent, last := 0, false; !last; {
			select {
			case <-ticker.C:
			case <-over:
				last = true
			}
			done, failed, total := counts()
			if ctx.Err() != nil { // the caller waits no longer
				break
			}
			if done == sent {
				continue
			}
			sent = done
			message := fmt.Sprintf("%d of %s", done, words.Plural(total, "item"))
			if failed > 0 {
				message += fmt.Sprintf(", %d failed", failed)
			}
			one := apart.Go(func() (struct{}, error) { return struct{}{}, send(ctx, done, total, message) })
			if !one.Within(progressWait) {
				break
			}
			if _, err := one.Result(); err != nil {
				break
			}
		}
		return struct{}{}, nil
	})
	return func() {
		defer cancel()
		close(over)
		loop.Within(progressWait)
	}
}
