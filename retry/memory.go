package retry

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
)

// memory is what is known of calls that failed: how often, and for how long they are
// not run. It holds hashes and numbers only, and no more than a fixed number of them.
//
// What belongs to one owner is in one shard, so that a caller who makes a great many
// failing calls pushes out what is known of few others.
type memory struct {
	seed   maphash.Seed
	epoch  time.Time // makes time.Since read the monotonic clock only
	shards []shard
	mask   uint64 // of a hash, for the number of a shard

	// How much is known of the tools, prompts and resources whose names have the same
	// low bits in their hash. A call of one of which nothing is known, as most calls
	// are, needs no look at the rest.
	known [groups]atomic.Int32
	total atomic.Int32

	ticks atomic.Uint64 // how many failures were counted
}

const groups = 256

// identity says which call it is, and whose.
type identity struct {
	known bool
	owner owner
	c     uint64 // the hash of method, target and arguments
	tool  uint64 // the hash of the tool's name, zero where no streak is counted
	group uint64 // of the target, for memory.known
	began uint64 // what memory.ticks was when the call began
}

// An owner is who makes a call: a user or a session by the hash of its name, or a
// connection by itself. The pointer is weak: what is known of a connection does not
// keep it, and no later one is taken for it.
type owner struct {
	connection weak.Pointer[mcp.ServerSession]
	name       uint64
}

// subject is what failures are counted of: a call, or a tool.
type subject struct {
	owner owner
	hash  uint64
}

// record is what is known of a subject.
type record struct {
	subject

	newer, older *record // in the ring of a shard

	group    uint64
	failures int32
	same     int32  // of them, the last ones that had the same error
	error    uint64 // the hash of that
	counted  uint64 // what memory.ticks was when failures grew
	expires  time.Duration
	closed   time.Duration // until when the handler is not run
}

// shard holds records, and a ring of them in the order in which they failed last.
type shard struct {
	mu      sync.Mutex
	limit   int
	records map[subject]*record
	ring    record // of which older is the newest record, and newer the oldest
}

const (
	maxShards = 16
	minShard  = 64 // records, or there are fewer shards
)

func newMemory(limit int) *memory {
	n := bits.Len(uint(min(maxShards, max(1, limit/minShard)))) - 1
	m := &memory{seed: maphash.MakeSeed(), epoch: time.Now(), shards: make([]shard, 1<<n), mask: 1<<n - 1}
	for i := range m.shards {
		s := &m.shards[i]
		s.limit, s.records = max(1, limit>>n), map[subject]*record{}
		s.ring.newer, s.ring.older = &s.ring, &s.ring
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

func (m *memory) now() time.Duration { return time.Since(m.epoch) }

func (m *memory) shard(of owner) *shard {
	return &m.shards[maphash.Comparable(m.seed, of)&m.mask]
}

// history is what a failure adds to.
type history struct {
	failures int // of this call
	same     int // of them, the last ones with the same error
	streak   int // failures of calls of this tool in a row that were not to be repeated
}

// failing is one failure, and what follows from it.
type failing struct {
	error    uint64        // the hash of what went wrong
	hopeless bool          // the caller is not told to try again
	keep     time.Duration // for how long it is remembered

	// After how many failures with the same error the call, and after how many in a
	// row the tool, is not run for how long. Zero or less means never.
	refuseAfter, refuseTool int
	refuseFor               time.Duration
}

// failed counts a failure. Of calls that ran at the same time, none of which could
// know of the failure of another, all together count as one.
func (m *memory) failed(what identity, f failing) history {
	s := m.shard(what.owner)
	s.mu.Lock()
	defer s.mu.Unlock()
	now, tick := m.now(), m.ticks.Add(1)
	m.expire(s, now)
	r := m.touch(s, subject{what.owner, what.c}, what.group, now, f.keep)
	again := r.grow(what.began, tick)
	switch {
	case r.error != f.error:
		r.error, r.same = f.error, 1
	case again:
		r.same++
	}
	r.closeAfter(r.same, f.refuseAfter, now+f.refuseFor)
	h := history{failures: int(r.failures), same: int(r.same)}
	if f.hopeless && what.tool != 0 {
		r := m.touch(s, subject{what.owner, what.tool}, what.group, now, f.keep)
		r.grow(what.began, tick)
		r.closeAfter(r.failures, f.refuseTool, now+f.refuseFor)
		h.streak = int(r.failures)
	}
	return h
}

// grow counts the failure of a call that began at a tick, unless another one was
// counted since. It reports whether it did.
func (r *record) grow(began, tick uint64) bool {
	if r.failures > 0 && began < r.counted {
		return false
	}
	r.failures, r.counted = r.failures+1, tick
	return true
}

func (r *record) closeAfter(failures int32, limit int, until time.Duration) {
	if limit > 0 && int(failures) >= limit {
		r.closed = until
		r.expires = max(r.expires, until+time.Second)
	}
}

// touch returns the record of a subject, a new one if nothing is known, and makes it
// the newest.
func (m *memory) touch(s *shard, of subject, group uint64, now, keep time.Duration) *record {
	r := s.records[of]
	if r != nil && r.expires <= now {
		m.drop(s, r) // too old, but not the oldest
		r = nil
	}
	if r == nil {
		if len(s.records) >= s.limit {
			m.drop(s, s.ring.newer)
		}
		r = &record{subject: of, group: group}
		s.records[of] = r
		m.known[group].Add(1)
		m.total.Add(1)
	} else {
		r.unlink()
	}
	r.newer, r.older = &s.ring, s.ring.older
	r.newer.older, r.older.newer = r, r
	r.expires = max(r.expires, now+keep)
	return r
}

func (r *record) unlink() { r.newer.older, r.older.newer = r.older, r.newer }

func (m *memory) drop(s *shard, r *record) {
	r.unlink()
	delete(s.records, r.subject)
	m.known[r.group].Add(-1)
	m.total.Add(-1)
}

// expire drops what is old, from the oldest on.
func (m *memory) expire(s *shard, now time.Duration) {
	for r := s.ring.newer; r != &s.ring && r.expires <= now; r = s.ring.newer {
		m.drop(s, r)
	}
}

// forget drops what is known of a call that succeeded, and of its tool.
func (m *memory) forget(what identity) {
	s := m.shard(what.owner)
	s.mu.Lock()
	defer s.mu.Unlock()
	m.expire(s, m.now())
	for _, hash := range []uint64{what.c, what.tool} {
		if r := s.records[subject{what.owner, hash}]; r != nil {
			m.drop(s, r)
		}
	}
}

// pause is for how long a call is not run, and why.
type pause struct {
	rest     time.Duration // zero when it is run
	failures int
	streak   bool // of its tool
}

// closed returns for how long a call is not run.
func (m *memory) closed(what identity) pause {
	s := m.shard(what.owner)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := m.now()
	m.expire(s, now)
	if r := s.records[subject{what.owner, what.c}]; r != nil && r.closed > now {
		return pause{rest: r.closed - now, failures: int(r.same)}
	}
	if r := s.records[subject{what.owner, what.tool}]; r != nil && r.closed > now {
		return pause{rest: r.closed - now, failures: int(r.failures), streak: true}
	}
	return pause{}
}
