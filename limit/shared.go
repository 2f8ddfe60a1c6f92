package limit

import (
	"context"
	"log/slog"
	"math/bits"
	"time"

	"github.com/mcpchain/mcpchain/internal/call"
)

// takeShared takes the tokens of a call from the shared store, the narrowest limit
// first, so that a caller who is refused there takes no tokens of all.
func (l *limiter) takeShared(a *ask, owner string) error {
	for _, scope := range []Scope{PerOwnerAndTool, PerOwner, PerTool, ForAll} {
		for set := a.limits; set != 0; set &= set - 1 {
			r := &l.rules[bits.TrailingZeros8(set)]
			if r.Scope != scope || r.Calls <= 0 {
				continue
			}
			wait, err := l.Shared.Take(a.ctx, sharedKey(r, a, owner), a.cost, r.Burst, r.interval)
			switch {
			case err != nil:
				l.sharedFailed(a.ctx, err)
			case wait > 0:
				return l.refuse(refusal{rule: r, why: noTokens, wait: wait})
			default:
				a.counted |= r.bit
			}
		}
	}
	return nil
}

// sharedFailed says that each server counts for itself, once a minute at most.
func (l *limiter) sharedFailed(ctx context.Context, err error) {
	now, last := l.now(), l.sharing.Load()
	if (last == 0 || now-time.Duration(last) > time.Minute) && l.sharing.CompareAndSwap(last, int64(now)|1) {
		call.Warn(ctx, l.Logger, "the shared store of package limit fails; this server counts for itself", slog.Any("error", err))
	}
}

// sharedKey is the same on every server, short, and does not tell who the owner is.
func sharedKey(r *rule, a *ask, owner string) string {
	method, tool := a.method, a.tool
	if r.Scope == PerTool || r.Scope == ForAll {
		owner = ""
	}
	if r.Scope == PerOwner || r.Scope == ForAll {
		method, tool = "", ""
	}
	return call.StoreName("limit:", r.Name, owner, method, tool)
}
