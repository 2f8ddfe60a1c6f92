package table

import "sync"

// MaxNames is how many names a [Names] holds at most.
const MaxNames = 4096

// Names is a table with names as keys, such as those of tools. It is bounded, because callers may
// invent any number of names. The zero value is ready for use, and must not be copied.
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

// Put sets the value of a name. If there is no room, it removes any other name.
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

// Add sets the value of a name that has none, and reports whether it did. If there is no room, it
// does not.
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
