package transport

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/internal/exchange"
)

// posted is what a client sends with POST. It keeps what was read of it, to find out what is wrong with it,
// notes whether it is a batch, and ends when it exceeds a bound.
type posted struct {
	io.ReadCloser

	bounds   *Bounds
	conn     *http.ResponseController
	length   int64 // which the client announced; negative if it did not
	exchange *exchange.Exchange
	begun    bool // the server has read of it
	body     bytes.Buffer
	opened   bool // the first character was read that is not blank

	failed  error    // with which reading ended, io.EOF included
	refusal *refusal // of a body or a stream that exceeds a bound, else nil
}

// watch makes the answer know the body of its request.
func (a *answer) watch(req *http.Request) {
	if a.exchange == nil || req.Body == nil {
		return
	}
	a.posted = posted{
		ReadCloser: req.Body, bounds: a.bounds, conn: http.NewResponseController(a.ResponseWriter), length: req.ContentLength, exchange: a.exchange,
	}
	if a.bounds.BodyBytes > 0 {
		a.posted.ReadCloser = http.MaxBytesReader(a.ResponseWriter, req.Body, a.bounds.BodyBytes)
	}
	req.Body = &a.posted
}

// Read implements [io.Reader].
func (b *posted) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	if !b.begun {
		b.begun = true
		if most := b.bounds.BodyBytes; most > 0 && b.length > most {
			return 0, b.end(&http.MaxBytesError{Limit: most})
		}
		if b.bounds.BodyTime > 0 {
			// Where it is not supported there is no bound. net/http removes it at the end of the body.
			_ = b.conn.SetReadDeadline(time.Now().Add(b.bounds.BodyTime))
		}
	}
	n, err := b.ReadCloser.Read(p)
	b.body.Write(p[:n])
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

// end notes why there is nothing more to read, and returns that.
func (b *posted) end(err error) error {
	b.failed, b.refusal = err, b.bounds.exceeded(err)
	return err
}
