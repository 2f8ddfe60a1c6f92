package front

import (
	"sync"
	"time"
)

// A memory keeps the last events of a session, for a client that has lost its connection. The oldest are
// forgotten first. It may be used concurrently.
type memory struct {
	purse purse // of the client that began the session

	mu    sync.Mutex
	kept  []keptEvent // in their order
	bytes int
}

type keptEvent struct {
	event

	stream string // its name
	by     string // the name of the credentials of its request
	at     time.Time
}

// The bounds of what is kept of a session, beside those of its caller and of all. The last event is kept whatever
// its size is, if they allow it.
const (
	maxKept      = 256
	maxKeptBytes = 2 << 20
	maxKeptTime  = 5 * time.Minute
)

func (m *memory) keep(stream, by string, e event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.purse.take(kept, len(e.m.Line)) != nil {
		if len(m.kept) == 0 {
			return
		}
		m.forgetFirst()
	}
	m.kept, m.bytes = append(m.kept, keptEvent{e, stream, by, time.Now()}), m.bytes+len(e.m.Line)
	for len(m.kept) > 1 && (len(m.kept) > maxKept || m.bytes > maxKeptBytes) {
		m.forgetFirst()
	}
}

// forget forgets everything.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.kept) > 0 {
		m.forgetFirst()
	}
}

// age forgets what is old.
func (m *memory) age() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.kept) > 0 && time.Since(m.kept[0].at) > maxKeptTime {
		m.forgetFirst()
	}
}

// forgetFirst forgets the oldest. The caller holds the lock.
func (m *memory) forgetFirst() {
	size := len(m.kept[0].m.Line)
	m.bytes -= size
	m.purse.give(kept, size)
	m.kept[0].m = nil // the array lives on until append needs a larger one
	m.kept = m.kept[1:]
}

// by returns the name of the credentials whose request a stream answers, "" if nothing of it is kept.
func (m *memory) by(stream string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.kept {
		if e.stream == stream {
			return e.by
		}
	}
	return ""
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
