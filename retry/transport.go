package retry

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// TransportOptions configure [Transport]. The zero value is the recommended default.
type TransportOptions struct {
	// Safe reports whether a request changes nothing although its method is not safe, such as a
	// POST that only searches. It is not called for GET, HEAD, OPTIONS and TRACE, and may be called
	// concurrently. A panic counts as false. Nil: the method alone decides.
	Safe func(*http.Request) bool
}

// Transport returns a RoundTripper that sends requests through base and notes what becomes of those
// that may change something. The notes go to the call that the request's context belongs to: if
// that call fails, its answer says whether a part of it took effect. base may be nil, for
// [http.DefaultTransport]; opts may be nil.
//
//	client := &http.Client{Transport: retry.Transport(nil, nil)}
//	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body) // ctx is the handler's
//
// A request whose method is not safe (RFC 9110, section 9.2.1)
//
//   - took effect if it was answered with a status from 200 to 299, but for 202 (accepted, and not yet
//     done) and 207 (each part has a status of its own);
//   - changed nothing if no byte of it was written, as after a refused connection, or if it was answered with a
//     status from 400 to 451, but for 408;
//   - is not known to have taken effect or not in all other cases: no answer came, the answer's body broke off, the
//     service failed (5xx), it answered with a redirect, or base sent the request twice.
//
// What base writes is seen through [net/http/httptrace]. A base that reports nothing there, such as a stub or
// a client of HTTP/3, may send a request twice unseen: of its requests only success is known.
//
// A service that answers 200 to a request that it refused, as GraphQL and JSON-RPC do, would be
// misunderstood: return true from Safe for its requests, and say with [Began] how each of them
// ended.
//
// Requests and answers pass as they are; only the body of an answer is read through a reader that notices
// that it breaks off. A request outside of a call, and one that is safe, goes to base untouched. The RoundTripper
// may be used concurrently. Its CloseIdleConnections is that of base.
func Transport(base http.RoundTripper, opts *TransportOptions) http.RoundTripper {
	t := &witness{base: base}
	if opts != nil {
		t.TransportOptions = *opts
	}
	return t
}

type witness struct {
	TransportOptions

	base http.RoundTripper // nil: http.DefaultTransport
}

// RoundTrip sends a request and notes what becomes of it.
func (t *witness) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if t.safe(req) {
		return t.next().RoundTrip(req)
	}
	ledger := call.LedgerOf(ctx)
	if ledger == nil {
		return t.next().RoundTrip(req)
	}
	if ctx.Err() != nil { // now, because base may not say that it wrote nothing
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, context.Cause(ctx)
	}
	x := &exchange{}
	x.Begin(ledger)
	x.trace.GetConn, x.trace.WroteHeaderField, x.trace.WroteHeaders = x.connects, x.writesField, x.wrote
	sent := req.WithContext(httptrace.WithClientTrace(ctx, &x.trace))
	res, err := t.next().RoundTrip(sent)
	if err != nil || res == nil {
		x.End(x.unanswered())
		return res, err
	}
	if res.Request == sent {
		res.Request = req
	}
	x.answered(res)
	return res, nil
}

// CloseIdleConnections closes those of base.
func (t *witness) CloseIdleConnections() {
	if c, ok := t.next().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *witness) next() http.RoundTripper {
	if t.base == nil {
		return http.DefaultTransport
	}
	return t.base
}

// safe reports whether a request changes nothing.
func (t *witness) safe(req *http.Request) (yes bool) {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	if t.Safe == nil {
		return false
	}
	_, panicked := safe.Call(func() { yes = t.Safe(req) }, nil)
	return yes && !panicked
}

// An exchange is a request that may change something, and its answer, whose body it reads.
type exchange struct {
	call.Change

	trace  httptrace.ClientTrace
	traced atomic.Bool  // base says what it does with connections
	began  atomic.Bool  // it may have written something
	writes atomic.Int32 // how often it has written the headers, without which a server does nothing
	body   io.ReadCloser
	closed atomic.Bool
}

func (x *exchange) connects(string) { x.traced.Store(true) }
func (x *exchange) wrote()          { x.writes.Add(1) }

// writesField is called before a byte is on the wire, in HTTP/2 too, where wrote is called after them all, by a goroutine
// that the request does not wait for.
func (x *exchange) writesField(string, []string) { x.began.Store(true) }

// unanswered returns the effect of a request that has no answer.
func (x *exchange) unanswered() fault.Effect {
	if x.traced.Load() && !x.began.Load() && x.writes.Load() == 0 {
		return fault.EffectNone
	}
	return fault.EffectUnknown
}

// answered notes what the status of an answer says about the request, and watches the answer's
// body.
func (x *exchange) answered(res *http.Response) {
	became := effectOf(res.StatusCode)
	if became == fault.EffectNone && (!x.traced.Load() || x.writes.Load() > 1) { // the effect of earlier ones is unknown
		became = fault.EffectUnknown
	}
	x.End(became)
	if became != fault.EffectCommitted || res.Body == nil || res.Body == http.NoBody {
		return
	}
	switch res.Body.(type) {
	case io.WriterTo, io.Writer: // it stands in memory, or is a connection
		return
	}
	x.body, res.Body = res.Body, x
}

// effectOf returns what a status says about the effect of a request that is not safe.
func effectOf(status int) fault.Effect {
	switch {
	case status == http.StatusAccepted, status == http.StatusMultiStatus, status == http.StatusRequestTimeout:
		return fault.EffectUnknown
	case status >= 200 && status < 300:
		return fault.EffectCommitted
	case status >= 400 && status <= http.StatusUnavailableForLegalReasons:
		return fault.EffectNone
	default:
		return fault.EffectUnknown
	}
}

// Read reads the body of the answer. A body that breaks off before its reader closes it may have
// said that the service failed after all.
func (x *exchange) Read(p []byte) (int, error) {
	n, err := x.body.Read(p)
	if err != nil && err != io.EOF && !x.closed.Load() {
		x.End(fault.EffectUnknown)
	}
	return n, err
}

// Close closes the body of the answer.
func (x *exchange) Close() error {
	x.closed.Store(true)
	return x.body.Close()
}
