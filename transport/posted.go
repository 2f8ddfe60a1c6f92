package transport

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/internal/exchange"
)

// posted is what a client sends with POST. It keeps what was read of it, to find out what is wrong with it,
// notes whether it is a batch, and ends when it exceeds a bound.
type posted struct {
	io.ReadCloser

	limits   *limits
	request  *http.Request
	exchange *exchange.Exchange
	begun    bool // the server has read of it
	kept     buffer
	opened   bool // the first character was read that is not blank

	caller string // who holds the bytes
	held   int64  // how many are counted

	failed  error    // with which reading ended, io.EOF included
	refusal *refusal // of a body or a stream that exceeds a bound, else nil
}

// watch makes the answer know the body of its request, and bounds the time that it takes: the server waits for
// the rest of a body that no handler reads, too.
func (a *answer) watch(req *http.Request) {
	if req.Body == nil {
		return
	}
	if a.limits.BodyTime > 0 && req.Body != http.NoBody {
		// Where it is not supported there is no bound. net/http removes it at the end of the body.
		_ = http.NewResponseController(a.ResponseWriter).SetReadDeadline(time.Now().Add(a.limits.BodyTime))
	}
	if a.exchange == nil {
		return
	}
	a.posted = posted{ReadCloser: req.Body, limits: a.limits, request: a.request, exchange: a.exchange, kept: buffer{announced: req.ContentLength, most: a.limits.BodyBytes}}
	if a.limits.BodyBytes > 0 {
		a.posted.ReadCloser = http.MaxBytesReader(a.ResponseWriter, req.Body, a.limits.BodyBytes)
	}
	req.Body = &a.posted
}

// Read implements [io.Reader].
func (b *posted) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	read, err := b.read(len(p))
	copy(p, read)
	return len(read), err
}

// Bytes reads the body to its end and returns all of it, which from then on belongs to who called it. See [HTTP].
func (b *posted) Bytes() ([]byte, error) {
	for b.failed == nil {
		_, _ = b.read(mostArray) // failed has the error
	}
	if !errors.Is(b.failed, io.EOF) {
		return nil, b.failed
	}
	whole := b.kept.whole()
	b.giveBack(b.held - int64(b.kept.held()))
	return whole, nil
}

// read reads at most so many bytes of the body, and keeps them.
func (b *posted) read(most int) (read []byte, err error) {
	if b.failed != nil {
		return nil, b.failed
	}
	if !b.begun {
		b.begun, b.caller = true, b.limits.ofBody(b.request)
		if limit := b.limits.BodyBytes; limit > 0 && b.kept.announced > limit {
			return nil, b.end(&http.MaxBytesError{Limit: limit})
		}
	}
	var rest [1]byte
	room := rest[:]
	if !b.kept.complete() {
		if room, err = b.room(); err != nil {
			return nil, b.end(err)
		}
		room = room[:min(len(room), most)]
	}
	n, err := b.ReadCloser.Read(room)
	if read = room[:n]; n > 0 {
		if b.kept.complete() { // this is behind its end
			if room, err := b.room(); err == nil {
				copy(room, read)
			} else {
				return nil, b.end(err)
			}
		}
		read = b.kept.commit(n)
	}
	if start := bytes.TrimLeft(read, " \t\r\n"); !b.opened && len(start) > 0 {
		b.opened = true
		if start[0] == '[' {
			b.exchange.Batch()
		}
	}
	if err != nil {
		return read, b.end(err)
	}
	return read, nil
}

// room returns where the next bytes go.
func (b *posted) room() ([]byte, error) {
	if need := b.kept.need(); need > 0 {
		if err := b.count(need); err != nil {
			return nil, err
		}
		b.kept.grow()
	}
	return b.kept.room(), nil
}

// count counts bytes for the caller, unless a bound does not allow them.
func (b *posted) count(n int) error {
	if exceeded := b.limits.bodies.Take(b.caller, int64(n)); exceeded != nil {
		return exceeded
	}
	b.held += int64(n)
	return nil
}

func (b *posted) giveBack(n int64) {
	b.held -= n
	b.limits.bodies.Give(b.caller, n)
}

// end notes why there is nothing more to read, and returns that.
func (b *posted) end(err error) error {
	b.failed, b.refusal = err, b.limits.exceeded(err, b.caller)
	return err
}
