package transport

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/exchange"
)

// Options configure [HTTP]. The zero value is the recommended default.
type Options struct {
	// Logger gets one record at level Info for each answer that is replaced. Nil means
	// [slog.Default] at the time of the record.
	Logger *slog.Logger

	// ResourceMetadata is the absolute URL of the metadata about this server as a protected
	// resource (RFC 9728), for the challenges that name none. Empty means the one that the guard
	// inside, such as auth.RequireBearerToken, names in its own challenge: HTTP asks it for that with
	// a HEAD request without a token. If it names none, clients look at the well-known places. Set it
	// if the guard makes its own of the header Host.
	ResourceMetadata string

	// Statuses answers a call that may be made again later with 429, if it was rate_limited, or 503,
	// if a service is not available, and with Retry-After. It is for hosts whose clients understand
	// that: most others give the text of such an answer to nobody. False means 200.
	Statuses bool

	// CancelOlder ends the calls of clients before 2026-07-28 too when their POST is abandoned, unless
	// the stream can be resumed. Before that version a closed connection is no cancellation: such
	// clients send notifications/cancelled, and a lost connection loses no work. False means that
	// only calls of newer clients end.
	CancelOlder bool

	// Bounds are for unknown clients. Each has a default.
	Bounds Bounds
}

// ErrAbandoned is the cause of the ended context of an abandoned call: its client has closed the
// connection or the stream, or an HTTP handler outside has given up the POST. errors.Is finds
// context.Canceled in it. See [HTTP].
var ErrAbandoned = exchange.ErrAbandoned

