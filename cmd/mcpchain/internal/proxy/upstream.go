package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// An upstream is one run of the server, and the requests that it has not answered.
type upstream struct {
	proxy   *Proxy
	process Server
	queue   chan outgoing // for the server
	ended   chan struct{} // closed when it has ended and all requests were answered

	heard atomic.Int64 // when it last wrote a line, see now; zero if it never did
	cause atomic.Pointer[error]
	gone  bool // it has ended; guarded by the mutex of the Proxy

	mu      sync.Mutex
	waiting map[string]*waiter // by the keys of IDs; nil when the run has ended
}

// outgoing is a message for the server, nil to close its input.
type outgoing struct {
	m   *rpc.Message
	key string // of the request that it is, "" for what is none that is waited for
}

// A waiter waits for what becomes of a request.
type waiter struct {
	got  chan reply
	sent bool // the server may have it
}

// A reply is what became of a request.
type reply struct {
	m      *rpc.Message    // as the server wrote it, nil if it did not
	result json.RawMessage // of a success
	wire   *jsonrpc.Error  // the server's own error
	err    error           // there is no answer of the server's
	lost   bool            // because its session was lost; see [rpc.FailedError]
}

// epoch makes time.Since read the monotonic clock only.
var epoch = time.Now()

func now() int64 { return int64(time.Since(epoch)) }

// start starts the server.
func (p *Proxy) start() (*upstream, error) {
	process, err := p.beginRun()
	if err != nil {
		return nil, err
	}
	u := &upstream{
		proxy: p, process: process, queue: make(chan outgoing, 64),
		ended: make(chan struct{}), waiting: map[string]*waiter{},
	}
	go u.write()
	go u.read()
	if p.Hang > 0 && p.Start == nil { // what was not started here is not ended here
		go u.watch()
	}
	return u, nil
}

// write writes lines until the process has ended. It is apart, because a server that hangs does not read.
func (u *upstream) write() {
	for {
		select {
		case o := <-u.queue:
			if o.m == nil {
				u.process.EndInput()
				return
			}
			if o.key != "" && !u.sends(o.key) {
				continue
			}
			if err := u.process.Write(o.m); err != nil {
				return // it has ended, or closed its input, and read finds out
			}
		case <-u.process.Ended():
			return
		}
	}
}

// sends notes that a request is sent, and reports whether anybody waits for it.
func (u *upstream) sends(key string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	w := u.waiting[key]
	if w == nil {
		return false
	}
	w.sent = true
	return true
}

// send gives a message to the server, if it still runs.
func (u *upstream) send(m *rpc.Message) {
	select {
	case u.queue <- outgoing{m, ""}:
	case <-u.process.Ended():
	}
}

var (
	// errEnded says that a request was not sent, because the run has ended.
	errEnded = errors.New("the server has ended")
	// errUsed says that a request was not sent, because another one has its ID.
	errUsed = errors.New("the ID is that of a request that is not answered yet")
)

// renamed sends a request under an ID that no other request has.
func (u *upstream) renamed(ctx context.Context, m *rpc.Message) (reply, error) {
	for {
		if r, err := u.ask(ctx, m.With(rpc.RandomID(), "id"), func() {}); !errors.Is(err, errUsed) {
			return r, err
		}
	}
}

// ask sends a request and waits for what becomes of it. sent is called once the message has its place
// among those that are sent.
func (u *upstream) ask(ctx context.Context, m *rpc.Message, sent func()) (reply, error) {
	got := make(chan reply, 1)
	key := m.ID.Key()
	u.mu.Lock()
	switch {
	case u.waiting == nil:
		u.mu.Unlock()
		return reply{}, errEnded
	case u.waiting[key] != nil:
		u.mu.Unlock()
		return reply{}, errUsed
	}
	u.waiting[key] = &waiter{got: got}
	u.mu.Unlock()
	select {
	case u.queue <- outgoing{m, key}:
	case <-ctx.Done(): // it is not sent
	case <-u.process.Ended(): // and it is answered
	}
	sent()
	select {
	case r := <-got:
		if errors.Is(r.err, errEnded) {
			return reply{}, errEnded
		}
		return r, nil
	case <-ctx.Done():
		u.forget(key, got)
		if s, ok := u.process.(interface{ Abandon(id rpc.ID) }); ok {
			s.Abandon(m.ID)
		}
		return reply{}, context.Cause(ctx)
	}
}

func (u *upstream) forget(key string, got chan reply) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if w := u.waiting[key]; w != nil && w.got == got {
		delete(u.waiting, key)
	}
}

// deliver answers a request, and reports whether it waited.
func (u *upstream) deliver(id rpc.ID, r reply) bool {
	key := id.Key()
	u.mu.Lock()
	w := u.waiting[key]
	delete(u.waiting, key)
	u.mu.Unlock()
	if w == nil {
		return false
	}
	w.got <- r
	return true
}

// read reads what the server writes until it ends, and answers what it has not answered then.
func (u *upstream) read() {
	for {
		m, err := u.process.Next()
		var refused *rpc.RefusedError
		if failed, ok := errors.AsType[*rpc.FailedError](err); ok {
			if failed.Again {
				failed.Err = errEnded
			}
			u.deliver(failed.ID, reply{err: failed.Err, lost: failed.Lost})
			continue
		}
		var long *rpc.TooLongError
		if err != nil && !errors.As(err, &long) && !errors.As(err, &refused) {
			u.end(err)
			return
		}
		u.heard.Store(now())
		switch {
		case long != nil:
			u.tooLong(long)
		case refused != nil:
			u.refused(refused)
		default:
			u.received(m)
		}
	}
}

