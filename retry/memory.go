package retry

import (
	"container/list"
	"hash/maphash"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
)

// known is what is known of an owner's calls of one target, and of the target. In a store it
// stands as JSON.
type known struct {
	Ticks  uint64            `json:"t"` // how many failures were counted; in a store only
	Counts map[string]*count `json:"c"` // by name
}

// maxCalls is how many counts there are of one owner and target.
const maxCalls = 64

// add returns the count of a name, which may be a new one. The one that expires first makes room.
func (k *known) add(name string) *count {
	c := k.Counts[name]
	if c == nil {
		if len(k.Counts) >= maxCalls {
			oldest := ""
			for name, other := range k.Counts {
				if oldest == "" || other.Expires < k.Counts[oldest].Expires {
					oldest = name
				}
			}
			delete(k.Counts, oldest)
		}
		if k.Counts == nil {
			k.Counts = map[string]*count{}
		}
		c = &count{}
		k.Counts[name] = c
	}
	return c
}

// clean forgets what is old.
func (k *known) clean(now time.Duration) {
	maps.DeleteFunc(k.Counts, func(_ string, c *count) bool { return c == nil || c.Expires <= now })
}

// expires returns when nothing is left.
func (k *known) expires() (last time.Duration) {
	for _, c := range k.Counts {
		last = max(last, c.Expires)
	}
	return last
}

// count is what is known of a call or a tool. Points in time are counted from the
// epoch of whoever keeps it. In a store it stands as JSON.
type count struct {
	Failures int           `json:"n"`
	Same     int           `json:"s,omitempty"` // of them, the last ones that had the same error
	Error    uint64        `json:"e,omitempty"` // the hash of that
	Last     string        `json:"l,omitempty"` // its words, once the subject is closed
	Counted  uint64        `json:"t"`           // the tick when Failures grew
	Expires  time.Duration `json:"x"`
	Closed   time.Duration `json:"c,omitempty"` // until when the handler is run for a probe only
	Probed   time.Duration `json:"p,omitempty"` // when it was run last
}

// failing is one failure, and what follows from it.
type failing struct {
	error  uint64        // the hash of what went wrong
	text   string        // what went wrong
	broken bool          // it shows that the tool or what it needs is broken
	keep   time.Duration // for how long it is remembered

	// After how many failures with the same error the call, and after how many in a
	// row the tool, is refused. Zero or less means never.
	refuseAfter, refuseTool int
}

// moment is when counts are looked at. A tick is a point in time that is after all
// failures that were counted before.
type moment struct {
	now   time.Duration
	began uint64 // the tick at which the call began
	tick  uint64 // that of this failure
}

// history is what a failure adds to.
type history struct {
	failures int // of this call
	same     int // of them, the last ones with the same error
	streak   int // failures in a row of a tool that is broken
}

// pause is for how long a call is refused, and why.
type pause struct {
	rest     time.Duration // zero when it is run
	failures int
	streak   bool   // of its tool
	last     string // what went wrong
}

const (
	// refuseFor is how long a call is refused.
	refuseFor = 30 * time.Second
	// probeEvery is how often a call that is refused is run nevertheless, so that it is
	// found out when it works again.
	probeEvery = 2 * time.Second
)

// closed returns for how long a call is refused. One for which it returns zero is run;
// probe says that it is run to find out.
func (k *known) closed(what *identity, at moment) (p pause, probe bool) {
	for _, name := range what.names() {
		c := k.Counts[name]
		switch {
		case c == nil || c.Closed <= at.now:
			continue
		case at.now-c.Probed >= probeEvery:
			c.Probed = at.now
			return pause{}, true
		case name == what.tool:
			return pause{rest: c.Closed - at.now, failures: c.Failures, streak: true, last: c.Last}, false
		default:
			return pause{rest: c.Closed - at.now, failures: c.Same, last: c.Last}, false
		}
	}
	return pause{}, false
}

