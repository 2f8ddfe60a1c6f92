package limit

import (
	"context"
	"hash/maphash"
	"log/slog"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/owner"
)

// A limiter is the middleware. One mutex guards all counts, so that a call takes tokens
// from all its buckets or from none.
type limiter struct {
	Options

	owners  owner.Finder
	methods map[string]uint8 // the limits for a method, a bit for each
	tools   map[string]uint8 // the further limits for a tool
	rules   []rule

	places atomic.Int32 // how often the middleware stands in a chain
	seed   maphash.Seed
	epoch  time.Time
	rated  uint8  // the limits of rates, a bit for each
	remote *guard // guards the calls of the shared store

	mu     sync.Mutex
	table  table
	held   map[*call.Call]hold // used if the middleware stands in a chain twice
	turns  []*flow             // of the owners whose calls wait; the first is served first
	queued int
	timer  *time.Timer
}

func (l *limiter) now() time.Duration { return time.Since(l.epoch) }

// A candidate is one call that wants to run.
type candidate struct {
	ctx    context.Context //nolint:containedctx // it lasts no longer than the call
	req    mcp.Request
	call   *call.Call // set if the call may meet the middleware again
	method string
	tool   string
	limits uint8 // that concern it, a bit for each
	owner  uint64
	waited time.Duration // for its turn, so far
	hold
}

// A hold is the buckets that a call takes from.
type hold struct {
	buckets [maxLimits]*bucket
	n       uint8
	counted uint8 // the limits whose tokens a shared store has counted
	runs    bool
	idle    bool // the call takes no place among those that run
}

// crowded reports whether too many run for the call, with n calls that wait before it.
func (h *hold) crowded(b *bucket, n int) bool { return !h.idle && b.crowded(1+n) }

// missing returns how long a call has to wait until its bucket has n tokens: zero if a
// shared store has counted them.
func (h *hold) missing(b *bucket, now time.Duration, n int) time.Duration {
	if h.counted&b.rule.bit != 0 {
		return 0
	}
	return b.wait(now, n)
}

// heldUp reports whether a bucket holds up a call, and how long it takes until the last missing
// token is there.
func (h *hold) heldUp(now time.Duration) (wait time.Duration, held bool) {
	for _, b := range h.buckets[:h.n] {
		missing := h.missing(b, now, 1)
		held = held || missing > 0 || h.crowded(b, 0) || b.rule.Calls < 0
		wait = max(wait, missing)
	}
	return wait, held
}

// flow has the calls of one owner that wait, in the order in which they came.
type flow struct {
	owner   uint64
	waiters []*waiter
}

type waiter struct {
	candidate
	flow    *flow
	granted bool
	ready   chan struct{} // closed when granted
}

// admit returns nil if the call may run now, and otherwise its refusal. The shared store
// is called after the call has got its place here, so that no tokens are taken for a
// call that is refused or goes away while it waits.
func (l *limiter) admit(a *candidate) error {
	name := l.owners.Principal(a.ctx, a.req)
	if name == "" {
		l.owners.Unknown(a.ctx, slog.LevelInfo, "a caller has no identity; all such callers share one set of limits; authenticate them")
	} else {
		a.owner = maphash.String(l.seed, name)
	}
	a.counted = l.rates(a)
	if err := l.enter(a); err != nil || a.counted == 0 {
		return err
	}
	short, ok := l.takeShared(a, name)
	switch {
	case ok && short.wait <= 0:
		return nil
	case ok:
		why := refusal{rule: short.rule, whose: whoseCalls(a, short.rule), why: noTokens, wait: short.wait}
		l.release(a)
		return refuse(a.ctx, why)
	}
	l.release(a)
	a.hold = hold{idle: a.idle} // this server counts for itself
	return l.enter(a)
}

