package table

import "sync"

// MaxNames is how many names a table of [Names] has at most.
const MaxNames = 4096

// Names is a table by names, such as those of tools. Callers may invent any number of them, so it
// is bounded. The zero value is ready for use, and must not be copied.
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

// Put puts a value under a name. Where there is no room it forgets another name, any one.
func (n *Names[V]) Put(name string, v V) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, have := n.of[name]; !have && len(n.of) >= MaxNames {
		for other := range n.of {
			delete(n.of, other)
			break
		}
	}
	if n.of == nil {
		n.of = map[string]V{}
	}
	n.of[name] = v
}

// Add puts a value under a name that has none, and reports whether it did. Where there is no room
// it does not.
func (n *Names[V]) Add(name string, v V) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, have := n.of[name]; have || len(n.of) >= MaxNames {
		return false
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