// failed counts a failure. Of calls that ran at the same time, none of which could
// know of the failure of another, all together count as one.
func (k *known) failed(what *identity, at moment, f failing) (h history) {
	c := k.add(what.call)
	again := c.grow(at, f)
	switch {
	case c.Error != f.error:
		c.Error, c.Same = f.error, 1
	case again:
		c.Same++
	}
	c.close(c.Same, f.refuseAfter, at, f)
	h.failures, h.same = c.Failures, c.Same
	if f.broken && what.tool != "" {
		c := k.add(what.tool)
		c.grow(at, f)
		c.close(c.Failures, f.refuseTool, at, f)
		h.streak = c.Failures
	}
	return h
}

// forget drops what is known of a call that succeeded, and of its tool. It reports
// whether there was something.
func (k *known) forget(what *identity) bool {
	before := len(k.Counts)
	delete(k.Counts, what.call)
	delete(k.Counts, what.tool)
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
		c.Closed, c.Probed, c.Last = at.now+refuseFor, at.now, f.text
		c.Expires = max(c.Expires, c.Closed+time.Second)
	}
}

// memory is what this process knows of calls that failed. It holds a fixed number of
// counts at most. An owner's are all in one part of it, so that a caller who makes a
// great many failing calls pushes out what is known of few others.
type memory struct {
	seed  maphash.Seed
	epoch time.Time // makes time.Since read the monotonic clock only
	limit int       // counts of a part
	parts [16]part

	// How much is known of the tools, prompts and resources whose names have the same
	// low bits in their hash. A call of one of which nothing is known, as most calls
	// are, needs no look at the rest.
	groups [256]atomic.Int32
	total  atomic.Int32

	ticks atomic.Uint64 // grows with each look at the counts
}

// remembered is how many counts a part has: 16384 in all, which take about 10 MB.
const remembered = 1024

// part is a map, and a list in the order in which its places failed last.
type part struct {
	mu     sync.Mutex
	counts int
	places map[string]*list.Element
	order  list.List // of *place, the newest first
}

// place is what is known of one owner and target.
type place struct {
	known

	name  string
	group uint64
}

func newMemory(limit int) *memory {
	m := &memory{seed: maphash.MakeSeed(), epoch: time.Now(), limit: limit}
	for i := range m.parts {
		m.parts[i].places = map[string]*list.Element{}
	}
	return m
}

// busyWith reports whether anything may be known of a call. It is all that a call
// pays that does not fail, and where nothing fails that is one load.
func (m *memory) busyWith(req mcp.Request) bool {
	return m.total.Load() > 0 && m.groups[m.group(call.Target(req))].Load() > 0
}

func (m *memory) group(target string) uint64 {
	return maphash.String(m.seed, target) % uint64(len(m.groups))
}

// ask shows f what is known, without what is old, and keeps what f makes of it.
func (m *memory) ask(what *identity, f func(k *known, at moment) (changed bool)) {
	p := &m.parts[maphash.String(m.seed, what.owner)%uint64(len(m.parts))]
	p.mu.Lock()
	defer p.mu.Unlock()
	at := moment{now: time.Since(m.epoch), began: what.began, tick: m.ticks.Add(1)}
	for e := p.order.Back(); e != nil && placeOf(e).expires() <= at.now; e = p.order.Back() {
		m.drop(p, e)
	}
	e := p.places[what.place]
	var here *place
	if e != nil {
		here = placeOf(e)
	} else {
		here = &place{name: what.place, group: what.group}
	}
	before := len(here.Counts)
	here.clean(at.now)
	changed := f(&here.known, at)
	p.counts += len(here.Counts) - before
	switch {
	case len(here.Counts) == 0 && before > 0:
		m.drop(p, e)
	case len(here.Counts) > 0 && before == 0:
		p.places[here.name] = p.order.PushFront(here)
		m.count(here, 1)
	case changed && before > 0:
		p.order.MoveToFront(e)
	}
	for p.counts > m.limit {
		m.drop(p, p.order.Back())
	}
}

func placeOf(e *list.Element) *place { return e.Value.(*place) } //nolint:forcetypeassert // nothing else is in there

func (m *memory) drop(p *part, e *list.Element) {
	here := placeOf(e)
	p.order.Remove(e)
	p.counts -= len(here.Counts)
	delete(p.places, here.name)
	m.count(here, -1)
}

func (m *memory) count(here *place, n int32) {
	m.groups[here.group].Add(n)
	m.total.Add(n)
}
