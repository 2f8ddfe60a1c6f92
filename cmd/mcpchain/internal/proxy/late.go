package proxy

import (
	"context"
	"log/slog"
	"time"

	"github.com/mcpchain/mcpchain/internal/call"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A lateCall is a call that was answered, or given up by its client, before the server answered it. What
// the server does of it then is not known, until its answer comes.
type lateCall struct {
	call  string // see sameCall
	level slog.Level
	attrs []slog.Attr // nil if nothing is recorded: the question was internal
	sent  time.Time   // when it was given to the server
	left  time.Time   // when nobody waited any more
}

// maxLate bounds the calls of a run whose late answers are known. A server need not answer a cancelled call.
const maxLate = 1000

// lateOf returns what is to be recorded of a late answer to a call.
func lateOf(ctx context.Context, of *request, sent time.Time) *lateCall {
	c := call.FromContext(ctx)
	if of == nil || c == nil {
		return ours()
	}
	late := &lateCall{call: sameCall(c.Request()), level: slog.LevelWarn, sent: sent, left: time.Now()}
	if givenUp(context.Cause(ctx)) {
		late.level = slog.LevelInfo // the client did not want to know it
	}
	late.attrs = append(late.attrs, slog.String("method", of.Method))
	if key := call.TargetKey(of.Method); key != "" {
		late.attrs = append(late.attrs, slog.String(key, call.Name(c.Request())))
	}
	late.attrs = append(late.attrs, slog.String("reference", c.ID()))
	return late
}

// ours is for an internal question that nobody waits for.
func ours() *lateCall { return &lateCall{level: slog.LevelDebug, left: time.Now()} }

// remember keeps a late call. If there are too many, it replaces the oldest. The caller holds the lock.
func (u *upstream) remember(key string, late *lateCall) {
	if len(u.late) >= maxLate {
		oldest := ""
		for key, other := range u.late {
			if oldest == "" || other.left.Before(u.late[oldest].left) {
				oldest = key
			}
		}
		delete(u.late, oldest)
	}
	u.late[key] = late
}

// cameLate records the answer to a late call, under the reference that its caller has. It reports whether there was
// such a call.
func (u *upstream) cameLate(id rpc.ID, r reply) bool {
	u.mu.Lock()
	late := u.late[id.Key()]
	delete(u.late, id.Key())
	u.mu.Unlock()
	if late == nil || late.attrs == nil {
		return late != nil
	}
	outcome := "ok"
	switch {
	case r.wire != nil:
		outcome = "protocol_error"
	case r.err != nil:
		outcome = "server_error"
	case r.m != nil && r.m.IsError():
		outcome = "tool_error"
	}
	attrs := append(late.attrs, slog.String("outcome", outcome), slog.Bool("success", outcome == "ok"), //nolint:gocritic // they are this record's alone
		slog.Float64("duration_ms", milliseconds(time.Since(late.sent))), slog.Float64("late_ms", milliseconds(time.Since(late.left))))
	u.proxy.Logger.LogAttrs(context.Background(), late.level, "the server answered too late: nobody waits for it", attrs...)
	return true
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
