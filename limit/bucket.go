package limit

import "time"

// A rule is a [Limit] that is ready for use.
type rule struct {
	Limit

	bit      uint8         // of the limit, among those of a call
	interval time.Duration // between two calls; zero for any number
	size     time.Duration // Burst intervals
}

// A bucket counts the calls of one limit and one owner, tool or both. A bucket of
// golang.org/x/time/rate needs as much memory for the rate alone, and rounds; this is
// the generic cell rate algorithm, as shared stores have it: one time is all that is
// kept of the past. All times are since the start of the limiter.
type bucket struct {
	key        uint64
	rule       *rule
	full       time.Duration // when the bucket is full again
	used       time.Duration // when it was used last
	prev, next *bucket       // by use, the most recent first
	running    int32
	waiters    int32  // calls that wait and have this bucket
	tokens     int32  // that these need
	pass       uint32 // the last pass of the queue in which a call was held up here
}

const farFuture = 100 * 365 * 24 * time.Hour

// wait returns how long n tokens take to be there, zero or less if they are. A clock
// that jumps back costs at most one filling of the bucket.
func (b *bucket) wait(now time.Duration, n int) time.Duration {
	r := b.rule
	if r.Calls <= 0 {
		return 0
	}
	need := farFuture
	if time.Duration(n) <= farFuture/r.interval {
		need = time.Duration(n) * r.interval
	}
	b.full = min(b.full, now+r.size)
	return max(b.full, now) + need - r.size - now
}

// crowded reports whether too many run for a call of this cost.
func (b *bucket) crowded(cost int) bool {
	return b.rule.Running > 0 && int(b.running)+cost > b.rule.Running
}

// take counts a call. counted says that a shared store has counted its tokens.
func (b *bucket) take(now time.Duration, cost int, counted bool) {
	if b.rule.Calls > 0 && !counted {
		b.full = max(b.full, now) + time.Duration(cost)*b.rule.interval
	}
	b.running += int32(cost) //nolint:gosec // a cost is at most Running, or not counted by anybody
	b.used = now
}

func (b *bucket) busy() bool { return b.running > 0 || b.waiters > 0 }

func (b *bucket) unlink() { b.prev.next, b.next.prev = b.next, b.prev }

// A table keeps buckets by their keys, a bounded number, the most recently used ones.
// The links are in the buckets, because a million of them have to be small.
type table struct {
	buckets map[uint64]*bucket
	recent  bucket // the ends of the list
}

func (t *table) init() {
	t.buckets = map[uint64]*bucket{}
	t.recent.prev, t.recent.next = &t.recent, &t.recent
}

// get returns the bucket of a key.
func (t *table) get(key uint64, r *rule, limit int, now time.Duration) *bucket {
	b := t.buckets[key]
	switch {
	case b == nil:
		if len(t.buckets) >= limit {
			t.evict()
		}
		b = &bucket{key: key, rule: r, used: now}
		t.buckets[key] = b
	case t.recent.next == b:
		return b
	default:
		b.unlink()
	}
	b.prev, b.next = &t.recent, t.recent.next
	b.prev.next, b.next.prev = b, b
	return b
}

// keep is for how long an idle bucket is kept, so that a caller who comes back soon
// finds its own.
const keep = time.Minute

// sweep forgets a few buckets that say no more than new ones would.
func (t *table) sweep(now time.Duration) {
	for range 2 {
		b := t.recent.prev
		if b == &t.recent || b.busy() || now < b.full || now < b.used+keep {
			return
		}
		t.remove(b)
	}
}

// evict makes room. Buckets of calls that run or wait stay: there are few of them.
func (t *table) evict() {
	b := t.recent.prev
	for range 8 {
		if b != &t.recent && !b.busy() {
			t.remove(b)
			return
		}
		b = b.prev
	}
}

func (t *table) remove(b *bucket) {
	b.unlink()
	delete(t.buckets, b.key)
	if len(t.buckets) == 0 {
		t.buckets = map[uint64]*bucket{} // a map does not shrink
	}
}