// refused drops a line of the server that is not a message. Many print a greeting, which no client can read.
func (u *upstream) refused(line *rpc.RefusedError) {
	if line.ID != nil && !line.Method && u.deliver(line.ID, reply{err: illegalError(line.Reason)}) {
		return
	}
	log := u.proxy.Logger
	log.Warn("a line of the server is no message, and was dropped", slog.Int("bytes", len(line.Line)), slog.String("reason", line.Reason))
	log.Debug("the dropped line", slog.String("line", clip(line.Line)))
	if line.Method && line.ID != nil {
		go u.send(by(u.proxy.session.caller(), line.Answer())) // it may read only after what it writes was read
	}
}

func (u *upstream) received(m *rpc.Message) {
	defer u.proxy.guard(func() {}) // and the message is dropped
	if m.Method != "" {
		u.proxy.fromServer(u, m)
		return
	}
	r := reply{m: m, result: m.Result}
	if m.Error != nil {
		r.wire, r.err = wireError(m)
	}
	u.proxy.answers(m)
	if !u.deliver(m.ID, r) {
		u.proxy.Logger.Debug("an answer of the server that nobody waits for was dropped", slog.String("id", string(m.ID)))
	}
}

const maxClip = 500

func clip(line []byte) string { return string(line[:min(len(line), maxClip)]) }

// wireError returns the error of an answer.
func wireError(m *rpc.Message) (*jsonrpc.Error, error) {
	wire := m.Wire()
	if wire == nil {
		return nil, illegalError("its error has no code and message")
	}
	return wire, nil
}

func (u *upstream) tooLong(long *rpc.TooLongError) {
	u.proxy.Logger.Warn("a line of the server is too long, and was dropped", slog.Int("bytes", long.Bytes), slog.Int("most", u.proxy.MaxAnswer))
	switch {
	case long.ID == nil:
	case long.Method:
		go u.send(by(u.proxy.session.caller(), rpc.Failed(long.ID, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "The message is too long."})))
	default:
		u.deliver(long.ID, reply{err: tooLargeError(u.proxy.MaxAnswer)})
	}
}

// end ends the run and answers what it leaves.
func (u *upstream) end(err error) {
	if !errors.Is(err, io.EOF) {
		u.proxy.Logger.Debug("the output of the server ended", slog.String("error", err.Error()))
	}
	select {
	case <-u.process.Ended():
	case <-time.After(lastWords): // it has closed its output and goes on, where nobody hears it
		u.process.Kill()
		<-u.process.Ended()
	}
	u.process.Close()
	failed := reply{err: u.diedError()}
	u.mu.Lock()
	waiting := u.waiting
	u.waiting = nil
	u.mu.Unlock()
	for _, w := range waiting {
		if w.sent {
			w.got <- failed
		} else {
			w.got <- reply{err: errEnded} // the next run gets it
		}
	}
	u.proxy.serverEnded(u)
	close(u.ended)
}

// lastWords is how long a process may take to end after it has closed its output.
const lastWords = time.Second

// kill ends the run for a reason, which its requests are answered with.
func (u *upstream) kill(cause error) {
	u.cause.CompareAndSwap(nil, &cause)
	u.process.Kill()
}

// diedError is what the requests fail with that the run leaves.
func (u *upstream) diedError() error {
	if cause := u.cause.Load(); cause != nil {
		return *cause
	}
	if s, ok := u.process.(interface{ Lost() error }); ok {
		return s.Lost()
	}
	how, said := u.process.How(), u.proxy.stderr.last()
	if u.heard.Load() == 0 {
		if u.proxy.Strange {
			said = ""
		}
		return neverSpokeError(how, said)
	}
	return endedError(how, said)
}

// watch ends a server that hangs: that writes nothing and answers no ping, while somebody waits for
// it. It is not asked before it has spoken, because its start may take long, nor while it waits for
// the client itself.
func (u *upstream) watch() {
	hang := u.proxy.Hang
	tick := time.NewTicker(max(hang/30, time.Millisecond))
	defer tick.Stop()
	var pinged int64 // when the ping was sent that is not answered, zero for none
	for {
		select {
		case <-u.process.Ended():
			return
		case <-tick.C:
		}
		heard, at := u.heard.Load(), now()
		switch {
		case !u.busy() || heard == 0 || u.proxy.serverWaits(u):
			pinged = 0
		case heard > pinged && pinged != 0:
			pinged = 0
		case pinged != 0 && time.Duration(at-pinged) >= hang:
			u.proxy.Logger.Error("the server answers no ping and is ended; -hang=0 leaves it alone", slog.Duration("silent", time.Duration(at-heard)))
			u.kill(hungError(hang))
			return
		case pinged == 0 && time.Duration(at-max(heard, u.proxy.asked.Load())) >= hang/6:
			pinged = at
			select { // whatever it answers, it is alive
			case u.queue <- outgoing{rpc.Request(rpc.RandomID(), "ping", nil), ""}:
			default: // it does not even read
			}
		}
	}
}

func (u *upstream) busy() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.waiting) > 0
}
