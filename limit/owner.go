package limit

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"math/bits"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
)

// What is said once.
const (
	saidAnonymous = iota
	saidPanic
	saidExit
)

// ownerOf says who makes a call, and false when nobody knows.
func (l *limiter) ownerOf(a *ask) (name string, known bool) {
	if l.owner != nil {
		name = l.ask(a.ctx, a.req)
	} else if extra := extraOf(a.req); extra != nil && extra.TokenInfo != nil {
		name = extra.TokenInfo.UserID
	}
	if name == "" {
		l.sayOnce(a.ctx, saidAnonymous, slog.LevelInfo, "limit: a caller has no identity; all such callers share one set of limits; authenticate them or set Options.Owner")
		return "", false
	}
	return name, true
}

func extraOf(req mcp.Request) *mcp.RequestExtra {
	if req == nil {
		return nil
	}
	return req.GetExtra()
}

// ask asks the user's own function, which must not fail the call. Nothing is held
// while it runs: one that ends its goroutine loses its call, as a handler that does
// so would, and nothing else.
func (l *limiter) ask(ctx context.Context, req mcp.Request) (name string) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			name = ""
			l.sayOnce(ctx, saidPanic, slog.LevelError, "limit: Options.Owner panicked; the caller has no identity", slog.String("panic", safe.Value(p)))
			return
		}
		l.sayOnce(ctx, saidExit, slog.LevelError, "limit: Options.Owner ended its goroutine; the call cannot be answered")
	}()
	name = l.owner(ctx, req)
	returned = true
	return name
}

func (l *limiter) sayOnce(ctx context.Context, what int, level slog.Level, message string, attrs ...slog.Attr) {
	if !l.said[what].Load() && l.said[what].CompareAndSwap(false, true) {
		l.say(ctx, level, message, attrs...)
	}
}

// say writes into the log, which must not fail the call.
func (l *limiter) say(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	defer func() { _ = recover() }()
	logger := l.logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.LogAttrs(ctx, level, message, attrs...) //nolint:sloglint // a constant of this package
}

// takeShared takes the tokens of a call from the shared store, the narrowest limit
// first, so that who is refused there takes nothing of what is for all.
func (l *limiter) takeShared(a *ask, owner string) error {
	for _, scope := range []Scope{PerOwnerAndTool, PerOwner, PerTool, ForAll} {
		for set := a.limits; set != 0; set &= set - 1 {
			i := bits.TrailingZeros8(set)
			r := &l.rules[i]
			if r.scope != scope || r.calls <= 0 || a.cost > r.burst {
				continue
			}
			wait, err := l.shared.Take(a.ctx, sharedKey(r, a, owner), a.cost, r.burst, r.interval)
			switch {
			case err != nil:
				l.sharedFailed(a.ctx, err)
			case wait > 0:
				return l.refuse(&refusal{rule: r, wait: wait})
			default:
				a.counted |= 1 << i
			}
		}
	}
	return nil
}

// sharedFailed says that each server counts for itself, once a minute at most.
func (l *limiter) sharedFailed(ctx context.Context, err error) {
	now, last := l.now(), l.sharing.Load()
	if (last == 0 || now-time.Duration(last) > time.Minute) && l.sharing.CompareAndSwap(last, int64(now)|1) {
		l.say(ctx, slog.LevelWarn, "limit: the shared store fails; this server counts for itself", slog.String("error", safe.Error(err)))
	}
}

// sharedKey is the same on every server, short, and does not tell who the owner is.
func sharedKey(r *rule, a *ask, owner string) string {
	if r.scope == PerTool || r.scope == ForAll {
		owner = ""
	}
	method, tool := a.method, a.tool
	if r.scope == PerOwner || r.scope == ForAll {
		method, tool = "", ""
	}
	sum := sha256.Sum256([]byte(r.name + "\x00" + owner + "\x00" + method + "\x00" + tool))
	return "limit:" + base64.RawURLEncoding.EncodeToString(sum[:])
}
