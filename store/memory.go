package store

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"strconv"
	"sync"
	"time"
)

// MemoryOptions configure [NewMemory]. The zero value is the recommended default.
type MemoryOptions struct {
	// MaxBytes is how many bytes the keys and values may take, with [Overhead] for each
	// key and each group, and one value a quarter of it. Zero means 64 MiB.
	MaxBytes int
}

// A Memory is a [Store] in the memory of this process. What it holds is lost when
// the process ends, and other processes do not see it.
//
// When less than half of it is free, a group may hold only a part of what its [Bound] allows,
// or else of MaxBytes. With a quarter free the part is a quarter, with an eighth free a
// sixteenth, and so on. So even many groups together leave room for another one.
type Memory struct {
	most int // bytes

	mu      sync.Mutex
	entries map[string]*entry
	groups  map[string]*group
	expiry  expiries
	bytes   int
	last    Version
}

type entry struct {
	key   string
	item  Item
	ends  time.Time
	group *group // nil if it counts towards no bound
	index [3]int // its index in the expiries of the Memory, of the group, and in until
}

func (e *entry) size() int { return Overhead + len(e.key) + len(e.item.Value) }

// A group has the entries with keys of one group that were written under a bound.
type group struct {
	name   string
	bytes  int
	expiry expiries
}

// NewMemory returns an empty store. opts may be nil.
func NewMemory(opts *MemoryOptions) *Memory {
	var o MemoryOptions
	if opts != nil {
		o = *opts
	}
	if o.MaxBytes < 0 {
		panic("store.NewMemory: MemoryOptions.MaxBytes is negative; give a limit, or zero for the default")
	}
	return &Memory{most: cmp.Or(o.MaxBytes, 64<<20), entries: map[string]*entry{}, groups: map[string]*group{}}
}

// Get implements [Store].
func (m *Memory) Get(_ context.Context, key string) (Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.live(key, time.Now()); e != nil {
		return e.item, nil
	}
	return Item{}, nil
}

// Swap implements [Store].
func (m *Memory) Swap(ctx context.Context, key string, old Version, value []byte, ttl time.Duration) (Item, bool, error) {
	if ttl <= 0 && !keeps(old, ttl) {
		return Item{}, false, ErrTTL
	}
	_, bound := BoundOf(ctx, key)
	value = bytes.Clone(value) // before the lock, so that no call waits for the copy
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.swap(Op{Key: key, Old: old, Value: value, TTL: ttl, Bound: bound}, time.Now())
}

// Delete implements [Store].
func (m *Memory) Delete(_ context.Context, key string, old Version) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.delete(key, old, time.Now()), nil
}

