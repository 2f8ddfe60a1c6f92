package retry

import (
	"maps"
	"time"
)

// opens reports whether the last change that a caller made, the success of a call of a tool that may
// write, allows one more run of a closed call: it was made in this pause. It may be one of the same tool
// with other arguments, which creates the table that a select lacks. A pause has one such run, so that a
// caller cannot alternate changes and failures without end.
func (c *count) opens(last time.Duration) bool {
	return last > 0 && last >= c.closed-c.pause && c.opened == 0
}

// refused is what this process knows of an owner whose calls are refused.
type refused struct {
	until time.Duration
	last  time.Duration // when it made its last change, zero if it made none
}

// closing reports whether any call may be refused now. A success pays no more than this for the
// feature.
func (m *memory) closing() bool {
	until := m.until.Load()
	if until == 0 {
		return false
	}
	if int64(time.Since(m.epoch)) < until {
		return true
	}
	m.until.CompareAndSwap(until, 0)
	return false
}

// closes notes that calls of an owner are refused for a time.
func (m *memory) closes(owner string, rest time.Duration) {
	p := m.part(owner)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Since(m.epoch)
	until := now + rest
	r := p.refused[owner]
	if r == nil {
		if len(p.refused) >= p.counts.most {
			p.dropRefused(now)
		}
		if p.refused == nil {
			p.refused = map[string]*refused{}
		}
		r = &refused{}
		p.refused[owner] = r
	}
	r.until = max(r.until, until)
	for {
		before := m.until.Load()
		if before >= int64(until) || m.until.CompareAndSwap(before, int64(until)) {
			return
		}
	}
}

// dropRefused makes room for one more owner: it drops those whose time is over, or else any others.
func (p *part) dropRefused(now time.Duration) {
	maps.DeleteFunc(p.refused, func(_ string, r *refused) bool { return r.until <= now })
	for owner := range p.refused {
		if len(p.refused) < p.counts.most {
			return
		}
		delete(p.refused, owner)
	}
}

// refuses reports whether calls of an owner are refused.
func (m *memory) refuses(owner string) bool {
	p := m.part(owner)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.refused[owner]
	return r != nil && r.until > time.Since(m.epoch)
}

// changed notes a change by an owner whose calls are refused.
func (m *memory) changed(owner string) {
	p := m.part(owner)
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.refused[owner]; r != nil {
		r.last = max(time.Since(m.epoch), r.last+1)
	}
}

// lastChange returns when an owner made its last change, zero if it made none.
func (m *memory) lastChange(owner string) time.Duration {
	p := m.part(owner)
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.refused[owner]; r != nil {
		return r.last
	}
	return 0
}
