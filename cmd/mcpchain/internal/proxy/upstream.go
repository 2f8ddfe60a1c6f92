package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/internal/call"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// An upstream is one run of the server, and the requests that it has not answered.
type upstream struct {
	proxy   *Proxy
	process Server
	queue   chan outgoing // for the server
	ended   chan struct{} // closed when it has ended and all requests were answered
	ours    bool          // it is a process that was started here

	heard    atomic.Bool // it has sent a message: other lines prove nothing
	answered atomic.Bool // it has answered something: its start is over
	instead  instead
	mended   map[string]bool // of what was recorded that it is mended; see mends
	told     [2]bool         // see tell

	wrote   atomic.Int64 // when it last wrote a line, see now; zero if it never did
	overdue atomic.Int64 // when a call ran into its time limit last; zero if none did
	cause   atomic.Pointer[error]
	gone    bool   // it has ended; guarded by the mutex of the Proxy
	died    error  // what the requests fail with that it left; set before ended is closed
	left    ending // what it wrote last; set before ended is closed
	unborn  bool   // it never answered anything, and would not; set before ended is closed

	mu      sync.Mutex
	waiting map[string]*waiter   // by the keys of IDs; nil when the run has ended
	spelled bool                 // it was asked under a text that spells a number
	late    map[string]*lateCall // those that nobody waits for any more
	said    tail                 // what it wrote before its first message
}

// outgoing is a message for the server, nil to close its input.
type outgoing struct {
	m   *rpc.Message
	key string // of the request that it is, "" for what is none that is waited for
}

// A waiter waits for what becomes of a request.
type waiter struct {
	asks
	of   *request // of the client, nil for an internal question
	got  chan reply
	sent bool // the server may have it
}

// A reply is what became of a request.
type reply struct {
	m      *rpc.Message    // as the server wrote it, nil if it did not
	result json.RawMessage // of a success
	wire   *jsonrpc.Error  // the server's own error
	err    error           // why the server gave no answer
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
		ended: make(chan struct{}), waiting: map[string]*waiter{}, late: map[string]*lateCall{},
	}
	if _, u.ours = process.(interface{ PID() int }); u.ours { // what was not started here is not ended here
		go u.watch()
	}
	go u.write()
	go u.read()
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
			switch err := u.process.Write(o.m); {
			case errors.Is(err, rpc.ErrUnsent):
				u.deliver(o.m.ID, reply{err: err})
			case err != nil:
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
	// errUsed says that a request was not sent, because another one has its ID.
	errUsed = errors.New("the ID is that of a request that is not answered yet")
	// errLate says that a request was not sent: another one of its ID may still be answered, though nobody waits for
	// it.
	errLate = errors.New("the ID is that of a request that may still be answered")
)

// renamed sends a request under an ID that no other request has. of is as in [upstream.ask].
func (u *upstream) renamed(ctx context.Context, m *rpc.Message, of *request) (reply, error) {
	for {
		if r, err := u.ask(ctx, m.With(rpc.RandomID(), "id"), of); !errors.Is(err, errUsed) && !errors.Is(err, errLate) {
			return r, err
		}
	}
}

