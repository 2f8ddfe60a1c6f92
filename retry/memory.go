package retry

import (
	"container/list"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
)

// memory is what is known of calls that failed. It holds a fixed number of records at
// most. An owner's are all in one part of it, so that a caller who makes a great many
// failing calls pushes out what is known of few others.
type memory struct {
	seed  maphash.Seed
	epoch time.Time // makes time.Since read the monotonic clock only
	parts []part

	// How much is known of the tools, prompts and resources whose names have the same
	// low bits in their hash. A call of one of which nothing is known, as most calls
	// are, needs no look at the rest.
	known [groups]atomic.Int32
	total atomic.Int32

	ticks atomic.Uint64 // how many failures were counted
}

const (
	groups   = 256
	maxParts = 16
	minPart  = 64 // records, or there are fewer parts
)

// part is a map, and a list in the order in which they failed last.
type part struct {
	mu      sync.Mutex
	limit   int
	records map[subject]*list.Element
	order   list.List // of *record, the newest first
}

// identity says which call it is, and whose.
type identity struct {
	known bool
	owner uint64 // the hash of the owner's name
	c     uint64 // the hash of method, target and arguments
	tool  uint64 // the hash of the tool's name, zero where no streak is counted
	group uint64 // of the target, for memory.known
	began uint64 // what memory.ticks was when the call began

	// Where a store is given: the key of what is known there of the owner and the
	// target, the call's name in it, and what its ticks were when the call began.
	place, label string
	read         uint64
}

// subject is what failures are counted of: a call, or a tool.
type subject struct {
	owner uint64
	hash  uint64
}

