package table

import "sync"

// MaxNames is how many names a table of [Names] has at most.
const MaxNames = 4096

// Names is a table by the names of tools, which callers may invent: it is bounded. The zero
// value is ready for use, and must not be copied.
type Names[V any] struct {
	mu sync.RWMutex
	of map[string]V
}

// Get returns the value of a name, and whether there is one.
func (n *Names[V]) Get(name string) (V, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	v, ok := n.of[name]
	return v, ok
}

// Add puts a value under a name, and reports whether there was room for it.
func (n *Names[V]) Add(name string, v V) bool { return n.set(name, v, false) }

// Put is Add that forgets another name, any one, where there is no room.
func (n *Names[V]) Put(name string, v V) { n.set(name, v, true) }

func (n *Names[V]) set(name string, v V, forget bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, have := n.of[name]; !have && len(n.of) >= MaxNames {
		if !forget {
			return false
		}
		for other := range n.of {
			delete(n.of, other)
			break
		}
	}
	if n.of == nil {
		n.of = map[string]V{}
	}
	n.of[name] = v
	return true
}

// Len returns how many names there are.
func (n *Names[V]) Len() int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return len(n.of)
}

// Made keeps what was made of things with names: one that was replaced is another pointer. What
// it holds is bounded. The zero value is ready for use, and must not be copied.
type Made[K, V any] struct{ by Names[made[K, V]] }

type made[K, V any] struct {
	from  *K
	value V
}

// Of returns what read makes of a thing.
func (m *Made[K, V]) Of(name string, from *K, read func(*K) V) V {
	have, _ := m.by.Get(name)
	if have.from != from {
		have = made[K, V]{from, read(from)}
		m.by.Put(name, have)
	}
	return have.value
}

// Len returns how many things there are.
func (m *Made[K, V]) Len() int { return m.by.Len() }
