package retry

import (
	"hash/maphash"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
)

// A tally holds the counts of calls and tools that failed, by their names, of many callers.
type tally struct {
	counts map[string]*count

	moment

	most   int // counts
	busy   *busy
	places map[string]int // how many counts each has
}

// A moment is the time of one look at the counts. Ticks order events: a tick is greater than
// those of all failures that were counted before.
type moment struct {
	now   time.Duration
	began uint64 // the tick at which the call began
	tick  uint64 // the tick of a failure that is counted now
}

// looked is how many counts are looked at to find one that makes room for another.
const looked = 8

// get returns the count of a name, and nil if there is none.
func (k *tally) get(name string) *count {
	c := k.counts[name]
	if c != nil && c.expires <= k.now {
		k.drop(name)
		return nil
	}
	return c
}

// add returns the count of a name, which may be a new one. If there is no room, it drops one of a
// few counts: the one whose last failure is oldest, because a caller with long waits must not
// outlive the others.
func (k *tally) add(name string, what *identity) *count {
	c := k.get(name)
	if c != nil {
		return c
	}
	if len(k.counts) >= k.most {
		oldest, n := "", 0
		for name, other := range k.counts {
			if oldest == "" || other.counted < k.counts[oldest].counted {
				oldest = name
			}
			if n++; n == looked {
				break
			}
		}
		k.drop(oldest)
	}
	if k.counts == nil {
		k.counts = map[string]*count{}
	}
	c = &count{group: what.group, place: what.place}
	k.counts[name] = c
	k.noted(c, 1)
	return c
}

func (k *tally) drop(name string) {
	if c := k.counts[name]; c != nil {
		delete(k.counts, name)
		k.noted(c, -1)
	}
}

// noted adds n to how many counts the group and the place of c have.
func (k *tally) noted(c *count, n int32) {
	k.busy.add(c.group, n)
	if k.places[c.place] += int(n); k.places[c.place] == 0 {
		delete(k.places, c.place)
	}
}

// dropOld drops the counts that have expired.
func (k *tally) dropOld() {
	for name, c := range k.counts {
		if c.expires <= k.now {
			k.drop(name)
		}
	}
}

// count holds the failures of a call or a tool. Its times are counted from memory.epoch.
type count struct {
	failures int
	same     int    // of them, the last ones that had the same error
	error    uint64 // the hash of that
	last     string // the words of that error, once calls are refused
	counted  uint64 // the tick when failures grew
	expires  time.Duration
	closed   time.Duration // until then the handler is run only as a probe
	probed   time.Duration // when it was run last
	trials   int           // how often it was run after a change, in this pause
	opened   time.Duration // the change after which it was run last

	group uint64 // of its target, for busy
	place string // of its identity, for places
}

// failing is one failure, and what follows from it.
type failing struct {
	error  uint64        // the hash of what went wrong
	text   string        // what went wrong
	broken bool          // it shows that the tool or what it needs is broken
	keep   time.Duration // for how long it is remembered

	refuseAfter int // after how many failures with the same error the call is refused; zero means never
}

// history is what the counts say after a failure.
type history struct {
	failures int // of this call
	same     int // of them, the last ones with the same error
	streak   int // failures in a row of a tool that is broken

	closed bool // from now on the call is refused
}

// pause is for how long a call is refused, and why.
type pause struct {
	rest     time.Duration // zero when it is run
	failures int
	streak   bool   // of its tool
	last     string // what went wrong
	trials   int    // how many are left
}

const (
	// refuseFor is how long a call is refused.
	refuseFor = 30 * time.Second
	// probeEvery is the time between two runs of a call that is refused, which find out whether
	// it works again.
	probeEvery = 2 * time.Second
	// maxTrials is how often a call that is refused is run in one pause because its caller has
	// changed something meanwhile.
	maxTrials = 3
)

// closed returns for how long a call is refused. If that is zero the call is run, perhaps to find
// out whether it works again. last is when its caller made its last change.
func (k *tally) closed(what *identity, last time.Duration) (p pause) {
	for _, name := range what.names() {
		c := k.get(name)
		switch {
		case c == nil || c.closed <= k.now:
			continue
		case k.now-c.probed >= probeEvery:
			c.probed = k.now
			return pause{}
		case c.opens(last):
			c.probed, c.opened = k.now, last
			c.trials++
			return pause{}
		}
		p = pause{rest: c.closed - k.now, failures: c.same, last: c.last, trials: maxTrials - c.trials}
		if name == what.tool {
			p.failures, p.streak = c.failures, true
		}
		return p
	}
	return pause{}
}