// ask sends a request and waits for what becomes of it. of is the request of the client, which then has its place
// among the lines. It is nil for an internal question. If ctx ends first, the error is a *[call.ElsewhereError] for
// a request that the server may have.
func (u *upstream) ask(ctx context.Context, m *rpc.Message, of *request) (reply, error) {
	got, began := make(chan reply, 1), time.Now()
	key := m.ID.Key()
	u.mu.Lock()
	switch {
	case u.waiting == nil:
		u.mu.Unlock()
		return reply{}, rpc.ErrUnsent
	case u.waiting[key] != nil && (u.waiting[key].of == nil || !u.waiting[key].of.isBehind()):
		u.mu.Unlock()
		return reply{}, errUsed
	case u.waiting[key] != nil || u.late[key] != nil: // the server may still answer that
		u.mu.Unlock()
		return reply{}, errLate
	}
	u.waiting[key] = &waiter{asks: asks{m.ID, m.Method, now()}, of: of, got: got}
	u.spelled = u.spelled || m.ID.Spelled() != nil
	u.mu.Unlock()
	select {
	case u.queue <- outgoing{m, key}:
	case <-ctx.Done(): // it is not sent
	case <-u.process.Ended(): // and it is answered
	}
	if of != nil {
		of.sentAs(m.ID)
		of.placed()
	}
	var r reply
	select {
	case r = <-got:
	case <-ctx.Done():
		waited, sent := u.forget(key, got, lateOf(ctx, of, began))
		if waited {
			if s, ok := u.process.(interface{ Abandon(id rpc.ID) }); ok {
				s.Abandon(m.ID)
			}
			switch cause := context.Cause(ctx); {
			case givenUp(cause):
				return reply{}, cancelledError(&call.ElsewhereError{Err: cause}, sent)
			case !sent:
				return reply{}, notSentError("its time was over before the server took it", "", cause)
			default:
				return reply{}, &call.ElsewhereError{Err: cause}
			}
		}
		r = <-got // it came at the same time
	}
	if errors.Is(r.err, rpc.ErrUnsent) {
		return reply{}, rpc.ErrUnsent
	}
	return r, nil
}

// forget ends the waiting for a request, and reports whether anybody waited and whether the server may
// have it. late is what to record of its answer.
func (u *upstream) forget(key string, got chan reply, late *lateCall) (waited, sent bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	w := u.waiting[key]
	if w == nil || w.got != got {
		return false, false
	}
	delete(u.waiting, key)
	if w.sent {
		u.remember(key, late)
		if late.level == slog.LevelWarn {
			u.overdue.Store(now())
		}
	}
	return true, w.sent
}

// deliver answers a request, or records an answer that came too late. It reports false for one that was
// not asked for.
func (u *upstream) deliver(id rpc.ID, r reply) bool {
	key := id.Key()
	u.mu.Lock()
	w := u.waiting[key]
	delete(u.waiting, key)
	u.mu.Unlock()
	if w == nil && !u.cameLate(id, r) {
		return false
	}
	u.answered.Store(true)
	if w != nil {
		w.got <- r
	}
	return true
}

