package task

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

// progress is what a handler said last of how far it is.
type progress struct {
	text string
	at   time.Time
	told bool // the store has it
}

// maxSaid is how many characters of it are kept.
const maxSaid = 200

// Report notes how far the call is that ctx belongs to, in one line such as "30 of 100 rows". The caller
// reads the last one with the handle and from task_result. It does nothing outside of a call that may
// get a handle. It may be called concurrently.
func Report(ctx context.Context, text string) {
	r := runOf(ctx)
	if r == nil {
		return
	}
	text = words.Cut(words.Line(scrub.Credentials(text)), maxSaid)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = progress{text: text, at: time.Now()}
}

// Sending returns a middleware for what a server sends. It [Report]s what handlers tell their clients of
// their progress, with the context of the call:
//
//	server.AddSendingMiddleware(task.Sending())
//
// While a handler waits for an answer of its client, its call gets no handle. Behind a handle, progress
// is kept and not sent, because the client no longer listens.
func Sending() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			r := runOf(ctx)
			if r == nil {
				return next(ctx, method, req)
			}
			switch {
			case method == "notifications/progress" || method == "notifications/message":
				if text := said(req); text != "" {
					Report(ctx, text)
				}
				r.mu.Lock()
				handed := r.handed
				r.mu.Unlock()
				if handed && req.GetSession() == r.req.GetSession() {
					return nil, nil // as for every notification
				}
			case method != call.MethodPing && !strings.HasPrefix(method, "notifications/"):
				r.asks(1)
				defer r.asks(-1)
			}
			return next(ctx, method, req)
		}
	}
}

func (r *run) asks(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking += n
}

// said words a notification of progress, or of the log.
func said(req mcp.Request) string {
	if safe.Nil(req) {
		return ""
	}
	switch p := req.GetParams().(type) {
	case *mcp.ProgressNotificationParams:
		if p == nil {
			return ""
		}
		text := number(p.Progress)
		if p.Total > 0 {
			text += " of " + number(p.Total)
		}
		if p.Message != "" {
			text += ", " + p.Message
		}
		return text
	case *mcp.LoggingMessageParams: //nolint:staticcheck // clients of 2025-11-25 are told
		if p == nil {
			return ""
		}
		if text, ok := p.Data.(string); ok {
			return text
		}
		return safe.Text(func() string { return fmt.Sprint(p.Data) })
	default:
		return ""
	}
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
