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

// A tally holds the counts of calls and tools that failed, by their names. In this process it has
// those of many callers; in a store, where it stands as JSON, those of one caller and target.
type tally struct {
	Ticks  uint64            `json:"t"` // how many failures were counted; in a store only
	Counts map[string]*count `json:"c"`

	moment

	most   int            // counts
	busy   *busy          // nil in a store
	places map[string]int // how many counts each has; nil in a store, where there is only one
}

// A moment is the time of one look at the counts. Ticks order events: a tick is greater than
// those of all failures that were counted before.
type moment struct {
	now   time.Duration
	began uint64 // the tick at which the call began
	tick  uint64 // the tick of a failure that is counted now
}

const (
	// maxCalls is how many counts a store has of one caller and target.
	maxCalls = 64

	// looked is how many counts are looked at to find one that makes room for another.
	looked = 8
)

// get returns the count of a name, and nil if there is none.
func (k *tally) get(name string) *count {
	c := k.Counts[name]
	if c != nil && c.Expires <= k.now {
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
	if len(k.Counts) >= k.most {
		oldest, n := "", 0
		for name, other := range k.Counts {
			if oldest == "" || other.Counted < k.Counts[oldest].Counted {
				oldest = name
			}
			if n++; n == looked {
				break
			}
		}
		k.drop(oldest)
	}
	if k.Counts == nil {
		k.Counts = map[string]*count{}
	}
	c = &count{group: what.group, place: what.place}
	k.Counts[name] = c
	k.noted(c, 1)
	return c
}

func (k *tally) drop(name string) {
	if c := k.Counts[name]; c != nil {
		delete(k.Counts, name)
		k.noted(c, -1)
	}
}

// noted adds n to how many counts the group and the place of c have.
func (k *tally) noted(c *count, n int32) {
	k.busy.add(c.group, n)
	if k.places == nil {
		return
	}
	if k.places[c.place] += int(n); k.places[c.place] == 0 {
		delete(k.places, c.place)
	}
}

// dropOld drops the counts that have expired, and returns when the last of the others expires.
func (k *tally) dropOld() (last time.Duration) {
	for name, c := range k.Counts {
		if c.Expires <= k.now {
			k.drop(name)
		} else {
			last = max(last, c.Expires)
		}
	}
	return last
}

// count holds the failures of a call or a tool. Its times are counted from memory.epoch, or from
// 1970 in a store, where it stands as JSON.
type count struct {
	Failures int           `json:"n"`
	Same     int           `json:"s,omitempty"` // of them, the last ones that had the same error
	Error    uint64        `json:"e,omitempty"` // the hash of that
	Last     string        `json:"l,omitempty"` // the words of that error, once calls are refused
	Counted  uint64        `json:"t"`           // the tick when Failures grew
	Expires  time.Duration `json:"x"`
	Closed   time.Duration `json:"c,omitempty"` // until then the handler is run only as a probe
	Probed   time.Duration `json:"p,omitempty"` // when it was run last
	Trials   int           `json:"r,omitempty"` // how often it was run after a change, in this pause
	Opened   time.Duration `json:"o,omitempty"` // the change after which it was run last

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

// closed returns for how long a call is refused. If that is zero the call is run; probe says that
// it is run to find out whether it works again. last is when its caller made its last change.
func (k *tally) closed(what *identity, last time.Duration) (p pause, probe bool) {
	for _, name := range what.names() {
		c := k.get(name)
		switch {
		case c == nil || c.Closed <= k.now:
			continue
		case k.now-c.Probed >= probeEvery:
			c.Probed = k.now
			return pause{}, true
		case c.opens(last):
			c.Probed, c.Opened = k.now, last
			c.Trials++
			return pause{}, true
		}
		p = pause{rest: c.Closed - k.now, failures: c.Same, last: c.Last, trials: maxTrials - c.Trials}
		if name == what.tool {
			p.failures, p.streak = c.Failures, true
		}
		return p, false
	}
	return pause{}, false
}

// failed counts a failure. Calls that ran at the same time count as one, because none of them
// could know of the failure of another.
func (k *tally) failed(what *identity, f failing) (h history) {
	c := k.add(what.call, what)
	again := c.grow(k.moment, f)
	switch {
	case c.Error != f.error:
		c.Error, c.Same = f.error, 1
	case again:
		c.Same++
	}
	c.close(c.Same, f.refuseAfter, k.moment, f)
	h.failures, h.same, h.closed = c.Failures, c.Same, c.Closed > k.now
	if f.broken && what.tool != "" {
		c := k.add(what.tool, what)
		c.grow(k.moment, f)
		c.close(c.Failures, 2*streakAfter, k.moment, f)
		h.streak, h.closed = c.Failures, h.closed || c.Closed > k.now
	}
	return h
}

// forget drops what is known of a call that succeeded, and of the failures of its tool in a row. It
// reports whether there was something.
func (k *tally) forget(what *identity) bool {
	before := len(k.Counts)
	k.drop(what.call)
	k.drop(what.tool)
	return len(k.Counts) < before
}

// grow counts a failure, unless another one was counted since the call began. It reports
// whether it did.
func (c *count) grow(at moment, f failing) bool {
	c.Expires = max(c.Expires, at.now+f.keep)
	if c.Failures > 0 && at.began < c.Counted {
		return false
	}
	c.Failures, c.Counted = c.Failures+1, at.tick
	return true
}

func (c *count) close(failures, limit int, at moment, f failing) {
	if limit > 0 && failures >= limit {
		if c.Closed <= at.now { // a new pause
			c.Trials = 0
		}
		c.Closed, c.Probed, c.Last = at.now+refuseFor, at.now, f.text
		c.Expires = max(c.Expires, c.Closed+time.Second)
	}
}

// busy says how many counts there are for tools, prompts and resources, in groups by the hashes
// of their names. Most calls are in a group without counts, and need no look at the rest.
type busy struct {
	groups [256]atomic.Int32
	total  atomic.Int32
}

func (b *busy) add(group uint64, n int32) {
	if b != nil {
		b.groups[group].Add(n)
		b.total.Add(n)
	}
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
func (m *memory) update(what *identity, f func(k *tally) (changed bool)) {
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
