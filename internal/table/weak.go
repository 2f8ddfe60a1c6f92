// Package table has the tables that last as long as the process: by names that callers may
// invent, which is bounded, by pointers, which keeps nothing alive, and of what is true for a
// second, which is bounded too.
package table

import (
	"runtime"
	"sync"
	"weak"
)

// A Weak is a table by pointers that keeps none of them alive: the entry of a pointer goes when
// its value is collected. The values of the table must not hold the pointers. The zero value is
// ready for use, and must not be copied.
type Weak[K, V any] struct {
	mu sync.RWMutex
	of map[weak.Pointer[K]]V
}

// Get returns the value of a pointer, and whether there is one.
func (w *Weak[K, V]) Get(p *K) (V, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	v, ok := w.of[weak.Make(p)]
	return v, ok
}

// Of returns the value of a pointer. The first caller makes it with read. All get the same.
func (w *Weak[K, V]) Of(p *K, read func(*K) V) V {
	if v, ok := w.Get(p); ok {
		return v
	}
	return w.put(p, read(p), false)
}

// Set gives a pointer a value.
func (w *Weak[K, V]) Set(p *K, v V) { w.put(p, v, true) }

func (w *Weak[K, V]) put(p *K, v V, replace bool) V {
	key := weak.Make(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[weak.Pointer[K]]V{}
	}
	have, ok := w.of[key]
	switch {
	case !ok:
		runtime.AddCleanup(p, w.forget, key)
	case !replace:
		return have
	}
	w.of[key] = v
	return v
}

func (w *Weak[K, V]) forget(key weak.Pointer[K]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, key)
}

// Len returns how many pointers there are.
func (w *Weak[K, V]) Len() int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.of)
}
