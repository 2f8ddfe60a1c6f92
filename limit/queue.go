package limit

import (
	"container/list"
	"context"
	"hash/maphash"
	"log/slog"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
)

// A limiter is the middleware. One mutex guards all that is counted, so that a call
// takes of all its buckets or of none. It is held for less than a microsecond.
type limiter struct {
	owner      func(context.Context, mcp.Request) string
	wait       time.Duration
	queue      int
	maxQueue   int
	maxBuckets int
	shared     Taker
	stats      *Stats
	logger     *slog.Logger
	costs      map[string]int
	methods    map[string]uint8 // the limits for a method, a bit for each
	tools      map[string]uint8 // those for a tool besides
	rules      []rule

	places  atomic.Int32 // how often the middleware stands in a chain
	seed    maphash.Seed
	epoch   time.Time
	said    [3]atomic.Bool
	sharing atomic.Int64 // when a failure of the store was logged last, in ns since epoch

	mu     sync.Mutex
	all    []bucket // of the limits for all, by the index of the rule
	table  table
	held   map[*call.Call]hold // where the middleware stands in a chain twice
	flows  map[uint64]*flow    // of the owners of whom calls wait
	turns  list.List           // these flows; the first is served first
	queued int
	pass   uint32
	timer  *time.Timer
}

func (l *limiter) start() {
	l.seed, l.epoch = maphash.MakeSeed(), time.Now()
	l.all = make([]bucket, len(l.rules))
	for i := range l.all {
		l.all[i].rule = &l.rules[i]
	}
	l.table = newTable()
	l.table.init()
	l.held, l.flows = map[*call.Call]hold{}, map[uint64]*flow{}
}

func (l *limiter) now() time.Duration { return time.Since(l.epoch) }

// An ask is one call that wants to run.
type ask struct {
	ctx    context.Context //nolint:containedctx // it lasts no longer than the call
	req    mcp.Request
	call   *call.Call // set if the call may meet the middleware again
	method string
	tool   string
	limits uint8 // that concern it, a bit for each
	owner  uint64
	hold
}

// A hold is what a call takes: its cost, of each of its buckets.
type hold struct {
	buckets [maxLimits]*bucket
	n       uint8
	counted uint8 // the limits of which a shared store has counted the tokens
	runs    bool
	cost    int
}

// flow are the calls of one owner that wait, in the order in which they came.
type flow struct {
	owner   uint64
	waiters list.List
	turn    *list.Element
}

type waiter struct {
	ask
	granted bool
	ready   chan struct{} // closed when granted
	place   *list.Element
}

// admit returns nil when the call may run now, and the refusal else.
func (l *limiter) admit(a *ask) error {
	name, known := l.ownerOf(a)
	if known {
		a.owner = maphash.String(l.seed, name)
	}
	if l.shared != nil {
		if err := l.takeShared(a, name); err != nil {
			return err
		}
	}
	l.mu.Lock()
	now := l.now()
	l.table.sweep(now)
	l.find(a, now)
	if l.queued == 0 && l.fits(a, now) {
		l.grant(a, now)
		l.mu.Unlock()
		return nil
	}
	w, err := l.enqueue(a, now)
	l.mu.Unlock()
	if w == nil {
		return err
	}
	return l.stand(a, w)
}

// find finds the buckets of a call.
func (l *limiter) find(a *ask, now time.Duration) {
	for set := a.limits; set != 0; set &= set - 1 {
		i := bits.TrailingZeros8(set)
		r := &l.rules[i]
		var b *bucket
		if r.scope == ForAll {
			b = &l.all[i]
		} else {
			key := uint64(i+1) * 0x9e3779b97f4a7c15 //nolint:gosec // an index; and the hashes have a secret seed
			if r.scope != PerTool {
				key += a.owner
			}
			if r.scope != PerOwner {
				key += bits.RotateLeft64(maphash.String(l.seed, a.tool)+3*maphash.String(l.seed, a.method), 17)
			}
			b = l.table.get(key, r, l.maxBuckets, now)
		}
		a.buckets[a.n] = b
		a.n++
	}
	l.stats.Buckets.Store(int64(len(l.table.buckets)))
}