// failed counts a failure. Calls that ran at the same time count as one, because none of them
// could know of the failure of another.
func (k *tally) failed(what *identity, f failing) (h history) {
	c := k.add(what.call, what)
	again := c.grow(k.moment, f)
	switch {
	case c.error != f.error:
		c.error, c.same = f.error, 1
	case again:
		c.same++
	}
	c.close(c.same, f.refuseAfter, k.moment, f)
	h.failures, h.same, h.closed = c.failures, c.same, c.closed > k.now
	if f.broken && what.tool != "" {
		c := k.add(what.tool, what)
		c.grow(k.moment, f)
		c.close(c.failures, 2*streakAfter, k.moment, f)
		h.streak, h.closed = c.failures, h.closed || c.closed > k.now
	}
	return h
}

// forget drops what is known of a call that succeeded, and of the failures of its tool in a row.
func (k *tally) forget(what *identity) {
	k.drop(what.call)
	k.drop(what.tool)
}

// grow counts a failure, unless another one was counted since the call began. It reports
// whether it did.
func (c *count) grow(at moment, f failing) bool {
	c.expires = max(c.expires, at.now+f.keep)
	if c.failures > 0 && at.began < c.counted {
		return false
	}
	c.failures, c.counted = c.failures+1, at.tick
	return true
}

func (c *count) close(failures, limit int, at moment, f failing) {
	if limit > 0 && failures >= limit {
		if c.closed <= at.now { // a new pause
			c.trials = 0
		}
		c.closed, c.probed, c.last = at.now+refuseFor, at.now, f.text
		c.expires = max(c.expires, c.closed+time.Second)
	}
}

// busy says how many counts there are for tools, prompts and resources, in groups by the hashes
// of their names. Most calls are in a group without counts, and need no look at the rest.
type busy struct {
	groups [256]atomic.Int32
	total  atomic.Int32
}

func (b *busy) add(group uint64, n int32) {
	b.groups[group].Add(n)
	b.total.Add(n)
}

// memory holds the counts of this process, at most a fixed number. Those of one owner are all in
// one part of it, so that an owner with a great many failing calls pushes out the counts of few
// others.
type memory struct {
	busy

	seed  maphash.Seed
	epoch time.Time // makes time.Since read the monotonic clock only
	parts [16]part
	ticks atomic.Uint64 // grows with each look at the counts
	until atomic.Int64  // until when calls are refused, since the epoch; zero if none are
}

const (
	// remembered is how many counts a part has: 16384 in all, which take about 10 MB.
	remembered = 1024

	// sweepEvery is the time between two looks for expired counts in a part.
	sweepEvery = time.Minute
)

type part struct {
	mu     sync.Mutex
	counts tally
	sweep  time.Duration // when expired counts are looked for again

	refused map[string]*refused // by owner
}

func newMemory(limit int) *memory {
	m := &memory{seed: maphash.MakeSeed(), epoch: time.Now()}
	for i := range m.parts {
		m.parts[i].counts = tally{most: limit, busy: &m.busy, places: map[string]int{}}
	}
	return m
}

// busyWith reports whether anything may be known of a call. A call that does not fail pays no
// more than this, which is one load while nothing fails.
func (m *memory) busyWith(req mcp.Request) bool {
	return m.total.Load() > 0 && m.groups[m.group(call.Target(req))].Load() > 0
}

// knows reports whether anything is known of the calls of an owner and a target. Only then are
// the arguments of a further call worth reading.
func (m *memory) knows(what *identity) bool {
	p := m.part(what.owner)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts.places[what.place] > 0
}

func (m *memory) part(owner string) *part {
	return &m.parts[maphash.String(m.seed, owner)%uint64(len(m.parts))]
}

func (m *memory) group(target string) uint64 {
	return maphash.String(m.seed, target) % uint64(len(m.groups))
}

// update passes f the counts of the part of an owner, which f may change.
func (m *memory) update(what *identity, f func(k *tally)) {
	p := m.part(what.owner)
	p.mu.Lock()
	defer p.mu.Unlock()
	k := &p.counts
	if k.moment = (moment{time.Since(m.epoch), what.began, m.ticks.Add(1)}); k.now >= p.sweep {
		k.dropOld()
		maps.DeleteFunc(p.refused, func(_ string, r *refused) bool { return r.until <= k.now })
		p.sweep = k.now + sweepEvery
	}
	f(k)
}
