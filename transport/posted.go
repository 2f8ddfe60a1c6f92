package transport

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/internal/exchange"
)

// posted is the body of a POST. It keeps what was read, to find out what is wrong with it, notes whether it
// is a batch, and ends when it exceeds a bound.
type posted struct {
	io.ReadCloser

	limits   *limits
	request  *http.Request
	exchange *exchange.Exchange
	begun    bool // a part was read
	kept     []byte
	opened   bool // a character that is not blank was read

	caller string // the holder of the bytes
	held   int64  // how many are counted

	failed  error    // the end of reading, io.EOF included
	refusal *refusal // of a body or a stream that exceeds a bound, or nil
}

// watch keeps the body of the request, and bounds the time that it takes. The server also waits for the rest
// of a body that no handler reads.
func (a *answer) watch(req *http.Request) {
	if req.Body == nil {
		return
	}
	if a.limits.BodyTime > 0 && req.Body != http.NoBody {
		// Some writers support no deadline. net/http removes it at the end of the body.
		_ = http.NewResponseController(a.ResponseWriter).SetReadDeadline(time.Now().Add(a.limits.BodyTime))
	}
	if a.exchange == nil {
		return
	}
	a.posted = posted{ReadCloser: req.Body, limits: a.limits, request: a.request, exchange: a.exchange}
	if a.limits.BodyBytes > 0 {
		a.posted.ReadCloser = http.MaxBytesReader(a.ResponseWriter, req.Body, a.limits.BodyBytes)
	}
	req.Body = &a.posted
}

// Read implements [io.Reader].
func (b *posted) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	if !b.begun {
		b.begun, b.caller = true, b.limits.ofBody(b.request)
		if limit := b.limits.BodyBytes; limit > 0 && b.request.ContentLength > limit {
			return 0, b.end(&http.MaxBytesError{Limit: limit})
		}
	}
	n, err := b.ReadCloser.Read(p)
	if exceeded := b.keep(p[:n]); exceeded != nil {
		return 0, b.end(exceeded)
	}
	if start := bytes.TrimLeft(p[:n], " \t\r\n"); !b.opened && len(start) > 0 {
		b.opened = true
		if start[0] == '[' {
			b.exchange.Batch()
		}
	}
	if err != nil {
		return n, b.end(err)
	}
	return n, nil
}

// Bytes reads the body to its end and returns all of it, which from then on belongs to the caller. See [HTTP].
func (b *posted) Bytes() ([]byte, error) {
	for part := make([]byte, 32<<10); b.failed == nil; {
		_, _ = b.Read(part) // failed has the error
	}
	if !errors.Is(b.failed, io.EOF) {
		return nil, b.failed
	}
	return b.kept, nil
}

const (
	leastArray = 4 << 10
	growth     = 4 // of the array; if the length is unknown, it grows by a quarter
)

// keep appends a part of the body and counts the bytes for the caller, unless a bound does not allow them.
// The array grows with what has come: a client that announces much and sends little takes little.
func (b *posted) keep(part []byte) error {
	if need := len(b.kept) + len(part); need > cap(b.kept) {
		size, most := max(leastArray, growth*len(b.kept)), b.request.ContentLength
		if most < int64(need) { // unknown, or a handler outside decodes the body
			size, most = max(leastArray, len(b.kept)+len(b.kept)/growth), b.limits.BodyBytes
		}
		if most > 0 {
			size = int(min(int64(size), most))
		}
		size = max(size, need)
		more := int64(size - cap(b.kept))
		if exceeded := b.limits.bodies.Take(b.caller, more); exceeded != nil {
			return exceeded
		}
		b.held += more
		b.kept = append(make([]byte, 0, size), b.kept...)
	}
	b.kept = append(b.kept, part...)
	return nil
}

func (b *posted) giveBack(n int64) {
	b.held -= n
	b.limits.bodies.Give(b.caller, n)
}

// end notes why reading ended, and returns that.
func (b *posted) end(err error) error {
	b.failed, b.refusal = err, b.limits.exceeded(err, b.caller)
	return err
}
