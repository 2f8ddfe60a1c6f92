package limit

import "github.com/modelcontextprotocol/go-sdk/mcp"

// Seen is what a test sees of a middleware.
type Seen struct{ l *limiter }

// NewSeen is New for a test that looks inside, with room for most buckets; zero means the default.
func NewSeen(seen *Seen, most int, opts *Options) mcp.Middleware {
	seen.l = newLimiter(*opts)
	if most > 0 {
		seen.l.table.most = most
	}
	return seen.l.middleware()
}

// Running returns how many calls run, counted once for each of their limits.
func (s *Seen) Running() (n int) {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	for i := range s.l.rules {
		n += s.l.rules[i].common.running
	}
	for _, b := range s.l.table.buckets {
		n += b.running
	}
	return n
}

// Queued returns how many calls wait.
func (s *Seen) Queued() int {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	return s.l.queued
}

// Buckets returns how many buckets there are.
func (s *Seen) Buckets() int {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	return len(s.l.table.buckets)
}