// record is what is known of a subject here.
type record struct {
	subject
	count

	group uint64
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

func newMemory(limit int) *memory {
	n := min(maxParts, max(1, limit/minPart))
	m := &memory{seed: maphash.MakeSeed(), epoch: time.Now(), parts: make([]part, n)}
	for i := range m.parts {
		m.parts[i].limit, m.parts[i].records = max(1, limit/n), map[subject]*list.Element{}
	}
	return m
}

// busyWith reports whether anything may be known of a call. It is all that a call
// pays that does not fail, and where nothing fails that is one load.
func (m *memory) busyWith(req mcp.Request) bool {
	return m != nil && m.total.Load() > 0 && m.known[m.group(call.Target(req))].Load() > 0
}

func (m *memory) group(target string) uint64 { return maphash.String(m.seed, target) % groups }

// tick returns a point in time that is after all failures that were counted before.
func (m *memory) tick() uint64 {
	if m == nil {
		return 0
	}
	return m.ticks.Load()
}

// lock returns the part of an owner, locked and without what is old, and the time.
func (m *memory) lock(of uint64) (*part, time.Duration) {
	p := &m.parts[maphash.Comparable(m.seed, of)%uint64(len(m.parts))]
	p.mu.Lock()
	now := time.Since(m.epoch)
	for e := p.order.Back(); e != nil && recordOf(e).Expires <= now; e = p.order.Back() {
		m.drop(p, e)
	}
	return p, now
}

func recordOf(e *list.Element) *record { return e.Value.(*record) } //nolint:forcetypeassert // nothing else is in there

func (m *memory) drop(p *part, e *list.Element) {
	r := recordOf(e)
	p.order.Remove(e)
	delete(p.records, r.subject)
	m.known[r.group].Add(-1)
	m.total.Add(-1)
}

// history is what a failure adds to.
type history struct {
	failures int // of this call
	same     int // of them, the last ones with the same error
	streak   int // failures in a row of a tool that is broken
}

// failing is one failure, and what follows from it.
type failing struct {
	error  uint64        // the hash of what went wrong
	text   string        // what went wrong
	broken bool          // it shows that the tool or what it needs is broken
	keep   time.Duration // for how long it is remembered

	// After how many failures with the same error the call, and after how many in a
	// row the tool, is refused for how long. Zero or less means never.
	refuseAfter, refuseTool int
	refuseFor               time.Duration
}

// failed counts a failure. Of calls that ran at the same time, none of which could
// know of the failure of another, all together count as one.
func (m *memory) failed(what identity, f failing) history {
	p, now := m.lock(what.owner)
	defer p.mu.Unlock()
	tick := m.ticks.Add(1)
	r := m.touch(p, subject{what.owner, what.c}, what.group, now, f.keep)
	h := r.failed(what.began, tick, now, f)
	if f.broken && what.tool != 0 {
		r := m.touch(p, subject{what.owner, what.tool}, what.group, now, f.keep)
		h.streak = r.again(what.began, tick, now, f)
	}
	return h
}

// failed counts the failure of a call that began at a tick.
func (c *count) failed(began, tick uint64, now time.Duration, f failing) history {
	again := c.grow(began, tick)
	switch {
	case c.Error != f.error:
		c.Error, c.Same = f.error, 1
	case again:
		c.Same++
	}
	c.close(c.Same, f.refuseAfter, now, f)
	return history{failures: c.Failures, same: c.Same}
}

// again counts the failure of a call of a tool that is broken, and returns the streak.
func (c *count) again(began, tick uint64, now time.Duration, f failing) int {
	c.grow(began, tick)
	c.close(c.Failures, f.refuseTool, now, f)
	return c.Failures
}

// grow counts the failure of a call that began at a tick, unless another one was
// counted since. It reports whether it did.
func (c *count) grow(began, tick uint64) bool {
	if c.Failures > 0 && began < c.Counted {
		return false
	}
	c.Failures, c.Counted = c.Failures+1, tick
	return true
}

func (c *count) close(failures, limit int, now time.Duration, f failing) {
	if limit > 0 && failures >= limit {
		c.Closed, c.Probed, c.Last = now+f.refuseFor, now, f.text
		c.Expires = max(c.Expires, c.Closed+time.Second)
	}
}

// probe reports whether a subject that is closed is to be run nevertheless.
func (c *count) probe(now time.Duration) bool {
	due := now-c.Probed >= probeEvery
	if due {
		c.Probed = now
	}
	return due
}

// pause says for how long a call is refused that is not run.
func (c *count) pause(now time.Duration, streak bool) pause {
	p := pause{rest: c.Closed - now, failures: c.Same, streak: streak, last: c.Last}
	if streak {
		p.failures = c.Failures
	}
	return p
}

// touch returns the record of a subject, a new one if nothing is known, and makes it
// the newest.
func (m *memory) touch(p *part, of subject, group uint64, now, keep time.Duration) *record {
	e := p.records[of]
	if e != nil && recordOf(e).Expires <= now {
		m.drop(p, e) // too old, but not the oldest
		e = nil
	}
	if e == nil {
		if len(p.records) >= p.limit {
			m.drop(p, p.order.Back())
		}
		e = p.order.PushFront(&record{subject: of, group: group})
		p.records[of] = e
		m.known[group].Add(1)
		m.total.Add(1)
	}
	p.order.MoveToFront(e)
	r := recordOf(e)
	r.Expires = max(r.Expires, now+keep)
	return r
}

// forget drops what is known of a call that succeeded, and of its tool.
func (m *memory) forget(what identity) {
	p, _ := m.lock(what.owner)
	defer p.mu.Unlock()
	for _, hash := range []uint64{what.c, what.tool} {
		if e := p.records[subject{what.owner, hash}]; e != nil {
			m.drop(p, e)
		}
	}
}

// pause is for how long a call is refused, and why.
type pause struct {
	rest     time.Duration // zero when it is run
	failures int
	streak   bool   // of its tool
	last     string // what went wrong
}

// probeEvery is how often a call that is refused is run nevertheless, so that it is
// found out when it works again.
const probeEvery = 2 * time.Second

// closed returns for how long a call is refused. One for which it returns zero is run.
func (m *memory) closed(what identity) pause {
	p, now := m.lock(what.owner)
	defer p.mu.Unlock()
	for _, hash := range []uint64{what.c, what.tool} {
		e := p.records[subject{what.owner, hash}]
		if e == nil || recordOf(e).Closed <= now {
			continue
		}
		r := recordOf(e)
		if r.probe(now) {
			return pause{}
		}
		return r.pause(now, hash == what.tool)
	}
	return pause{}
}
