package limit

import (
	"container/heap"
	"time"
)

// A rule is a [Limit] that is ready for use.
type rule struct {
	Limit

	bit      uint8         // stands for the limit in a set of limits
	interval time.Duration // between two calls; zero for any number
	size     time.Duration // Burst intervals
	common   bucket        // the bucket of a limit for all, and else of the calls for whose own bucket there is no room
}

// A bucket counts the calls of one limit and one owner, tool or both. It uses the generic cell rate
// algorithm, as shared stores do: of the past it keeps one time only. All times are since the start of
// the limiter. golang.org/x/time/rate would need as much memory for the rate alone, and rounds.
type bucket struct {
	key     uint64
	owner   uint64 // whose share of the table it takes from, if named
	rule    *rule
	full    time.Duration // when the bucket is full again
	running int           // calls that run
	waiters int           // calls that wait
	named   bool          // its key has a name that the owner gave; an owner can make up any number of names
	due     bool          // it is in table.due, or is always kept
}

const farFuture = 100 * 365 * 24 * time.Hour

// wait returns how long it takes until there are n tokens, zero or less if they are there.
// A clock that jumps back costs at most one filling of the bucket.
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

// crowded reports whether too many run for n more calls.
func (b *bucket) crowded(n int) bool {
	return b.rule.Running > 0 && b.running+n > b.rule.Running
}

// take counts a call. counted says that a shared store has counted its tokens.
func (b *bucket) take(now time.Duration, counted bool) {
	if b.rule.Calls > 0 && !counted {
		b.full = max(b.full, now) + b.rule.interval
	}
	b.running++
}

// A table keeps the buckets that are in force: those with calls that run or wait, and those that are
// not full. A bucket in force is never forgotten; any other says the same as a new one. If there is
// no room for a bucket, its calls share the common bucket of the limit. The same holds for an owner
// whose named buckets fill a quarter. A caller that gets a bucket of its own later may have had a few
// tokens of the common one too.
type table struct {
	most    int // buckets
	buckets map[uint64]*bucket
	due     dues           // holds the buckets that are not full
	named   map[uint64]int // how many buckets an owner has because of the names it gave
}

// shareOf is the part of the table that one owner may fill with names.
const shareOf = 4

// get returns the bucket of a key.
func (t *table) get(key uint64, r *rule, owner uint64, named bool) *bucket {
	if b := t.buckets[key]; b != nil {
		return b
	}
	if len(t.buckets) >= t.most || named && t.named[owner] >= max(1, t.most/shareOf) {
		return &r.common
	}
	b := &bucket{key: key, rule: r, owner: owner, named: named}
	if t.buckets[key] = b; named {
		t.named[owner]++
	}
	return b
}

// settle forgets a bucket that is no longer in force, or notes when it may be full. It is
// called when a call has ended, has left the queue, or was refused.
func (t *table) settle(b *bucket, now time.Duration) {
	switch {
	case b.due || b.running > 0 || b.waiters > 0:
	case b.full > now:
		b.due = true
		heap.Push(&t.due, b)
	default:
		t.remove(b)
	}
}

// sweep forgets buckets that are full again. It looks at few, so that no call waits
// for it. No candidate may hold a bucket if it neither runs nor stands in the queue.
func (t *table) sweep(now time.Duration) {
	for range maxSwept {
		if len(t.due) == 0 || t.due[0].at > now {
			return
		}
		b := t.due[0].bucket
		heap.Pop(&t.due)
		b.due = false
		t.settle(b, now)
	}
}

const maxSwept = 64 // buckets, in about 20 µs

func (t *table) remove(b *bucket) {
	delete(t.buckets, b.key)
	if b.named {
		if t.named[b.owner]--; t.named[b.owner] == 0 {
			delete(t.named, b.owner)
		}
	}
}

// A due is a bucket that is not full before a time. That time does not move when the bucket is used
// meanwhile.
type due struct {
	at     time.Duration
	bucket *bucket
}

// dues is a heap, the first on top.
type dues []due

func (h dues) Len() int           { return len(h) }
func (h dues) Less(i, j int) bool { return h[i].at < h[j].at }
func (h dues) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is for package heap. It gets the bucket, which is a pointer and so needs no memory.
func (h *dues) Push(x any) {
	b, _ := x.(*bucket)
	*h = append(*h, due{b.full, b})
}

// Pop is for package heap. Its caller has read the element already, so it returns nil and
// allocates nothing.
func (h *dues) Pop() any {
	last := len(*h) - 1
	(*h)[last] = due{}
	*h = (*h)[:last]
	return nil
}