// Do implements [Doer]. It is one step: no other call sees a part of it.
func (m *Memory) Do(_ context.Context, ops ...Op) ([]Done, error) {
	values := make([][]byte, len(ops))
	for i, op := range ops {
		values[i] = bytes.Clone(op.Value)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	return do(ops, func(i int, op Op) (one Done, err error) {
		op.Value = values[i]
		switch {
		case op.TTL < 0 && !keeps(op.Old, op.TTL):
			err = ErrTTL
		case op.TTL == 0:
			one.OK = m.delete(op.Key, op.Old, now)
		default:
			one.Item, one.OK, err = m.swap(op, now)
		}
		return one, err
	})
}

// swap is Swap for a caller that holds the lock. It keeps the value without a copy.
func (m *Memory) swap(op Op, now time.Time) (Item, bool, error) {
	if len(op.Key) > MaxKey || len(op.Value) > m.most/4 {
		return Item{}, false, ErrTooLarge
	}
	var there Item
	e := m.live(op.Key, now)
	if e != nil {
		there = e.item
	}
	if there.Version != op.Old {
		return there, false, nil
	}
	var in *group
	if name := GroupOf(op.Key); name != "" && op.Bound != (Bound{}) {
		if in = m.groups[name]; in == nil {
			in = &group{name: name, expiry: expiries{of: ofGroup}}
		}
		if err := m.within(op.Bound, in, e, Overhead+len(op.Key)+len(op.Value), now); err != nil {
			return Item{}, false, err
		}
	}
	ends := now.Add(op.TTL)
	if op.TTL == KeepTTL {
		ends = e.ends // it stands there, since Old is not zero
	}
	item, err := m.put(e, op.Key, op.Value, now, ends, in)
	return item, err == nil, err
}

// keeps reports whether a Swap with this ttl keeps the expiry.
func keeps(old Version, ttl time.Duration) bool { return ttl == KeepTTL && old != 0 }

// delete is Delete for a caller that holds the lock.
func (m *Memory) delete(key string, old Version, now time.Time) bool {
	e := m.live(key, now)
	if e == nil || old != 0 && e.item.Version != old {
		return false
	}
	m.remove(e)
	return true
}

// Add implements [Store].
func (m *Memory) Add(_ context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	if ttl <= 0 {
		return 0, ErrTTL
	}
	if len(key) > MaxKey {
		return 0, ErrTooLarge
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	var value []byte
	ends := now.Add(ttl)
	e := m.live(key, now)
	if e != nil {
		value, ends = e.item.Value, e.ends
	}
	n, err := sum(value, delta)
	if err != nil {
		return 0, err
	}
	if _, err := m.put(e, key, strconv.AppendInt(nil, n, 10), now, ends, nil); err != nil {
		return 0, err
	}
	return n, nil
}

// sum adds delta to the number in the value of a counter.
func sum(value []byte, delta int64) (int64, error) {
	if delta < -MaxCount || delta > MaxCount {
		return 0, ErrRange
	}
	var have int64
	if len(value) > 0 {
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || n < -MaxCount || n > MaxCount || strconv.FormatInt(n, 10) != string(value) {
			return 0, ErrNotCounter
		}
		have = n
	}
	if have += delta; have < -MaxCount || have > MaxCount {
		return 0, ErrRange
	}
	return have, nil
}

// live returns the entry of a key that has not expired.
func (m *Memory) live(key string, now time.Time) *entry {
	e := m.entries[key]
	if e != nil && !now.Before(e.ends) {
		m.remove(e)
		return nil
	}
	return e
}

// within returns an error if a group has no room for an entry of this size: e, or a new one if
// e is nil. An entry that does not grow always has room.
func (m *Memory) within(b Bound, in *group, e *entry, size int, now time.Time) error {
	if b.Bytes > 0 && size > b.Bytes {
		return ErrTooLarge
	}
	more, another := size, 1
	if e != nil && e.group == in {
		more, another = size-e.size(), 0
	}
	if more <= 0 {
		return nil
	}
	for {
		var reason error
		room := func(keys, bytes int) bool { // after so many keys and bytes of the group have expired
			switch {
			case another > 0 && b.Keys > 0 && in.expiry.Len()-keys+another > b.Keys:
				reason = ErrManyKeys
			case b.Bytes > 0 && in.bytes-bytes+more > b.Bytes:
				reason = ErrManyBytes
			case in.bytes-bytes+more > m.share(b, m.most-m.bytes-more+bytes):
				reason = ErrFull
			default:
				return true
			}
			return false
		}
		if room(0, 0) {
			return nil
		}
		if m.dropExpired(&in.expiry, now) || m.dropExpired(&m.expiry, now) {
			continue
		}
		full := &RoomError{Reason: reason, After: in.expiry.until(now, room)}
		if full.After == 0 { // the group itself will not free enough; others have to
			full.After = m.expiry.until(now, func(_, bytes int) bool { return in.bytes+more <= m.share(b, m.most-m.bytes-more+bytes) })
		}
		return full
	}
}

// share returns how many bytes a group may hold while so many are free.
func (m *Memory) share(b Bound, free int) int {
	all := m.most
	if b.Bytes > 0 {
		all = min(all, b.Bytes)
	}
	if part := 2 * float64(free) / float64(m.most); part < 1 {
		all = int(float64(all) * max(0, part) * part)
	}
	return all
}

// put stores an item in e, or in a new entry if e is nil. If in is not nil, the entry counts
// towards the bound of that group. Each put removes up to two expired entries, more than it
// adds, so that no goroutine has to remove them.
func (m *Memory) put(e *entry, key string, value []byte, now, ends time.Time, in *group) (Item, error) {
	for range 2 {
		m.dropExpired(&m.expiry, now)
	}
	have := 0
	if e != nil {
		have = e.size()
	}
	more := Overhead + len(key) + len(value) - have
	for more > 0 && m.bytes+more > m.most {
		if !m.dropExpired(&m.expiry, now) {
			return Item{}, &RoomError{ErrFull, m.expiry.until(now, func(_, bytes int) bool { return m.bytes-bytes+more <= m.most })}
		}
	}
	if e == nil {
		e = &entry{key: key, ends: ends}
		m.entries[key] = e
		heap.Push(&m.expiry, e)
		m.bytes += Overhead + len(key)
	}
	m.leave(e)
	m.last++
	m.bytes += len(value) - len(e.item.Value)
	e.item, e.ends = Item{Value: value, Version: m.last}, ends
	heap.Fix(&m.expiry, e.index[0])
	m.join(e, in)
	return e.item, nil
}

// join counts an entry towards the bound of a group, unless in is nil.
func (m *Memory) join(e *entry, in *group) {
	if e.group = in; in == nil {
		return
	}
	if in.expiry.Len() == 0 {
		m.groups[in.name] = in
		m.bytes += Overhead
	}
	in.bytes += e.size()
	heap.Push(&in.expiry, e)
}

// leave is the opposite of join.
func (m *Memory) leave(e *entry) {
	in := e.group
	if e.group = nil; in == nil {
		return
	}
	in.bytes -= e.size()
	heap.Remove(&in.expiry, e.index[1])
	if in.expiry.Len() == 0 {
		delete(m.groups, in.name)
		m.bytes -= Overhead
	}
}

// dropExpired removes an expired entry, and reports whether there was one.
func (m *Memory) dropExpired(from *expiries, now time.Time) bool {
	if from.Len() == 0 || now.Before(from.all[0].ends) {
		return false
	}
	m.remove(from.all[0])
	return true
}

func (m *Memory) remove(e *entry) {
	m.leave(e)
	heap.Remove(&m.expiry, e.index[0])
	delete(m.entries, e.key)
	m.bytes -= e.size()
}

// expiries is a heap of entries, the one that expires first on top.
type expiries struct {
	all []*entry
	of  int // which index of an entry is its place in all
}

const (
	ofGroup = 1
	ofLook  = 2

	// maxLook bounds the entries that until looks at.
	maxLook = 1000
)

// until returns how long it takes until enough keys and bytes have expired for room to return
// true, or until maxLook keys have expired. It returns zero if all of them are not enough.
func (h *expiries) until(now time.Time, room func(keys, bytes int) bool) time.Duration {
	look := expiries{of: ofLook}
	push := func(i int) {
		if i < len(h.all) {
			heap.Push(&look, h.all[i])
		}
	}
	push(0)
	for keys, bytes := 1, 0; look.Len() > 0; keys++ {
		e, _ := heap.Pop(&look).(*entry)
		if bytes += e.size(); room(keys, bytes) || keys == maxLook {
			return e.ends.Sub(now)
		}
		push(2*e.index[h.of] + 1)
		push(2*e.index[h.of] + 2)
	}
	return 0
}

func (h *expiries) Len() int           { return len(h.all) }
func (h *expiries) Less(i, j int) bool { return h.all[i].ends.Before(h.all[j].ends) }
func (h *expiries) Swap(i, j int) {
	h.all[i], h.all[j] = h.all[j], h.all[i]
	h.all[i].index[h.of], h.all[j].index[h.of] = i, j
}

// Push is for package heap.
func (h *expiries) Push(x any) {
	e, _ := x.(*entry)
	e.index[h.of] = len(h.all)
	h.all = append(h.all, e)
}

// Pop is for package heap.
func (h *expiries) Pop() any {
	last := len(h.all) - 1
	e := h.all[last]
	h.all[last] = nil
	h.all = h.all[:last]
	return e
}
