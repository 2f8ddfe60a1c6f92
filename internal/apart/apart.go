// Package apart runs functions that may have to be given up: a log that hangs, a store that
// does not answer, a part of an answer that ignores its context.
package apart

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// Grace is how long a function may take to return by itself when its time is over: its own error
// says more than that it took too long.
const Grace = 20 * time.Millisecond

var (
	// ErrLeft is the error of a function that was given up and still runs.
	ErrLeft = errors.New("it ignores the end of its time; it was left behind and still runs")
	// ErrGoexit is the error of a function that ended its goroutine.
	ErrGoexit = errors.New("it ended its goroutine with runtime.Goexit")
)

// A Room counts the functions that were given up and have not returned. The zero value is ready
// for use, by several goroutines.
type Room struct{ left atomic.Int32 }

// Left returns how many functions that were given up still run.
func (r *Room) Left() int { return int(r.left.Load()) }

// Run calls f in a goroutine of its own, because only that survives a function that blocks or
// calls [runtime.Goexit], and returns what f returned. A panic is returned as a
// [*fault.PanicError]. After limit, or [Grace] after over was closed, Run gives f up and returns
// ErrLeft. From then on room counts f until it returns, and late is called with its error; both
// may be nil. With a zero limit and a nil channel Run waits for f without a bound.
func Run[T any](room *Room, limit time.Duration, over <-chan struct{}, f func() (T, error), late func(error)) (T, error) {
	type reply struct {
		value T
		err   error
	}
	done := make(chan reply, 1) // the first to send decides: f if it returned in time, else Run
	go func() {
		got := reply{err: ErrGoexit}
		defer func() {
			if p := recover(); p != nil {
				got = reply{err: fault.Panicked(p, 1)}
			}
			select {
			case done <- got:
			default: // f was given up
				if room != nil {
					room.left.Add(-1)
				}
				if late != nil {
					late(got.err)
				}
			}
		}()
		deepen(false)
		got.value, got.err = f()
	}()
	var timer *time.Timer
	var ended <-chan time.Time
	if limit > 0 {
		timer = time.NewTimer(limit)
		ended = timer.C
	}
	for {
		select {
		case got := <-done:
			if timer != nil {
				timer.Stop()
			}
			return got.value, got.err
		case <-over:
			over = nil
			if timer == nil {
				timer = time.NewTimer(Grace)
				ended = timer.C
			}
		case <-ended:
			if room != nil {
				room.left.Add(1)
			}
			select {
			case done <- reply{}:
				var none T
				return none, ErrLeft
			default: // f has just returned
				if room != nil {
					room.left.Add(-1)
				}
				got := <-done
				return got.value, got.err
			}
		}
	}
}

// Reason returns the error of [Run] with limit as it is worded for a record.
func Reason(err error, limit time.Duration) error {
	if panicked, ok := err.(*fault.PanicError); ok {
		return errors.New("it panicked: " + safe.Value(panicked.Value))
	}
	if err == ErrLeft {
		return fmt.Errorf("it took more than %v", limit)
	}
	return err
}
