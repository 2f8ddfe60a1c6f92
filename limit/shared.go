package limit

import (
	"context"
	"math/bits"
	"time"

	"github.com/mcpchain/mcpchain/internal/stored"
	"github.com/mcpchain/mcpchain/store"
)

// rates returns the limits of a call whose tokens the shared store counts now.
func (l *limiter) rates(a *candidate) (set uint8) {
	if l.Shared == nil || l.remote.rests() {
		return 0
	}
	return a.limits & l.rated
}

// A shortage is the answer of a shared store for a call that has to wait.
type shortage struct {
	wait time.Duration
	rule *rule
}

// takeShared takes all tokens of a call from the shared store, or none, in one request. The call has
// its place on this server already. ok reports whether the store answered.
func (l *limiter) takeShared(a *candidate, owner string) (short shortage, ok bool) {
	var want []store.Tokens
	var rules []*rule
	for set := a.counted; set != 0; set &= set - 1 {
		r := &l.rules[bits.TrailingZeros8(set)]
		rules = append(rules, r)
		want = append(want, store.Tokens{Key: sharedKey(r, a, owner), N: 1, Burst: r.Burst, Interval: r.interval})
	}
	return ask(a.ctx, l.remote, func(ctx context.Context) (shortage, error) {
		wait, of, err := l.Shared.Take(ctx, want...)
		if err != nil || wait <= 0 {
			return shortage{}, err
		}
		return shortage{wait, rules[of]}, nil // with a wrong index the store has failed
	})
}

// sharedKey returns a key that is short, the same on every server, and does not reveal
// the owner.
func sharedKey(r *rule, a *candidate, owner string) string {
	method, tool := a.method, a.tool
	if r.Scope == PerTool || r.Scope == ForAll {
		owner = ""
	}
	if r.Scope == PerOwner || r.Scope == ForAll {
		method, tool = "", ""
	}
	return stored.Name("limit:", r.Name, owner, method, tool)
}
