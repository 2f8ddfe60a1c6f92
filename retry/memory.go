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

// counts are what is known of a caller's calls and tools, by name: in this process, or
// under one key of a store.
type counts interface {
	get(name string) *count // nil when nothing is known
	add(name string) *count // the same, or a new one
	drop(name string)
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
	// row the tool, is refused for how long. Zero or less means never.
	refuseAfter, refuseTool int
	refuseFor               time.Duration
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

// probeEvery is how often a call that is refused is run nevertheless, so that it is
// found out when it works again.
const probeEvery = 2 * time.Second

// closed returns for how long a call is refused. One for which it returns zero is run;
// probe says that it is run to find out.
func closed(in counts, what *identity, at moment) (p pause, probe bool) {
	for _, name := range what.names() {
		c := in.get(name)
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
func failed(in counts, what *identity, at moment, f failing) (h history) {
	c := in.add(what.call)
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
		c := in.add(what.tool)
		c.grow(at, f)
		c.close(c.Failures, f.refuseTool, at, f)
		h.streak = c.Failures
	}
	return h
}

// forget drops what is known of a call that succeeded, and of its tool. It reports
// whether there was something.
func forget(in counts, what *identity) (known bool) {
	for _, name := range what.names() {
		if in.get(name) != nil {
			in.drop(name)
			known = true
		}
	}
	return known
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
		c.Closed, c.Probed, c.Last = at.now+f.refuseFor, at.now, f.text
		c.Expires = max(c.Expires, c.Closed+time.Second)
	}
}

// memory is what this process knows of calls that failed. It holds a fixed number of
// records at most. An owner's are all in one part of it, so that a caller who makes a
// great many failing calls pushes out what is known of few others.
type memory struct {
	seed  maphash.Seed
	epoch time.Time // makes time.Since read the monotonic clock only
	parts []part

	// How much is known of the tools, prompts and resources whose names have the same
	// low bits in their hash. A call of one of which nothing is known, as most calls
	// are, needs no look at the rest.
	known [groups]atomic.Int32
	total atomic.Int32

	ticks atomic.Uint64 // grows with each look at the records
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
	records map[string]*list.Element
	order   list.List // of *record, the newest first
}

type record struct {
	count

	name  string
	group uint64
}

func newMemory(limit int) *memory {
	n := min(maxParts, max(1, limit/minPart))
	m := &memory{seed: maphash.MakeSeed(), epoch: time.Now(), parts: make([]part, n)}
	for i := range m.parts {
		m.parts[i].limit, m.parts[i].records = max(1, limit/n), map[string]*list.Element{}
	}
	return m
}

// busyWith reports whether anything may be known of a call. It is all that a call
// pays that does not fail, and where nothing fails that is one load.
func (m *memory) busyWith(req mcp.Request) bool {
	return m != nil && m.total.Load() > 0 && m.known[m.group(call.Target(req))].Load() > 0
}

func (m *memory) group(target string) uint64 { return maphash.String(m.seed, target) % groups }

// tick returns the tick at which a call begins.
func (m *memory) tick() uint64 {
	if m == nil {
		return 0
	}
	return m.ticks.Load()
}

// ask shows f what is known of an owner, without what is old.
func (m *memory) ask(what *identity, f func(in counts, at moment) bool) {
	p := &m.parts[maphash.String(m.seed, what.owner)%uint64(len(m.parts))]
	p.mu.Lock()
	defer p.mu.Unlock()
	at := moment{now: time.Since(m.epoch), began: what.began, tick: m.ticks.Add(1)}
	for e := p.order.Back(); e != nil && recordOf(e).Expires <= at.now; e = p.order.Back() {
		m.drop(p, e)
	}
	f(view{m, p, what.group, at.now}, at)
}

func recordOf(e *list.Element) *record { return e.Value.(*record) } //nolint:forcetypeassert // nothing else is in there

func (m *memory) drop(p *part, e *list.Element) {
	r := recordOf(e)
	p.order.Remove(e)
	delete(p.records, r.name)
	m.known[r.group].Add(-1)
	m.total.Add(-1)
}

// view are the counts in a part that is locked.
type view struct {
	m     *memory
	p     *part
	group uint64
	now   time.Duration
}

func (v view) get(name string) *count {
	e := v.p.records[name]
	if e == nil || recordOf(e).Expires <= v.now { // too old, but not the oldest
		return nil
	}
	return &recordOf(e).count
}

// add makes the record the newest.
func (v view) add(name string) *count {
	if v.get(name) == nil {
		v.drop(name)
		if len(v.p.records) >= v.p.limit {
			v.m.drop(v.p, v.p.order.Back())
		}
		v.p.records[name] = v.p.order.PushFront(&record{name: name, group: v.group})
		v.m.known[v.group].Add(1)
		v.m.total.Add(1)
	}
	e := v.p.records[name]
	v.p.order.MoveToFront(e)
	return &recordOf(e).count
}

func (v view) drop(name string) {
	if e := v.p.records[name]; e != nil {
		v.m.drop(v.p, e)
	}
}
