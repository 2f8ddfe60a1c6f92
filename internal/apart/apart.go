// Package apart runs functions that may have to be given up. Examples are a log that hangs, a store that
// does not answer, and an item, a part or a call that ignores its context.
package apart

import (
	"errors"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// Grace is how long a function may take to return by itself when its time is over. Its own error says
// more than a timeout does.
const Grace = 20 * time.Millisecond

// ErrGoexit is the error of a function that has ended its goroutine.
var ErrGoexit = errors.New("it ended its goroutine with runtime.Goexit")

// A Work is a function that runs in a goroutine of its own, because only that survives a function
// that blocks or calls [runtime.Goexit]. A caller that no longer waits has given it up; nothing else
// happens then. All methods may be called concurrently.
type Work[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// Go runs f. A panic becomes a [*fault.PanicError].
func Go[T any](f func() (T, error)) *Work[T] {
	w := &Work[T]{done: make(chan struct{}), err: ErrGoexit}
	go func() {
		defer close(w.done)
		defer func() {
			if p := recover(); p != nil {
				w.err = fault.Panicked(p, 1)
			}
		}()
		w.value, w.err = f()
	}()
	return w
}

// Done is closed when the function has returned.
func (w *Work[T]) Done() <-chan struct{} { return w.done }

// Result waits for the function, and returns what it returned.
func (w *Work[T]) Result() (T, error) {
	<-w.done
	return w.value, w.err
}

// Within reports whether the function returns within a limit.
func (w *Work[T]) Within(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-w.done:
		return true
	case <-timer.C:
	}
	select {
	case <-w.done: // at the same moment
		return true
	default:
		return false
	}
}

// Until reports whether the function returns before over is closed or, after that, within a grace.
func (w *Work[T]) Until(over <-chan struct{}, grace time.Duration) bool {
	select {
	case <-w.done:
		return true
	case <-over:
		return w.Within(grace)
	}
}

// Reason words the error of a function that ran apart for a record.
func Reason(err error) error {
	if panicked, ok := err.(*fault.PanicError); ok {
		return errors.New("it panicked: " + safe.Value(panicked.Value))
	}
	return err
}