// enter is admit without the shared store.
func (l *limiter) enter(a *candidate) error {
	l.mu.Lock()
	w, err := l.line(a, l.now())
	l.mu.Unlock()
	if w == nil {
		return err
	}
	began := time.Now()
	defer func() { a.waited += time.Since(began) }()
	return l.stand(w)
}

// line lets a call run if it can, and else puts it into the queue, or refuses it.
func (l *limiter) line(a *candidate, now time.Duration) (*waiter, error) {
	l.table.sweep(now)
	l.findBuckets(a)
	if _, held := a.heldUp(now); !held && l.queued == 0 {
		l.grant(a, now)
		return nil, nil //nolint:nilnil // there is nothing to wait for
	}
	return l.enqueue(a, now)
}

// findBuckets sets a.buckets to one bucket for each limit in the set a.limits.
func (l *limiter) findBuckets(a *candidate) {
	a.n = 0
	for set := a.limits; set != 0; set &= set - 1 {
		a.buckets[a.n] = l.bucket(a, bits.TrailingZeros8(set))
		a.n++
	}
}

// bucket returns the bucket of a call for the limit of an index.
func (l *limiter) bucket(a *candidate, i int) *bucket {
	r := &l.rules[i]
	if r.Scope == ForAll {
		return &r.common
	}
	key := uint64(i+1) * 0x9e3779b97f4a7c15 //nolint:gosec // an index; and the hashes have a secret seed
	if r.Scope != PerTool {
		key += a.owner
	}
	named := r.Scope != PerOwner
	if named {
		key += bits.RotateLeft64(maphash.String(l.seed, a.tool)+3*maphash.String(l.seed, a.method), 17)
	}
	return l.table.get(key, r, a.owner, named)
}

// settle forgets those buckets of a call that are no longer in force.
func (l *limiter) settle(h *hold) {
	now := l.now()
	for _, b := range h.buckets[:h.n] {
		l.table.settle(b, now)
	}
}

func (l *limiter) grant(a *candidate, now time.Duration) {
	for _, b := range a.buckets[:a.n] {
		b.take(now, a.counted&b.rule.bit != 0)
	}
	a.runs = true
	if a.call != nil {
		l.held[a.call] = a.hold
	}
}

// release ends a call.
func (l *limiter) release(a *candidate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end(a)
}

// end is release for callers that hold the mutex.
func (l *limiter) end(a *candidate) {
	if a.call != nil {
		held := l.held[a.call]
		delete(l.held, a.call)
		if !held.runs { // its items ran in its place
			return
		}
	}
	l.free(&a.hold)
}

func (l *limiter) free(h *hold) {
	for _, b := range h.buckets[:h.n] {
		b.running--
	}
	h.runs = false
	l.settle(h)
	if l.queued > 0 {
		l.serve()
	}
}

// admitted reports whether the middleware has let this very call pass already. At the first item of a
// list, the call of the list gives back its tokens and places. Otherwise its items could wait for those
// of the list itself.
func (l *limiter) admitted(c *call.Call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.held[c]; ok {
		return true
	}
	if parent := c.Parent(); parent != nil {
		if list := l.held[parent]; list.runs {
			for _, b := range list.buckets[:list.n] {
				if b.rule.Calls > 0 && list.counted&b.rule.bit == 0 {
					b.full -= b.rule.interval
				}
			}
			l.free(&list)
			l.held[parent] = list
		}
	}
	return false
}

// enqueue puts a call into the queue. It returns no waiter if the call may run now or is refused: it
// never fits, its tokens come too late, or the queue is full. The call enters the queue before that is
// decided, because the calls before it may wait for other buckets.
func (l *limiter) enqueue(a *candidate, now time.Duration) (*waiter, error) {
	why := blocking(a, now)
	late := why.wait > l.Wait-a.waited // also if no call is to wait
	if why.why == never || late && l.queued == 0 {
		l.settle(&a.hold)
		return nil, refuse(a.ctx, why)
	}
	var f *flow
	if i := slices.IndexFunc(l.turns, func(f *flow) bool { return f.owner == a.owner }); i >= 0 {
		f = l.turns[i]
	} else {
		f = &flow{owner: a.owner}
		l.turns = append(l.turns, f)
	}
	w := &waiter{candidate: *a, flow: f, ready: make(chan struct{})}
	f.waiters = append(f.waiters, w)
	l.queue(w, 1)
	l.serve()
	switch {
	case w.granted:
		return nil, nil //nolint:nilnil // there is nothing to wait for
	case late || l.queued > maxQueue || len(f.waiters) > maxOwn:
		return nil, l.giveUp(w)
	}
	return w, nil
}

