package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/transport"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/child"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/front"
)

// lastAnswers bounds how long connections, and then servers, may take to end when all calls have ended.
const lastAnswers = 5 * time.Second

// serve serves HTTP until ctx ends. Then it takes no more calls, and returns when those that run have been
// answered, or have had their time.
func (r *running) serve(ctx context.Context) int {
	log := r.parts.Logger
	fail := func(what string, err error, status int) int {
		log.ErrorContext(ctx, "the program over HTTP", slog.String("what", what), slog.String("error", r.parts.Hide(err.Error())))
		return status
	}
	if len(r.Command) > 0 { // before the first client finds out
		if err := child.Look(r.Command); err != nil {
			return fail("the server cannot be started", err, 127)
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", r.HTTP)
	if err != nil {
		return fail("the address cannot be served", err, exitFailed)
	}
	proxies, err := r.Proxies()
	if err != nil { // cannot be: it was checked
		return fail("the trusted proxies cannot be read", err, exitUsage)
	}
	opts := front.Options{Proxy: r.opts, Logger: log, Sessions: r.Sessions, Idle: time.Duration(r.Idle), Proxies: proxies}
	if r.PassAuthorization {
		opts.Start = r.start
	}
	f := front.New(opts)
	endpoint := transport.HTTP(f, &transport.Options{Logger: log, Bounds: f.Bounds()})
	streams, endStreams := context.WithCancel(context.WithoutCancel(ctx))
	defer endStreams()
	web := &http.Server{
		Handler:           front.Patient(r.Mux(listening(streams, endpoint), r.parts.Drain)),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 256 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelInfo),
	}
	silent := &unused{conns: map[net.Conn]bool{}}
	web.ConnState = silent.note
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	log.InfoContext(ctx, "serving", slog.String("url", "http://"+listener.Addr().String()+r.Path))
	if tcp, ok := listener.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		log.WarnContext(ctx, "who reaches this address can use the server: put a proxy in front that says who may")
	}
	status := exitOK
	select {
	case err = <-served:
		status = fail("the address is not served any more", err, exitFailed)
	case <-ctx.Done():
	}
	calls, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(r.Lag)+time.Duration(r.Drain))
	defer cancel()
	if err := r.parts.Drain.Shutdown(calls); err != nil {
		status = fail("calls did not end", err, exitFailed)
	}
	endStreams() // clients open them again when they end
	silent.close()
	last, done := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
	defer done()
	if err := web.Shutdown(last); err != nil && !errors.Is(err, http.ErrServerClosed) {
		status = fail("connections did not end", err, exitFailed)
		_ = web.Close()
	}
	f.Close(last)
	return status
}

// listening ends the streams that clients open with GET when ctx ends: web.Shutdown would wait for them.
func listening(ctx context.Context, endpoint http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet {
			stream, end := context.WithCancel(req.Context())
			defer end()
			defer context.AfterFunc(ctx, end)()
			req = req.WithContext(stream)
		}
		endpoint.ServeHTTP(w, req)
	})
}

// unused are the connections on which nothing was sent yet. Clients open some in advance, and [http.Server.Shutdown]
// waits for each of them for 5 s.
type unused struct {
	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
}

func (u *unused) note(conn net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(u.conns, conn)
	case u.closed:
		_ = conn.Close()
	default:
		u.conns[conn] = true
	}
}

// close closes them, and those that come.
func (u *unused) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for conn := range u.conns {
		_ = conn.Close()
	}
}
