// Package drain lets a server end without losing a call. New calls are refused, so that
// their callers go to another server. Running calls finish.
//
//	d := &drain.Drain{Lag: 2 * time.Second}
//	server.AddReceivingMiddleware(drain.New(&drain.Options{Drain: d}))
//	http.Handle("/livez", d.Live())
//	http.Handle("/readyz", d.Ready())
//	...
//	<-terminated // SIGTERM
//	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
//	defer cancel()
//	if err := d.Shutdown(ctx); err != nil {
//		log.Print(err) // names the calls that did not end
//	}
//	if err := httpServer.Shutdown(ctx); err != nil {
//		_ = httpServer.Close()
//	}
//
// [Drain.Shutdown] takes four steps:
//
//  1. Readiness falls, and for Drain.Lag calls are still accepted, so that a load
//     balancer has time to see it.
//  2. New calls are refused before their handlers run, and subscriptions end. Running calls
//     go on until the context of Shutdown ends, and so does the writing of answers.
//  3. The contexts of the calls that still run end, with [ErrShutdown] as their cause.
//     Handlers and answers have Drain.Grace to end.
//  4. The error names the calls that still run, and those whose answers are not written.
//
// Some work outlives the context of its call, such as that of package replay. Shutdown
// waits for it and ends it in the same way.
//
// A refused caller reads:
//
//	Service unavailable: this server is being replaced: another one will answer.
//	Retry: yes, after 1 s. Nothing was changed by this call.
//
// # Answers
//
// An answer is written after every middleware has returned. Shutdown knows when it is on
// the wire if [transport.HTTP] stands around the HTTP handler, or the server runs on
// [transport.Stdio]. Otherwise Shutdown returns when the handlers have returned, and logs a
// warning that says so.
//
// Package transport also ends the calls of clients that have gone, so that Shutdown does not
// wait for them.
//
// Over streamable HTTP, end the listener after Shutdown, as above. The awaited Shutdown of
// the HTTP server closes connections in good order, whereas Close resets those on which a
// client sends. Answers of a server that shuts down ask the client to use a new connection,
// so that its next call can reach another server. When Shutdown returns, the streams that
// clients hold open with GET end; otherwise the HTTP server would wait for them. A client
// of 2025-11-25 that has a session needs a new one with its next server, unless the handler
// is stateless.
//
// Over stdio the client ends the server by closing its input. The SDK then ends what is
// running; Shutdown, called after Server.Run has returned, waits until the handlers have
// returned. Where the server ends first, call Shutdown while Server.Run still runs.
//
// [transport.HTTP]: https://pkg.go.dev/github.com/mcpchain/mcpchain/transport#HTTP
// [transport.Stdio]: https://pkg.go.dev/github.com/mcpchain/mcpchain/transport#Stdio
package drain

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/exchange"
)

const defaultGrace = 2 * time.Second

// ErrShutdown is what context.Cause(ctx) returns for a call whose context [Drain.Shutdown]
// has ended.
var ErrShutdown = classify.ErrShutdown

// Options configure [New].
type Options struct {
	// Drain counts the calls and ends them. It is required, because only its method
	// Shutdown ends the server.
	Drain *Drain
}

// New returns a middleware that lets opts.Drain end calls. Several servers of a process may
// share one Drain. It panics without a Drain.
func New(opts *Options) mcp.Middleware {
	if opts == nil || opts.Drain == nil {
		panic("drain.New: Options.Drain is nil; give &drain.Drain{} and call its Shutdown when the server has to end")
	}
	return call.WrapLayer("drain.New", call.Func(opts.Drain.run), nil)
}

// A Drain ends the calls of a process in good order. The zero value is ready for use.
// Set the fields before the first call; all methods may be called concurrently.
type Drain struct {
	// Lag is how long calls are still accepted after readiness has fallen. Make it longer
	// than a load balancer takes to see that. Zero means not at all.
	Lag time.Duration

	// Grace is how long handlers may take to return after their contexts have ended.
	// Zero means 2 s; a negative one means not at all.
	Grace time.Duration

	mu       sync.Mutex
	lagUntil time.Time     // when readiness fell, plus Lag; zero before
	closing  chan struct{} // closed when calls are refused
	cutting  bool          // the contexts of calls have been ended
	running  map[*call.Call]*run
	writing  map[*run]struct{} // the handlers have returned, the answers are not written
	refusals map[*run]struct{} // refused calls whose answers are not written
	listens  map[*run]struct{}
	detached map[*work]struct{}
	idle     chan struct{} // closed when nothing is left to wait for; made by the first wait
	refused  int64

	fronts    map[*exchange.Front]struct{} // the HTTP handlers of calls
	carried   bool                         // a call had an Exchange
	uncarried *slog.Logger                 // the logger of the first call without an Exchange
}

// Running returns how many calls run now, without subscriptions.
func (d *Drain) Running() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.running)
}

// Refused returns how many calls were refused so far.
func (d *Drain) Refused() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refused
}

// Live returns a handler for a health check of the process: it always says 200.
func (d *Drain) Live() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
}

// Ready returns a handler for the health check of a load balancer. It answers 200, and 503
// after [Drain.Shutdown] has begun.
func (d *Drain) Ready() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		d.mu.Lock()
		unready := d.unready()
		d.mu.Unlock()
		if unready {
			http.Error(w, "shutting down", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
}

// unready reports whether Shutdown has begun.
func (d *Drain) unready() bool { return !d.lagUntil.IsZero() }

// closed reports whether calls are refused.
func (d *Drain) closed() bool {
	select {
	case <-d.closing: // never, while it is nil
		return true
	default:
		return false
	}
}
