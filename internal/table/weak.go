// Package table has the tables that last as long as the process: [Names], whose keys callers
// may invent, [Weak], which does not keep its keys alive, and [Brief], whose entries expire
// after a second. Names and Brief are bounded.
package table

import (
	"runtime"
	"sync"
	"weak"
)

// A Weak is a table with pointers as keys that keeps none of them alive: an entry is removed
// when the garbage collector frees what its pointer points to. The values of the table must not
// hold the pointers. The zero value is ready for use, and must not be copied.
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

// Of returns the value of a pointer. If there is none, read makes it. All callers get the same
// value.
func (w *Weak[K, V]) Of(p *K, read func(*K) V) V {
	if v, ok := w.Get(p); ok {
		return v
	}
	return w.put(p, read(p), false)
}

// Set sets the value of a pointer.
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