// HTTP returns a handler that stands around handler, the one that serves MCP:
//
//	http.Handle("/mcp", transport.HTTP(mcp.NewStreamableHTTPHandler(get, nil), nil))
//
// Put it outermost, also outside of auth.RequireBearerToken, which sends the text of the
// error that its verifier returns. opts may be nil. HTTP panics when handler is nil or an
// option makes no sense.
//
// # What is hidden
//
// The SDK's HTTP handler answers a request that it cannot read before any middleware runs,
// and its answers repeat raw parameters and name Go types. These are replaced:
//
//   - the text about a body that is not JSON, not a message or not a request that the server takes,
//     by a JSON-RPC error: -32700, -32600, or -32601 with the name of an unknown method. The
//     status stays, and so does what the SDK accepts;
//   - any other plain text with a status of 400 or above, by the text of the status, unless it
//     is a text of the SDK that repeats nothing of the request;
//   - a JSON-RPC error in words of the SDK that says the same, or how decoding failed, in a JSON
//     body or in an event.
//
// Each replacement has a reference, under which the log has the original. A JSON-RPC error
// above 64 KiB passes unchanged, and so does one that is written in several parts to a stream of
// events; the SDK writes each event at once.
//
// # Challenges
//
// When a call fails because its caller has to sign in again, or lacks a scope, and it came with
// a bearer token, the answer is a challenge (RFC 6750): 401 with error="invalid_token", or 403
// with error="insufficient_scope" and the scopes. The client then signs in and sends the same
// call again, and the model sees nothing of it. The program says so with
// [fault.Unauthenticated], or [fault.Denied] with [fault.Error.Needs]; with a rule of package
// mask; or, for what services refuse, with mask.Options.CallersCredentials.
//
// Because a challenge repeats the call, it is sent only if the call reads (ReadOnlyHint), is
// idempotent (IdempotentHint), was witnessed to have changed nothing, or if the handler
// returned the fault itself, which says that nothing was changed. Otherwise the answer is the
// usual one. So it is over stdio, for a batch, and after the header of the answer was written:
// with progress in a stream of events, or with an EventStore.
//
// The body of a challenge is a JSON-RPC error with the text of the failure. Challenges of a
// guard inside, such as auth.RequireBearerToken, get the error that they leave out.
//
// The answer to a call that package limit refuses has the headers RateLimit and
// RateLimit-Policy.
//
// # Abandoned calls
//
// For clients since 2026-07-28 a closed connection or stream is a cancellation: the context of the
// call ends, with [ErrAbandoned] as its cause, and the call is recorded as cancelled. For older clients
// that is so with Options.CancelOlder. A handler that must not be interrupted uses
// [context.WithoutCancel]; under an idempotency key package replay lets it go on, and keeps its
// answer. Subscriptions end as the SDK ends them. Of several calls in one POST, which a batch was
// before 2025-06-18, the SDK may end some first, with a cause of its own. It is the first middleware of
// this module that ends the context, so what stands outside of it goes on.
//
// # Bodies
//
// [Options.Bounds] are for unknown clients. They bound the size of a body, the time that it takes, and the
// bytes of all bodies of one caller and of all callers. A body is kept once, and grows as its bytes arrive.
// It is an interface{ Bytes() ([]byte, error) }, which reads it to its end and returns it: a
// handler that uses that in the place of [io.ReadAll] makes no copy.
//
// # When an answer is on the wire
//
// [net/http] writes the rest of an answer after its handler has returned. HTTP flushes the
// answer to a POST before: one in JSON, to which it adds a Content-Length, and a stream of
// events. So the client has the complete answer when package drain counts it as written.
//
// When a [drain.Drain] has been shut down, the streams that clients opened with GET end, so
// that [http.Server.Shutdown] does not wait for them. Answers that are written after
// readiness has fallen ask the client to use another connection.
//
// [drain.Drain]: https://pkg.go.dev/github.com/mcpchain/mcpchain/drain#Drain
func HTTP(handler http.Handler, opts *Options) http.Handler {
	if handler == nil {
		panic("transport.HTTP: handler is nil; give the handler that serves MCP")
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	front, says := &exchange.Front{CancelOlder: o.CancelOlder}, newChallenges(handler, &o)
	limits := newLimits(o.Bounds)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithCancel(req.Context())
		defer cancel()
		a := &answer{ResponseWriter: w, logger: o.Logger, request: req, challenges: says, limits: limits, cancel: cancel}
		header := exchange.Without(req.Header)
		switch req.Method {
		case http.MethodPost:
			a.exchange, header = front.New(req.Header)
			defer a.exchange.End() // after a panic too
			defer a.await(req.Context())()
		case http.MethodGet:
			defer front.Stream(cancel)()
		}
		defer a.part()
		inner := req.WithContext(ctx)
		inner.Header = header
		a.watch(inner)
		handler.ServeHTTP(a, inner)
		a.part() // before the client knows that the call has ended
		a.end()
	})
}

// part gives back what the answer and its request hold of the quotas.
func (a *answer) part() {
	if a.leave != nil {
		a.leave()
		a.leave = nil
	}
	if a.posted.held > 0 {
		a.posted.giveBack(a.posted.held)
	}
}

// await ends the calls of the POST when it is abandoned. Call done when the answer is written: net/http ends
// the context then, too.
func (a *answer) await(ctx context.Context) (done func()) {
	stop := context.AfterFunc(ctx, a.exchange.Abandon)
	return func() {
		if stop(); ctx.Err() != nil { // the handler may have seen that first
			a.exchange.Abandon()
		}
	}
}

// An answer is a ResponseWriter that replaces what a client should not read. Its method end puts the rest on
// the wire.
type answer struct {
	http.ResponseWriter

	logger   *slog.Logger
	request  *http.Request
	exchange *exchange.Exchange

	challenges *challenges
	posted     posted
	single     bool // see alone

	limits *limits
	cancel context.CancelFunc // ends the handler inside
	leave  func()             // gives back the count of a lasting stream; nil for any other answer

	status int  // what was given to WriteHeader; 0 before that
	kept   kept // why body is held back
	wrote  bool // a part was written that was not kept back
	body   bytes.Buffer
}