// read reads what the server writes until it ends, and answers what it has not answered then.
func (u *upstream) read() {
	for {
		m, err := u.process.Next()
		var refused *rpc.RefusedError
		if failed, ok := errors.AsType[*rpc.FailedError](err); ok {
			u.deliver(failed.ID, reply{err: failed.Err, lost: failed.Lost})
			continue
		}
		var long *rpc.TooLongError
		if err != nil && !errors.As(err, &long) && !errors.As(err, &refused) {
			u.end(err)
			return
		}
		u.wrote.Store(now())
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
	if line.ID != nil && !line.Method && u.deliver(line.ID, reply{err: illegalError("the server's answer is no legal message: " + line.Reason)}) {
		u.heard.Store(true)
		return
	}
	u.odd(line)
	log := u.proxy.Logger
	if !u.heard.Load() {
		u.says(line.Line)
	}
	log.Warn("a line of the server is no message, and was dropped", slog.Int("bytes", len(line.Line)), slog.String("reason", line.Reason))
	log.Debug("the dropped line", slog.String("line", u.proxy.clip(line.Line)))
	if line.Method && line.ID != nil {
		u.refuse(line.Answer())
	}
}

// refuse answers a request of the server. It does not wait: the server may read only after what it writes was read.
func (u *upstream) refuse(answer *rpc.Message) {
	select {
	case u.queue <- outgoing{by(u.proxy.session.caller(), answer), ""}:
	default: // it does not even read
	}
}

func (u *upstream) received(m *rpc.Message) {
	defer u.proxy.guard(func() {})                   // and the message is dropped
	if u.cause.Load() != nil && !u.answered.Load() { // what it wrote without the end of a line until it was ended
		return
	}
	if m.IsRequest() && u.echoes(m) {
		return
	}
	u.heard.Store(true)
	if m.Mended != "" {
		u.mends(m.Mended)
	}
	if m.Method != "" {
		u.proxy.fromServer(u, m)
		return
	}
	m = u.numbered(m)
	u.proxy.answers(m)
	if !u.deliver(m.ID, outcome(m)) {
		u.notAsked(m.ID)
		u.proxy.Logger.Warn("an answer of the server that nobody waits for was dropped", slog.String("id", u.proxy.clip(m.ID)))
	}
}

// outcome reads an answer. Many servers write null for a member that is absent.
func outcome(m *rpc.Message) reply {
	absent := func(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
	r := reply{m: m, result: m.Result}
	switch {
	case !absent(m.Error) && !absent(m.Result):
		r.err = illegalError("the server answered with both a result and an error")
	case !absent(m.Error):
		if r.wire = m.Wire(); r.wire == nil {
			r.err = illegalError("the server's answer is no legal message: its error has no code and message")
		}
	case absent(m.Result):
		r.err = illegalError("the server answered with null instead of a result")
	}
	return r
}

// says keeps what the server wrote before its first message: it often says why there is none.
func (u *upstream) says(line []byte) {
	text := u.proxy.clip(line)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.said.add(text)
}

const maxClip = 500

// clip returns the beginning of a line. What may be a part of a secret is hidden before it is cut.
func (p *Proxy) clip(line []byte) string {
	text := p.Hide(string(line[:min(len(line), maxLine)]))
	return text[:min(len(text), maxClip)]
}

func (u *upstream) tooLong(long *rpc.TooLongError) {
	u.proxy.Logger.Warn("a line of the server is too long, and was dropped", slog.Int("bytes", long.Bytes), slog.Int("most", u.proxy.MaxAnswer))
	if long.ID != nil || long.Method {
		u.heard.Store(true)
	}
	switch {
	case long.ID == nil:
	case long.Method:
		u.refuse(rpc.Failed(long.ID, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "The message is too long."}))
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
	begins := slices.ContainsFunc(u.asked(), func(one asks) bool { return one.method == call.MethodInitialize })
	u.unborn = !u.heard.Load() || !u.answered.Load() && (begins || u.cause.Load() != nil)
	u.died = u.diedError()
	failed := reply{err: u.died}
	u.mu.Lock()
	waiting := u.waiting
	u.waiting = nil
	u.mu.Unlock()
	for _, w := range waiting {
		if w.sent {
			w.got <- failed
		} else {
			w.got <- reply{err: rpc.ErrUnsent} // the next run gets it
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
	wrote := u.proxy.stderr.ended()
	ended := wrote.ending()
	defer func() { u.left = ended }()
	if cause := u.cause.Load(); cause != nil {
		return *cause
	}
	if s, ok := u.process.(interface{ Lost() error }); ok {
		return s.Lost()
	}
	how := u.process.How()
	if last := u.proxy.ending(); last || !u.unborn { // it says nothing of a server that it did not speak until then
		return endedError(how, ended.cause, last)
	}
	u.mu.Lock()
	printed := u.said.ending()
	u.mu.Unlock()
	switch {
	case printed.named && !ended.named, ended.cause == "":
		ended = printed
	case printed.cause != "" && !ended.named: // such as its usage
		ended.cause, ended.lines = ended.cause+between+printed.cause, ended.lines+between+printed.lines
	}
	return neverSpokeError(how, ended.cause, u.proxy.Strange)
}

// how says, for the log, how the run has ended and why.
func (u *upstream) how() []any {
	attrs := []any{slog.String("how", u.process.How())}
	if u.left.named {
		attrs = append(attrs, slog.String("cause", u.left.cause))
	}
	if u.left.lines != "" {
		attrs = append(attrs, slog.String("wrote", u.left.lines))
	}
	return attrs
}