// queue counts a call that waits, or no longer does.
func (l *limiter) queue(w *waiter, by int) {
	for _, b := range w.buckets[:w.n] {
		b.waiters += by
	}
	l.queued += by
}

// leave takes a call out of the queue. An owner who was served goes to the end.
func (l *limiter) leave(w *waiter) {
	f := w.flow
	f.waiters = slices.DeleteFunc(f.waiters, func(other *waiter) bool { return other == w })
	if len(f.waiters) == 0 || w.granted {
		l.turns = slices.DeleteFunc(l.turns, func(other *flow) bool { return other == f })
		if len(f.waiters) > 0 {
			l.turns = append(l.turns, f)
		}
	}
	l.queue(w, -1)
}

// giveUp refuses a call that waits.
func (l *limiter) giveUp(w *waiter) error {
	now := l.now()
	l.leave(w)
	why := blocking(&w.candidate, now)
	l.settle(&w.hold)
	l.serve() // it may have held up others
	return refuse(w.ctx, why)
}

// blocking returns the limit that holds a call up for longest. If none does, the call waits for the
// calls before it.
func blocking(a *candidate, now time.Duration) refusal {
	by, why, longest := a.buckets[0], others, time.Duration(0)
	for _, b := range a.buckets[:a.n] {
		wait := a.missing(b, now, 1+b.waiters)
		switch {
		case b.rule.Calls < 0:
			return newRefusal(a, b, never, 0)
		case wait > longest:
			by, why, longest = b, noTokens, wait
		case why == others && a.crowded(b, b.waiters):
			by, why = b, tooMany
		}
	}
	return newRefusal(a, by, why, longest)
}

// serve lets waiting calls run, in turns between owners, until none can.
func (l *limiter) serve() {
	now, soonest := l.now(), time.Duration(0)
	for l.queued > 0 {
		var w *waiter
		if w, soonest = l.next(now); w == nil {
			break
		}
		l.grant(&w.candidate, now)
		w.granted = true
		l.leave(w)
		close(w.ready)
	}
	switch {
	case soonest > 0 && l.timer != nil:
		l.timer.Reset(soonest)
	case soonest > 0:
		l.timer = time.AfterFunc(soonest, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.serve()
		})
	case l.timer != nil:
		l.timer.Stop()
	}
}

// next returns the first call that can run. If none can, it returns the time until the
// next call has its tokens, zero if no call waits for tokens.
func (l *limiter) next(now time.Duration) (first *waiter, soonest time.Duration) {
	for _, f := range l.turns {
		for _, w := range f.waiters {
			wait, held := w.heldUp(now)
			if !held {
				return w, 0
			}
			if wait > 0 && (soonest == 0 || wait < soonest) {
				soonest = wait
			}
		}
	}
	return nil, soonest
}

// stand waits in the queue.
func (l *limiter) stand(w *waiter) error {
	patience := time.NewTimer(l.Wait - w.waited)
	defer patience.Stop()
	var gone error
	select {
	case <-w.ready:
	case <-patience.C:
	case <-w.ctx.Done():
		gone = w.ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case w.granted && gone == nil:
		return nil
	case w.granted:
		l.end(&w.candidate)
	case gone == nil:
		return l.giveUp(w)
	default:
		l.leave(w)
		l.settle(&w.hold)
		l.serve()
	}
	return gone
}