func (h *hold) isCounted(b *bucket, l *limiter) bool {
	return h.counted != 0 && h.counted&(1<<l.index(b.rule)) != 0
}

func (l *limiter) index(r *rule) int {
	for i := range l.rules {
		if &l.rules[i] == r {
			return i
		}
	}
	return 0
}

// fits reports whether every bucket has room for a call.
func (l *limiter) fits(a *ask, now time.Duration) bool {
	for _, b := range a.buckets[:a.n] {
		if b.rule.closed || b.holds(now, a.cost, a.isCounted(b, l)) {
			return false
		}
	}
	return true
}

func (l *limiter) grant(a *ask, now time.Duration) {
	for _, b := range a.buckets[:a.n] {
		b.take(now, a.cost, a.isCounted(b, l))
	}
	a.runs = true
	l.stats.Running.Add(1)
	if a.call != nil {
		l.held[a.call] = a.hold
	}
}

// release ends a call.
func (l *limiter) release(a *ask) {
	l.mu.Lock()
	defer l.mu.Unlock()
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
		b.running -= int32(h.cost) //nolint:gosec // as it was added
	}
	h.runs = false
	l.stats.Running.Add(-1)
	if l.queued > 0 {
		l.serve()
	}
}

// admitted reports whether the middleware has let this very call pass already. The
// first item of a list gives back what the call of the list has taken: a list that
// held on to it while its items wait could wait for itself.
func (l *limiter) admitted(c *call.Call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.held[c]; ok {
		return true
	}
	if parent := c.Parent(); parent != nil {
		if list := l.held[parent]; list.runs {
			for _, b := range list.buckets[:list.n] {
				if b.rule.calls > 0 && !list.isCounted(b, l) {
					b.full -= time.Duration(list.cost) * b.rule.interval
				}
			}
			l.free(&list)
			l.held[parent] = list
		}
	}
	return false
}

// enqueue puts a call into the queue. It returns no waiter when the call may run now,
// or is refused.
func (l *limiter) enqueue(a *ask, now time.Duration) (*waiter, error) {
	for _, b := range a.buckets[:a.n] {
		if b.rule.closed {
			return nil, l.refuse(&refusal{rule: b.rule, closed: true})
		}
		if why, ok := impossible(b.rule, a.cost); ok {
			return nil, l.refuse(why)
		}
	}
	if why, hopeless := l.hopeless(a, now); hopeless {
		return nil, l.refuse(why)
	}
	f := l.flows[a.owner]
	if f == nil {
		f = &flow{owner: a.owner}
		f.turn = l.turns.PushBack(f)
		l.flows[a.owner] = f
	}
	w := &waiter{ask: *a, ready: make(chan struct{})}
	w.place = f.waiters.PushBack(w)
	for _, b := range w.buckets[:w.n] {
		b.waiters++
		b.tokens += int32(w.cost) //nolint:gosec // at most MaxQueue times a cost
	}
	l.queued++
	l.stats.Queued.Add(1)
	l.serve()
	if w.granted {
		*a = w.ask
		return nil, nil //nolint:nilnil // there is nothing to wait for
	}
	if l.wait < 0 || l.queued > l.maxQueue || f.waiters.Len() > l.queue {
		l.leave(w)
		why := l.blocking(a, now)
		l.serve() // it may have held up others
		return nil, l.refuse(why)
	}
	return w, nil
}

// hopeless reports why a call need not even be put into the queue: it is full, or the
// call's tokens come too late.
func (l *limiter) hopeless(a *ask, now time.Duration) (*refusal, bool) {
	why := l.blocking(a, now)
	f := l.flows[a.owner]
	full := l.queued >= l.maxQueue || f != nil && f.waiters.Len() >= l.queue
	return why, !why.crowded && (full || why.wait > max(l.wait, 0))
}

// blocking says which limit holds a call up for longest; if none does, it is those
// that wait before it.
func (l *limiter) blocking(a *ask, now time.Duration) *refusal {
	var why refusal
	for _, b := range a.buckets[:a.n] {
		if wait := b.wait(now, a.cost+int(b.tokens)); wait > why.wait && !a.isCounted(b, l) {
			why = refusal{rule: b.rule, wait: wait}
		}
	}
	if why.rule != nil {
		return &why
	}
	for _, b := range a.buckets[:a.n] {
		if r := b.rule; r.running > 0 && int(b.running)+a.cost+int(b.tokens) > r.running {
			return &refusal{rule: r, running: true}
		}
	}
	return &refusal{rule: a.buckets[0].rule, crowded: true}
}

