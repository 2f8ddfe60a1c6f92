package batch

import (
	"iter"
	"sync/atomic"
)

// sequence is the source of an iter.Seq, which only one goroutine at a time may read.
type sequence[In any] struct {
	lock   chan struct{} // holds one element while the sequence runs, which may be long
	read   func() (In, bool)
	halt   func()
	count  int
	closed atomic.Bool
	end    atomic.Bool
}

// newSequence returns the source of items. panicked is told of a panic where it happens:
// iter.Pull, which hands it on, loses its stack.
func newSequence[In any](items iter.Seq[In], panicked func(any)) *sequence[In] {
	read, halt := iter.Pull(func(yield func(In) bool) {
		defer func() {
			if p := recover(); p != nil {
				panicked(p)
				panic(p)
			}
		}()
		items(yield)
	})
	return &sequence[In]{lock: make(chan struct{}, 1), read: read, halt: halt}
}

func (s *sequence[In]) next() (i int, in In, ok bool) {
	s.lock <- struct{}{}
	defer func() {
		<-s.lock
		if s.closed.Load() {
			s.close() // in the place of whoever closed it meanwhile and did not wait
		}
	}()
	if s.closed.Load() || s.end.Load() {
		return 0, in, false
	}
	if in, ok = s.read(); !ok {
		s.end.Store(true)
		return 0, in, false
	}
	s.count++
	return s.count - 1, in, true
}

func (s *sequence[In]) close() {
	s.closed.Store(true)
	select {
	case s.lock <- struct{}{}:
		defer func() { <-s.lock }()
		s.halt()
	default:
	}
}

func (s *sequence[In]) exhausted() bool { return s.end.Load() }
