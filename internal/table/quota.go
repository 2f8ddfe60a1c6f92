package table

import (
	"fmt"
	"sync"
)

// A Quota counts what callers hold, such as bytes or streams, against a bound for each caller and one for
// all callers together. It forgets a caller that holds nothing. A bound is off unless it is positive. The
// zero value has no bounds, and must not be copied after its first use.
type Quota struct {
	Each, All int64

	mu    sync.Mutex
	of    map[string]int64
	total int64
}

// An ExceededError says which bound of a [Quota] does not allow more.
type ExceededError struct {
	Each bool // the bound of each caller; else that of all together
	Most int64
}

// Error implements error.
func (e *ExceededError) Error() string { return fmt.Sprintf("%s may hold %d", e.Whose(), e.Most) }

// Whose names the bound: "each caller" or "all callers together".
func (e *ExceededError) Whose() string {
	if e.Each {
		return "each caller"
	}
	return "all callers together"
}

// Take counts n more for a caller, or returns the exceeded bound and counts nothing. The caller "" is
// unknown: only the bound of all applies to it. Call Give with the same values later.
func (q *Quota) Take(caller string, n int64) (exceeded *ExceededError) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case caller != "" && q.Each > 0 && q.of[caller]+n > q.Each:
		return &ExceededError{true, q.Each}
	case q.All > 0 && q.total+n > q.All:
		return &ExceededError{false, q.All}
	}
	q.add(caller, n)
	return nil
}

// Of returns what a caller holds. Nothing is known of the caller "".
func (q *Quota) Of(caller string) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.of[caller]
}

// Put counts n more for a caller without a look at the bounds.
func (q *Quota) Put(caller string, n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(caller, n)
}

// Give counts n less for a caller.
func (q *Quota) Give(caller string, n int64) { q.Put(caller, -n) }

// add needs the lock.
func (q *Quota) add(caller string, n int64) {
	q.total += n
	if caller == "" {
		return
	}
	if q.of == nil {
		q.of = map[string]int64{}
	}
	if q.of[caller] += n; q.of[caller] == 0 {
		delete(q.of, caller)
	}
}

// Held returns how much a caller holds, and how much all of them do.
func (q *Quota) Held(caller string) (each, all int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.of[caller], q.total
}

// Len returns how many callers hold something.
func (q *Quota) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.of)
}