// serve lets calls run that wait, in turns between owners, until nobody can. A bucket
// that holds up a call is kept for it: nobody behind it takes of that bucket in the
// same pass, so that a call of a high cost is not overtaken for ever.
func (l *limiter) serve() {
	now, soonest := l.now(), time.Duration(-1)
	for granted := true; granted && l.queued > 0; {
		l.pass++
		granted, soonest = l.serveOne(now)
	}
	l.wake(soonest)
}

// serveOne lets the first call run that can. If none can, it says when the next token
// comes that one waits for, less than zero if it is not for tokens that they wait.
func (l *limiter) serveOne(now time.Duration) (granted bool, soonest time.Duration) {
	soonest = -1
	for e := l.turns.Front(); e != nil; e = e.Next() {
		f, _ := e.Value.(*flow)
		for p := f.waiters.Front(); p != nil; p = p.Next() {
			w, _ := p.Value.(*waiter)
			wait, held := l.heldUp(w, now)
			if !held {
				l.grant(&w.ask, now)
				w.granted = true
				l.leave(w)
				close(w.ready)
				return true, -1
			}
			if wait > 0 && (soonest < 0 || wait < soonest) {
				soonest = wait
			}
			if l.allHeldUp(w) {
				return false, soonest // nobody behind can run
			}
		}
	}
	return false, soonest
}

// heldUp marks the buckets that hold up a call and returns when the first of its
// tokens could come, zero if that is not known.
func (l *limiter) heldUp(w *waiter, now time.Duration) (wait time.Duration, held bool) {
	for _, b := range w.buckets[:w.n] {
		if b.pass == l.pass {
			held = true
			continue
		}
		if b.holds(now, w.cost, w.isCounted(b, l)) {
			b.pass, held = l.pass, true
			if d := b.wait(now, w.cost); !w.isCounted(b, l) {
				wait = max(wait, d)
			}
		}
	}
	return wait, held
}

// allHeldUp reports whether a bucket that every waiting call needs holds up this one.
func (l *limiter) allHeldUp(w *waiter) bool {
	for _, b := range w.buckets[:w.n] {
		if b.pass == l.pass && int(b.waiters) == l.queued {
			return true
		}
	}
	return false
}

// wake sets the clock for the next token. Less than zero means that none is expected.
func (l *limiter) wake(after time.Duration) {
	switch {
	case after < 0 && l.timer != nil:
		l.timer.Stop()
	case after >= 0 && l.timer == nil:
		l.timer = time.AfterFunc(after, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.serve()
		})
	case after >= 0:
		l.timer.Reset(after)
	}
}

// leave takes a call out of the queue. An owner who was served goes to the end.
func (l *limiter) leave(w *waiter) {
	f := l.flows[w.owner]
	f.waiters.Remove(w.place)
	if f.waiters.Len() == 0 {
		l.turns.Remove(f.turn)
		delete(l.flows, w.owner)
	} else if w.granted {
		l.turns.MoveToBack(f.turn)
	}
	for _, b := range w.buckets[:w.n] {
		b.waiters--
		b.tokens -= int32(w.cost) //nolint:gosec // as it was added
	}
	l.queued--
	l.stats.Queued.Add(-1)
}

// stand waits in the queue.
func (l *limiter) stand(a *ask, w *waiter) error {
	patience := time.NewTimer(l.wait)
	defer patience.Stop()
	var gone error
	select {
	case <-w.ready:
	case <-patience.C:
	case <-a.ctx.Done():
		gone = a.ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.granted {
		*a = w.ask
		if gone != nil {
			if a.call != nil {
				delete(l.held, a.call)
			}
			l.free(&a.hold)
		}
		return gone
	}
	l.leave(w)
	why := l.blocking(a, l.now())
	l.serve() // it may have held up others
	if gone != nil {
		return gone
	}
	return l.refuse(why)
}
