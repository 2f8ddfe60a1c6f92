package retry

import (
	"hash/maphash"
	"maps"
	"math"
	"slices"
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
	if c != nil && c.over(k.now) {
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
			if oldest == "" || other.used() < k.counts[oldest].used() {
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
		if c.over(k.now) {
			k.drop(name)
		}
	}
}

// count holds the failures of a call, or of a place: then failures are those in a row of a tool that is
// broken. Its times are counted from memory.epoch.
type count struct {
	failures int
	first    time.Duration // when the first of them ended
	same     int           // of them, the last ones that had the same error
	error    uint64        // the hash of that
	passing  int           // of them, the last ones that pass by themselves
	since    time.Duration // when the first of these ended
	cuts     int           // of these, how many ran into a limit of ours
	counted  uint64        // the tick when failures grew
	expires  time.Duration

	last   string        // the words of the error for which calls are refused
	final  bool          // nothing but other arguments helps
	pause  time.Duration // how long the last pause is, zero if calls are not refused
	closed time.Duration // when it ends
	opened time.Duration // the change after which the call was run in it, zero for none

	waits  int           // of a place: how many waits its outage has cost
	turned uint64        // the tick of the last
	due    time.Duration // when that ends

	stragglers []call.Straggler // the handlers of equal calls that were given up, if they may still run

	group uint64 // of its target, for busy
	place string // of its identity, for places
}

// used returns the tick of the last failure that was noted in c. A call that still runs is forgotten last.
func (c *count) used() uint64 {
	if c.running() != 0 {
		return math.MaxUint64
	}
	return max(c.counted, c.turned)
}

// over reports whether c has expired.
func (c *count) over(now time.Duration) bool { return c.expires <= now && c.running() == 0 }

// running returns for how long a call that was given up has been running, zero if none is.
func (c *count) running() time.Duration {
	c.stragglers = slices.DeleteFunc(c.stragglers, func(s call.Straggler) bool { return !s.Running() })
	if len(c.stragglers) == 0 {
		return 0
	}
	return max(time.Since(c.stragglers[0].Began), 1)
}

// failing is one failure, and what follows from it.
type failing struct {
	error  uint64        // the hash of what went wrong
	text   string        // what went wrong
	broken bool          // it shows that the tool or what it needs is broken, and will stay so
	keep   time.Duration // for how long it is remembered
	passes bool          // it passes by itself
	cut    bool          // it ran into a limit of ours
	final  bool          // nothing but other arguments helps

	asked time.Duration // the wait that somebody asked for, zero for none
	wait  func(waits int) time.Duration

	refuseAfter int            // after how many failures with the same error the call is refused; zero means never
	straggler   call.Straggler // see count.stragglers
}

// history is what the counts say after a failure.
type history struct {
	failures int           // of this call
	lasts    time.Duration // since the first of them
	same     int           // of them, the last ones with the same error
	streak   int           // failures in a row of a tool that is broken
	passing  int           // the last ones that pass by themselves
	outage   time.Duration // since the first of these
	cuts     int           // of these, how many ran into a limit of ours
	wait     time.Duration // until the call should be made again

	rest time.Duration // for how long the call is refused from now on
}

// pause says whether a call is refused, for how long, and why.
type pause struct {
	refused  bool
	rest     time.Duration
	failures int
	streak   bool   // of its tool
	last     string // what went wrong
	final    bool   // nothing but other arguments helps

	running time.Duration // for how long the same call has been running, zero if it is not
}

const (
	// firstPause is how long a call is refused at first. Each pause is twice as long as the one before.
	firstPause = 30 * time.Second
	// longestPause is the longest of them.
	longestPause = 2 * time.Minute
)

// next begins the next pause.
func (c *count) next(now time.Duration) {
	c.pause = min(max(2*c.pause, firstPause), longestPause)
	c.closed, c.opened = now+c.pause, 0
	c.expires = max(c.expires, c.closed+longestPause)
}

// closed says whether a call is refused. If not the call is run, perhaps to find out whether it works
// again. last is when its caller made its last change.
func (k *tally) closed(what *identity, last time.Duration) (p pause) {
	if c := k.get(what.call); c != nil {
		if running := c.running(); running != 0 {
			return pause{refused: true, running: running}
		}
	}
	for _, name := range what.names() {
		c := k.get(name)
		switch {
		case c == nil || c.pause == 0:
			continue
		case c.closed <= k.now: // this run finds out whether it works again
			c.next(k.now)
			return pause{}
		case c.opens(last):
			c.opened = last
			return pause{}
		}
		p = pause{refused: true, rest: c.closed - k.now, failures: c.same, last: c.last, final: c.final}
		if name == what.place {
			p.failures, p.streak = c.failures, true
		}
		return p
	}
	return pause{}
}

// failed counts a failure. Calls that ran at the same time count as one, because none of them
// could know of the failure of another.
func (k *tally) failed(what *identity, f *failing) (h history) {
	c := k.add(what.call, what)
	grew := c.grow(k.moment, f)
	switch {
	case c.error != f.error:
		c.error, c.same, c.pause = f.error, 1, 0
	case grew:
		c.same++
	}
	c.pass(grew, k.now, f)
	if f.straggler.Running() {
		c.stragglers = append(c.stragglers, f.straggler)
	}
	h = history{failures: c.failures, lasts: k.now - c.first, same: c.same, passing: c.passing, outage: k.now - c.since, cuts: c.cuts, rest: c.close(c.same, f.refuseAfter, k.now, f)}
	if !f.passes && !f.broken {
		return h
	}
	p := k.add(what.place, what)
	if f.passes {
		p.pause = 0
		h.wait = p.turn(k.moment, f)
	}
	if f.broken && what.streaks {
		p.grow(k.moment, f)
		h.streak, h.rest = p.failures, max(h.rest, p.close(p.failures, 2*streakAfter, k.now, f))
	}
	return h
}

// turn returns how long to wait before the next call of a place whose failure passes by itself. All its
// calls share one schedule: one before its time is told what is left of the wait.
func (c *count) turn(at moment, f *failing) time.Duration {
	c.expires = max(c.expires, at.now+f.keep)
	switch left := c.due - at.now; {
	case f.asked > 0: // other arguments may need another service, so they wait no longer than without a request
		c.due = at.now + min(f.asked, f.wait(math.MaxInt))
		return f.asked
	case left > 0:
		return (left + time.Second - 1).Truncate(time.Second)
	}
	if c.turned == 0 || at.began >= c.turned {
		c.waits, c.turned = c.waits+1, at.tick
	}
	wait := f.wait(c.waits - 1)
	c.due = at.now + wait
	return wait
}

// succeeded drops what is known of a call that succeeded, and of the failures of its tool in a row. The
// outage of its place ends only if the call had failed in it: other arguments may stand for another host.
func (k *tally) succeeded(what *identity) {
	if k.get(what.call) != nil {
		k.drop(what.call)
		k.drop(what.place)
	} else if p := k.get(what.place); p != nil {
		p.failures, p.pause = 0, 0
	}
}

// pass counts a failure that passes by itself, and begins anew after any other. A call that has one is not
// refused, whatever it failed with before. grew is what grow returned.
func (c *count) pass(grew bool, now time.Duration, f *failing) {
	switch {
	case !f.passes:
		c.passing, c.cuts = 0, 0
		return
	case c.passing == 0:
		c.passing, c.since = 1, now
	case grew:
		c.passing++
	}
	if f.cut && (grew || c.cuts == 0) {
		c.cuts++
	}
	c.same, c.pause = 0, 0
}

// grow counts a failure, unless another one was counted since the call began. It reports
// whether it did.
func (c *count) grow(at moment, f *failing) bool {
	c.expires = max(c.expires, at.now+f.keep)
	if c.failures > 0 && at.began < c.counted {
		return false
	}
	if c.failures == 0 {
		c.first = at.now
	}
	c.failures, c.counted = c.failures+1, at.tick
	return true
}

// close begins the first pause after as many failures as a limit says. It returns for how long the call is
// refused from now on.
func (c *count) close(failures, limit int, now time.Duration, f *failing) time.Duration {
	if limit > 0 && failures >= limit {
		if c.last, c.final = f.text, f.final; c.pause == 0 {
			c.next(now)
		}
	}
	if c.pause == 0 {
		return 0
	}
	return max(0, c.closed-now)
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

	seed   maphash.Seed
	epoch  time.Time // makes time.Since read the monotonic clock only
	parts  [16]part
	others others
	ticks  atomic.Uint64 // grows with each look at the counts
	until  atomic.Int64  // until when calls are refused, since the epoch; zero if none are
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
