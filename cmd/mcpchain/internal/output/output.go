// Package output writes lines to a place that may not take them: a standard error that nobody reads, a
// disk that hangs. No writer waits for it.
//
//	out := output.New(os.Stderr, output.Options{Dropped: func(w io.Writer, n int) { fmt.Fprintln(w, n, "lines were dropped") }})
//	defer out.Flush(time.Second)
package output

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// Bytes is how much an Output holds by default.
const Bytes = 256 << 10

// Options configure an Output.
type Options struct {
	// Bytes is how much is held until it is written. Zero means [Bytes]. A line that is longer is held
	// if it is the only one.
	Bytes int

	// Dropped writes a line that says how many were dropped. Required.
	Dropped func(w io.Writer, n int)

	// Otherwise gets the lines that the place refuses with an error. Nil means that they are lost.
	Otherwise io.Writer
}

// An Output is an io.Writer. It holds lines until its own goroutine has written them, each with one call. If it is
// full, lines are dropped until half of it is free. All methods may be called concurrently.
type Output struct {
	to io.Writer
	Options

	mu      sync.Mutex
	held    []byte // whole lines
	taken   int    // bytes of the line that is being written
	full    bool
	dropped int
	idle    chan struct{} // closed when nothing is held any more; nil if nothing is
}

// New returns an Output that writes to a place.
func New(to io.Writer, opts Options) *Output {
	if opts.Bytes == 0 {
		opts.Bytes = Bytes
	}
	return &Output{to: to, Options: opts}
}

// Write takes whole lines, or drops them. It returns at once, and never an error.
func (o *Output) Write(lines []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	used := len(o.held) + o.taken
	if o.full = o.full || used > 0 && used+len(lines) > o.Bytes; o.full {
		o.dropped++
		return len(lines), nil
	}
	o.held = append(o.held, lines...)
	if o.idle == nil && len(lines) > 0 {
		o.idle = make(chan struct{})
		go o.drain()
	}
	return len(lines), nil
}

// drain writes what is held, and ends when that is all.
func (o *Output) drain() {
	for line := o.next(); line != nil; line = o.next() {
		if _, err := o.to.Write(line); err != nil && o.Otherwise != nil {
			_, _ = o.Otherwise.Write(line)
		}
	}
}

// next takes the next line. The record of what was dropped follows what was held then.
func (o *Output) next() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = 0
	if o.full && len(o.held) <= o.Bytes/2 {
		var record bytes.Buffer
		o.Dropped(&record, o.dropped)
		o.held = append(o.held, record.Bytes()...)
		o.full, o.dropped = false, 0
	}
	if len(o.held) == 0 {
		close(o.idle)
		o.held, o.idle = nil, nil
		return nil
	}
	end := bytes.IndexByte(o.held, '\n') + 1
	if end == 0 {
		end = len(o.held)
	}
	line := o.held[:end:end]
	o.held, o.taken = o.held[end:], end
	return line
}

// Flush waits until everything is written, but no longer than most.
func (o *Output) Flush(most time.Duration) {
	o.mu.Lock()
	idle := o.idle
	o.mu.Unlock()
	if idle == nil {
		return
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}
