package front

import (
	"sync"
	"time"
)

// A memory keeps the last events of a session, for a client that has lost its connection. The oldest are
// forgotten first. It may be used concurrently.
type memory struct {
	mu    sync.Mutex
	kept  []keptEvent // in their order
	bytes int
}

type keptEvent struct {
	event

	stream string // its name
	at     time.Time
}

// The bounds of what is kept of a session. The last event is kept whatever its size is.
const (
	maxKept      = 256
	maxKeptBytes = 2 << 20
	maxKeptTime  = 5 * time.Minute
)

func (m *memory) keep(stream string, e event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept, m.bytes = append(m.kept, keptEvent{e, stream, time.Now()}), m.bytes+len(e.m.Line)
	m.drop(func() bool { return len(m.kept) > 1 && (len(m.kept) > maxKept || m.bytes > maxKeptBytes) })
}

// age forgets what is old.
func (m *memory) age() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(func() bool { return len(m.kept) > 0 && time.Since(m.kept[0].at) > maxKeptTime })
}

// drop forgets the oldest as long as that is too much. The caller holds the lock.
func (m *memory) drop(tooMuch func() bool) {
	for tooMuch() {
		m.bytes -= len(m.kept[0].m.Line)
		m.kept[0].m = nil // the array lives on until append needs a larger one
		m.kept = m.kept[1:]
	}
}

// after returns the events of a stream that follow one of it.
func (m *memory) after(stream string, number int) (events []event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.kept {
		if e.stream == stream && e.number > number {
			events = append(events, e.event)
		}
	}
	return events
}
