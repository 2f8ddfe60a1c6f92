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
	// MaxBytes is how many bytes the keys and values may take, with 160 more for each
	// entry, and one value a quarter of it. Zero means 64 MiB.
	MaxBytes int
}

// A Memory is a [Store] in the memory of this process. What it holds is lost when
// the process ends, and other processes do not see it.
type Memory struct {
	most int // bytes

	mu      sync.Mutex
	entries map[string]*entry
	expiry  expiries
	bytes   int
	last    Version
}

// overhead is about what an entry costs beside its key and value.
const overhead = 160

type entry struct {
	key   string
	item  Item
	ends  time.Time
	index int // in expiries
}

func (e *entry) size() int { return overhead + len(e.key) + len(e.item.Value) }

// NewMemory returns an empty store. opts may be nil.
func NewMemory(opts *MemoryOptions) *Memory {
	var o MemoryOptions
	if opts != nil {
		o = *opts
	}
	if o.MaxBytes < 0 {
		panic("store.NewMemory: MemoryOptions.MaxBytes is negative; give a limit, or zero for the default")
	}
	return &Memory{most: cmp.Or(o.MaxBytes, 64<<20), entries: map[string]*entry{}}
}

// Len returns how many values are kept, those included that have expired and were
// not yet removed.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.entries)
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
func (m *Memory) Swap(_ context.Context, key string, old Version, value []byte, ttl time.Duration) (Item, bool, error) {
	if ttl <= 0 {
		return Item{}, false, ErrTTL
	}
	if len(key) > MaxKey || len(value) > m.most/4 {
		return Item{}, false, ErrTooLarge
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	var there Item
	e := m.live(key, now)
	if e != nil {
		there = e.item
	}
	if there.Version != old {
		return there, false, nil
	}
	item, err := m.put(e, key, bytes.Clone(value), now, now.Add(ttl))
	return item, err == nil, err
}

// Delete implements [Store].
func (m *Memory) Delete(_ context.Context, key string, old Version) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.live(key, time.Now())
	if e == nil || (old != 0 && e.item.Version != old) {
		return false, nil
	}
	m.remove(e)
	return true, nil
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
	if _, err := m.put(e, key, strconv.AppendInt(nil, n, 10), now, ends); err != nil {
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

// put stores an item in e, or in a new entry if e is nil. Each put removes two
// expired entries, so that more go than come and no goroutine is needed.
func (m *Memory) put(e *entry, key string, value []byte, now, ends time.Time) (Item, error) {
	for range 2 {
		m.dropExpired(now)
	}
	have := 0
	if e != nil {
		have = e.size()
	}
	more := overhead + len(key) + len(value) - have
	for more > 0 && m.bytes+more > m.most {
		if !m.dropExpired(now) {
			return Item{}, ErrFull
		}
	}
	m.last++
	item := Item{Value: value, Version: m.last}
	m.bytes += more
	if e == nil {
		e = &entry{key: key, item: item, ends: ends}
		m.entries[key] = e
		heap.Push(&m.expiry, e)
		return item, nil
	}
	e.item, e.ends = item, ends
	heap.Fix(&m.expiry, e.index)
	return item, nil
}

// dropExpired removes an expired entry, if there is one.
func (m *Memory) dropExpired(now time.Time) bool {
	if len(m.expiry) == 0 || now.Before(m.expiry[0].ends) {
		return false
	}
	m.remove(m.expiry[0])
	return true
}

func (m *Memory) remove(e *entry) {
	heap.Remove(&m.expiry, e.index)
	delete(m.entries, e.key)
	m.bytes -= e.size()
}

// expiries is a heap of entries, the one that expires first on top.
type expiries []*entry

func (h expiries) Len() int           { return len(h) }
func (h expiries) Less(i, j int) bool { return h[i].ends.Before(h[j].ends) }
func (h expiries) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push is for package heap.
func (h *expiries) Push(x any) {
	e, _ := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop is for package heap.
func (h *expiries) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}