// kept says why the header of an answer and its first part are held back.
type kept uint8

const (
	nothing kept = iota
	text         // the text of an error, until it is complete
	message      // a JSON message, until it is complete or too long to be checked
)

// Unwrap is for [http.ResponseController].
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Flush implements [http.Flusher].
func (a *answer) Flush() { _ = a.FlushError() }

// FlushError is for [http.ResponseController].
func (a *answer) FlushError() error {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.kept != nothing {
		return nil
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// WriteHeader keeps the header back until it is known what the answer will be.
func (a *answer) WriteHeader(status int) {
	if a.kept != nothing {
		return // the first one holds
	}
	if status < http.StatusOK || a.status != 0 {
		a.ResponseWriter.WriteHeader(status)
		return
	}
	a.status = status
	if a.admit(); a.posted.refusal != nil {
		a.kept = text
		return
	}
	a.say()
	status = a.status
	header := a.Header()
	switch kind := header.Get("Content-Type"); {
	case status >= http.StatusBadRequest && strings.HasPrefix(kind, "text/plain"):
		a.kept = text
	case a.exchange != nil && strings.HasPrefix(kind, "application/json") &&
		header["Content-Encoding"] == nil && !a.longer(maxPart):
		header.Del("Content-Length") // complete sets it
		a.kept = message
	default:
		a.writeHeader()
	}
}

// longer reports whether the Content-Length of the answer exceeds most. Such an answer is never replaced.
func (a *answer) longer(most int) bool {
	size, err := strconv.Atoi(a.Header().Get("Content-Length"))
	return err == nil && size > most
}

func (a *answer) writeHeader() {
	a.kept = nothing
	if a.exchange != nil && a.exchange.Leaves() {
		a.Header().Set("Connection", "close")
	}
	a.ResponseWriter.WriteHeader(a.status)
}

// Write writes a part of the answer, or its replacement, or keeps it back.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.kept == text {
		a.body.Write(p[:min(len(p), max(0, maxPart-a.body.Len()))])
		return len(p), nil
	}
	part := p
	if a.single {
		if part = alone(p); part == nil {
			return len(p), nil
		}
	}
	if a.kept == message {
		if a.body.Len() <= maxPart {
			a.body.Write(part)
			return len(p), nil
		}
		if err := a.release(); err != nil {
			return 0, err
		}
	}
	if !a.longer(maxPart) {
		part = a.masked(part)
	}
	a.wrote = true
	if a.exchange != nil && hasID(part) && strings.HasPrefix(a.Header().Get("Content-Type"), "text/event-stream") {
		a.exchange.Resumable()
	}
	if n, err := a.ResponseWriter.Write(part); err != nil {
		return min(n, len(p)), err
	}
	return len(p), nil
}

// hasID reports whether a part of a stream of events has the ID of an event. It reads only the short lines
// before the data.
func hasID(part []byte) bool {
	for line := range bytes.Lines(part) {
		if bytes.HasPrefix(line, []byte("id:")) {
			return true
		}
		if bytes.HasPrefix(line, []byte("data:")) {
			break
		}
	}
	return false
}

func (a *answer) release() error {
	a.writeHeader()
	_, err := a.ResponseWriter.Write(a.body.Bytes())
	a.wrote, a.body = true, bytes.Buffer{}
	return err
}

// end writes what was kept back, and flushes what net/http would write later.
func (a *answer) end() {
	switch a.kept {
	case text:
		a.replaceText()
	case message:
		a.body = *bytes.NewBuffer(a.masked(a.body.Bytes()))
	case nothing:
		if a.exchange == nil || !a.wrote { // a flush would make chunks of it
			return
		}
	}
	if a.kept != nothing { // the whole answer
		if a.body.Len() > 0 {
			a.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
		}
		_ = a.release()
	}
	_ = http.NewResponseController(a.ResponseWriter).Flush()
}
