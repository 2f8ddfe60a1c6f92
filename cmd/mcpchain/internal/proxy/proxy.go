// Package proxy stands between a client and a server that speak MCP. It passes messages on as they
// are. A request passes the middlewares of mcpchain, which see its failure; what did not fail
// is answered with the very line of the server.
package proxy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/kept"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/task"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// Options configure a Proxy. All fields are required but where their comments say otherwise.
type Options struct {
	Command []string // of the server
	Env     []string // nil means the environment of this process

	// Start begins a run of a server that is not a process of ours, instead of Command. Hang and StartTimeout do not
	// hold for it.
	Start func() (Server, error)

	In  io.Reader // what the client sends; nil if its messages are given to Receive
	Out Writer    // takes what the client reads

	Session string // the ID of the client's session, "" over stdio
	Strange bool   // the client does not run the server: nothing of the server's standard error is for it

	Logger *slog.Logger
	Stderr func(line string) // takes the lines of the server's standard error

	Chain mcp.Middleware
	Hide  func(text string) string // takes the values of secrets out of what is not the server's success

	HideResults bool // out of that, too

	MaxRequest, MaxAnswer int // bytes of a line

	// StartTimeout is how long a server may take to answer anything, once somebody waits. Zero or less: any time.
	StartTimeout time.Duration

	Hang  time.Duration // from then on; zero or less: a server that hangs is left alone
	Alone time.Duration // the same, if it is longer, for a server that runs one call and was asked nothing else; zero means ten minutes

	Strict bool          // a call whose arguments the middlewares could not check is refused
	Mend   bool          // a middleware mends arguments by what the server lists
	Learn  time.Duration // how long a guard waits for what the server lists, at most 30 s; zero means 30 s

	Tools   Tools
	Decode  bool // the middlewares look at successes
	Tasks   bool // package task is one of them
	Serial  bool // one call of a tool that writes at a time
	Restart Restart
}

// A Writer takes messages for a client. Its error says that nobody reads them any more.
type Writer interface {
	Write(m *rpc.Message) error
}

// Restart says how long to wait before a server that has ended is started again.
type Restart struct {
	First, Most time.Duration // the pause doubles from the one to the other
	Steady      time.Duration // after it the next pause is the first again
}

// A Proxy serves one client.
type Proxy struct {
	Options

	handler mcp.MethodHandler
	stderr  *stderr
	serial  chan struct{}
	asked   atomic.Int64    // when the client last sent a request
	life    context.Context //nolint:containedctx // that of the program, not of a call
	finish  context.CancelFunc
	gone    chan struct{} // closed when the client reads no more
	unread  sync.Once
	left    chan struct{} // closed when the client has left
	leave   sync.Once
	running sync.WaitGroup // the calls that are not answered
	held    chan struct{}  // one for each line of the server that waits
	asks    sync.Once
	asking  chan struct{}     // closed when the client has asked something
	silent  table.Names[bool] // the calls during which a run was ended because it was silent, see sameCall
	outputs ask.Outputs
	tell    mcp.MethodHandler         // keeps what the server tells of the progress of a call
	named   sync.Once                 // the names in Tools were compared with a whole list of the server
	place   atomic.Pointer[ask.Place] // what the middlewares remember of what the server lists; nil before the first call

	mu      sync.Mutex
	up      *upstream
	changed chan struct{} // closed when up changes
	back    time.Time     // when a server that has ended is started again
	why     error         // why it could not be, nil if it was not tried
	never   error         // what every request fails with: the server ended before it answered anything, or speaks another version
	calls   map[string]*request
	behind  map[string]*request // that the server runs behind a handle, by the keys of their IDs
	tokens  map[string]*request // by the keys of the tokens under which the server tells of their progress
	tasks   table.Names[bool]   // tokens of calls that were answered with a task, which goes on
	passed  []<-chan struct{}   // closed when what the server wrote last is written to the client
	line    <-chan struct{}     // the same of its last line that was not an answer
	waits   map[string]waits    // the requests of the server that the client has not answered
	session session
	lists   lists
	looks   map[string]*look // what the server is asked now on behalf of the middlewares
}

// waits is a request of the server.
type waits struct {
	id rpc.ID
	up *upstream // nil when that has ended, and the answer is for nobody
	at int64     // when it was asked, see now
}

// New returns a Proxy.
func New(opts Options) *Proxy {
	p := &Proxy{
		Options: opts, stderr: &stderr{hide: opts.Hide, line: opts.Stderr}, serial: make(chan struct{}, 1),
		changed: make(chan struct{}), gone: make(chan struct{}), left: make(chan struct{}), asking: make(chan struct{}),
		held:  make(chan struct{}, maxHeld),
		looks: map[string]*look{}, calls: map[string]*request{}, behind: map[string]*request{}, tokens: map[string]*request{}, waits: map[string]waits{},
	}
	p.life, p.finish = context.WithCancel(context.Background())
	p.session.proxy = p
	p.handler = opts.Chain(p.handle)
	p.tell = task.Sending()(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil }) //nolint:nilnil // as for every notification
	return p
}

// The times that the end of the program takes.
const (
	lastCalls  = time.Second     // calls that run when the client has gone
	closeGrace = 2 * time.Second // a server whose input was closed, as the protocol says
)

// Run serves until the client leaves ([Proxy.Leave], or the end of its output), until ctx ends, or until the server
// ends before its first message. It returns the exit status, which is 127 if the server cannot be started.
func (p *Proxy) Run(ctx context.Context) int {
	defer p.session.close()
	ended := make(chan int, 1)
	first, err := p.start()
	if err != nil {
		p.Logger.ErrorContext(ctx, "the server cannot be started", slog.String("error", p.Hide(err.Error())))
		p.mu.Lock()
		p.never = p.unstartedError(err)
		p.mu.Unlock()
		ended <- 127
	} else {
		p.publish(first)
		defer context.AfterFunc(ctx, func() { p.end(0) })() // also while it ends already
		go func() { ended <- p.supervise(first) }()
	}
	if p.In != nil {
		go func() {
			defer p.Leave()
			p.fromClient()
		}()
	}
	select {
	case status := <-ended: // before it has said anything
		p.firstRequest(ctx)
		p.answered(ctx)
		return status
	case <-ctx.Done():
		p.end(0)
	case <-p.gone:
		p.end(closeGrace)
	case <-p.left:
		p.answered(ctx)
		p.end(closeGrace)
	}
	select {
	case status := <-ended:
		p.answered(context.WithoutCancel(ctx))
		return status
	case <-time.After(lastCalls): // the client is there, and does not read what is left
		return 1
	}
}

// Leave ends Run: the client has left. Calls that run have a moment to end.
func (p *Proxy) Leave() { p.leave.Do(func() { close(p.left) }) }

// end ends the server for good.
func (p *Proxy) end(grace time.Duration) {
	p.finish()
	p.mu.Lock()
	up := p.up
	p.mu.Unlock()
	if up != nil {
		if grace > 0 {
			go up.send(nil) // after the lines that are to be sent before
		}
		up.process.Stop(grace)
	}
}

func (p *Proxy) ending() bool { return p.life.Err() != nil }

// firstRequest waits for a moment until the client has asked something: its answer says why the server
// is gone, which otherwise only the log would.
func (p *Proxy) firstRequest(ctx context.Context) {
	select {
	case <-p.asking:
	case <-p.gone:
	case <-p.left:
	case <-ctx.Done():
	case <-time.After(lastCalls):
	}
}

// answered waits for a moment until all calls are answered.
func (p *Proxy) answered(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		p.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	case <-time.After(lastCalls):
	}
}

// supervise starts the server again whenever it has ended. It returns the exit status when it may not start the
// server any more.
func (p *Proxy) supervise(up *upstream) int {
	pause, began := p.Restart.First, time.Now()
	for run := 1; ; run++ {
		if up != nil {
			<-up.ended
			switch {
			case p.ending():
				return up.process.Status()
			case run == 1 && up.unborn: // wrong arguments, a key that lacks
				p.Logger.Error("the server ended before it answered anything", up.how()...)
				p.mu.Lock()
				p.never = up.died
				p.mu.Unlock()
				return max(up.process.Status(), 1)
			}
			if p.Start != nil {
				p.Logger.Warn("the session with the server ended, and is begun anew", slog.String("how", up.process.How()), slog.Duration("pause", pause))
			} else {
				p.Logger.Error("the server ended, and is started again", append(up.how(), slog.Duration("pause", pause))...)
			}
		}
		if time.Since(began) > p.Restart.Steady {
			pause = p.Restart.First
		}
		p.mu.Lock()
		p.back = time.Now().Add(pause)
		p.mu.Unlock()
		select {
		case <-time.After(pause):
		case <-p.life.Done():
			return 1
		}
		pause, began = min(2*pause, p.Restart.Most), time.Now()
		var err error
		if up, err = p.start(); err != nil {
			p.Logger.Error("the server cannot be started", slog.String("error", p.Hide(err.Error())))
			up = nil
			continue
		}
		if err := p.session.restore(up); err != nil {
			p.Logger.Error("the session of the server that was started again cannot be restored", slog.String("error", p.Hide(err.Error())))
			up.process.Kill()
			p.mu.Lock()
			p.why = err
			p.mu.Unlock()
			continue
		}
		before := p.lists.all()
		p.publish(up)
		go p.compare(before)
		if p.ending() { // end may not have seen it
			up.process.Stop(0)
		}
	}
}

// publish makes a run the one that requests go to.
func (p *Proxy) publish(up *upstream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if up.gone { // it did not even last until now
		return
	}
	p.forgetRemembered() // which the run before had listed
	p.up, p.why, p.never = up, nil, nil
	close(p.changed)
	p.changed = make(chan struct{})
}

// serverEnded notes the end of a run, and tells the client that its requests need no answer.
func (p *Proxy) serverEnded(u *upstream) {
	p.mu.Lock()
	u.gone = true
	clear(p.looks)
	if p.up == u {
		p.up, p.back = nil, time.Time{}
	}
	var gone []rpc.ID
	for key, of := range p.waits {
		if of.up == u {
			p.waits[key] = waits{}
			gone = append(gone, of.id)
		}
	}
	p.mu.Unlock()
	p.lists.ended()
	for _, id := range gone {
		p.write(rpc.Cancelled(id, "the server ended"))
	}
}

// serverWaits reports whether a run waits for an answer of the client to what it has asked since then.
func (p *Proxy) serverWaits(u *upstream, since int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range p.waits {
		if of.up == u && of.at >= since {
			return true
		}
	}
	return false
}

// How long a request waits for the next run of the server, and up to which pause before that run it waits at all.
const (
	startWait = 30 * time.Second
	soon      = 5 * time.Second
)

// current returns the run that requests go to. If the server has ended it waits for the next one.
func (p *Proxy) current(ctx context.Context) (*upstream, error) {
	giveUp := time.NewTimer(startWait)
	defer giveUp.Stop()
	for {
		p.mu.Lock()
		up, changed, back, why, never := p.up, p.changed, p.back, p.why, p.never
		p.mu.Unlock()
		wait := time.Until(back)
		switch {
		case up != nil:
			return up, nil
		case never != nil:
			return nil, never
		case p.ending():
			return nil, notRunningError(0)
		case wait > soon && p.Start != nil && why != nil:
			return nil, &unsentError{why}
		case wait > soon:
			return nil, notRunningError(wait)
		}
		select {
		case <-changed:
		case <-time.After(max(wait, 10*time.Millisecond)): // back may be set meanwhile
		case <-p.life.Done():
		case <-ctx.Done():
			return nil, notSentError("it waited for the server, which is started again", "", context.Cause(ctx))
		case <-giveUp.C:
			return nil, notRunningError(soon)
		}
	}
}

// write gives a message to the client. When nobody reads any more, the program ends.
func (p *Proxy) write(m *rpc.Message) {
	if p.Out.Write(m) != nil {
		p.unread.Do(func() { close(p.gone) })
	}
}

// fromServer passes on what the server sends by itself.
func (p *Proxy) fromServer(u *upstream, m *rpc.Message) {
	switch {
	case m.IsRequest():
		p.mu.Lock()
		if len(p.waits) < maxWaits {
			p.waits[m.ID.Key()] = waits{m.ID, u, now()}
		}
		p.mu.Unlock()
	case m.Method == "notifications/cancelled": // then the client owes no answer
		p.mu.Lock()
		delete(p.waits, m.Cancels().Key())
		p.mu.Unlock()
	}
	p.listChanged(m.Method)
	written := make(chan struct{})
	p.mu.Lock()
	if m.Method == "notifications/progress" && !p.wanted(m, written) {
		p.mu.Unlock()
		p.Logger.Debug("a notification of progress that nobody wants was dropped", slog.String("token", p.clip(m.Value("params", "progressToken"))))
		return
	}
	before := slices.DeleteFunc(p.passed, isClosed)
	p.passed, p.line = []<-chan struct{}{written}, written
	p.mu.Unlock()
	write := func() {
		defer close(written)
		defer p.guard(func() {})
		p.write(p.hidden(m))
	}
	if len(before) == 0 {
		write()
		return
	}
	p.held <- struct{}{}
	p.running.Go(func() { // nothing may pass, and the answers may need what the server writes next
		defer func() { <-p.held }()
		for _, passed := range before {
			<-passed
		}
		write()
	})
}

// wanted reports whether a client that is told of a progress still waits for it: some end their connection at
// another one. Its call is not answered before written is closed. The caller holds the lock.
func (p *Proxy) wanted(m *rpc.Message, written <-chan struct{}) bool {
	key := rpc.ID(m.Value("params", "progressToken")).Key()
	if c := p.tokens[key]; c != nil {
		if p.Tasks && !c.progressed(m) { // it is kept
			return false
		}
		c.after = written
		return true
	}
	task, _ := p.tasks.Get(key)
	return task
}

// endProgress notes that the server tells nothing more of the progress of a call, unless that is a task now. The
// caller holds the lock.
func (p *Proxy) endProgress(c *request, answer *rpc.Message) {
	key := c.token.Key()
	if key == "" || p.tokens[key] != c {
		return
	}
	delete(p.tokens, key)
	if answer != nil && (answer.Value("result", "task") != nil || answer.Text("result", "resultType") == "task") {
		p.tasks.Put(key, true)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// answers notes the call whose answer came. The answer passes no line that came before it. No later line passes the
// answer, unless that is a failure: it may have to be explained first, or the call be repeated.
func (p *Proxy) answers(m *rpc.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[m.ID.Key()]
	if c == nil || c.passed {
		return
	}
	c.after = p.line
	if m.Error == nil && !m.IsError() {
		c.passed = true
		p.endProgress(c, m)
		p.passed = append(slices.DeleteFunc(p.passed, isClosed), c.done)
	}
}

const (
	maxWaits = 10_000 // the requests of a server that its client never answers
	maxHeld  = 1000   // the lines of a server that wait for answers before them
)

// order is how long a line of the client waits for one that came before it.
const order = 20 * time.Millisecond

// fromClient reads what the client sends until it ends.
func (p *Proxy) fromClient() {
	lines := rpc.NewReader(p.In, p.MaxRequest)
	for !p.ending() {
		line, err := lines.Next()
		var long *rpc.TooLongError
		switch {
		case errors.As(err, &long):
			p.refuse(long.Refused(p.MaxRequest), long.Bytes)
			continue
		case err != nil:
			return
		}
		m, refused := rpc.Parse(line)
		if refused != nil {
			p.refuse(refused, len(line))
			continue
		}
		p.Receive(m, nil)
	}
}

// Receive takes a message of the client that [rpc.Parse] has read. extra is what came with it over HTTP,
// nil over stdio. It returns when the message has its place among those that are sent to the server, or
// after a moment.
func (p *Proxy) Receive(m *rpc.Message, extra *mcp.RequestExtra) {
	switch {
	case m.IsRequest():
		p.begin(m, extra)
	case m.IsNotification():
		p.notification(m)
	default:
		p.response(m)
	}
}

func (p *Proxy) refuse(refused *rpc.RefusedError, bytes int) {
	p.Logger.Warn("a line of the client is no message that a server can read", slog.Int("bytes", bytes), slog.String("reason", refused.Reason))
	if !refused.Silent {
		p.write(refused.Answer())
	}
}

// response passes on the client's answer to a request of the server.
func (p *Proxy) response(m *rpc.Message) {
	p.mu.Lock()
	of, known := p.waits[m.ID.Key()]
	delete(p.waits, m.ID.Key())
	up := p.up
	p.mu.Unlock()
	if up != nil && (!known || of.up == up) {
		up.send(m)
	}
}

func (p *Proxy) notification(m *rpc.Message) {
	p.mu.Lock()
	up := p.up
	p.mu.Unlock()
	switch m.Method {
	case "notifications/initialized":
		p.session.initialized(m)
		if up == nil { // the server died before, and the restored session may have missed this
			go func() {
				if up, err := p.current(p.life); err == nil {
					up.send(m)
				}
			}()
			return
		}
	case "notifications/cancelled":
		p.mu.Lock()
		c, behind := p.calls[m.Cancels().Key()], p.behind[m.Cancels().Key()]
		p.mu.Unlock()
		if c == nil && behind != nil || c != nil && !c.cancels() { // it has its answer
			return
		}
		if c != nil {
			defer c.cancel(errCancelled) // after the line is sent
			if id := c.serverID(); id.Key() != c.ID.Key() {
				m = m.With(id, "params", "requestId")
			}
		}
	}
	if up != nil {
		up.send(m)
	}
}

// A request is a call of the client that is not answered.
type request struct {
	*rpc.Message

	proxy  *Proxy
	began  int64 // see now
	extra  *mcp.RequestExtra
	sent   chan struct{} // closed when the line is sent, or waits for something
	once   sync.Once
	done   chan struct{} // closed when the answer is written
	cancel context.CancelCauseFunc

	forwarded atomic.Bool // the guards have let it pass

	token  rpc.ID          // under which the server tells of its progress, nil for none; guarded by the mutex of the Proxy
	after  <-chan struct{} // the line of the server that its answer must not pass; guarded likewise
	passed bool            // what follows must not pass its answer; guarded likewise

	mu     sync.Mutex
	reply  reply           // of the server, the last one
	shown  mcp.Result      // what the middlewares got as its result
	slow   []string        // the methods of lists that did not come in time
	work   context.Context //nolint:containedctx // see runs
	handed bool            // the client has the handle

	cancelled bool   // by the client, before it had a handle
	as        rpc.ID // under which the server has it, nil for its own
}

// note notes what the server has answered. A handler that package deadline has given up may do so
// while the call is answered.
func (c *request) note(r reply, shown mcp.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reply, c.shown = r, shown
}

func (c *request) noted() (reply, mcp.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reply, c.shown
}

func (c *request) placed() { c.once.Do(func() { close(c.sent) }) }

type callKey struct{}

// begin starts a call, and returns when its line has been sent, or after a moment: the order of
// the client's lines is kept.
func (p *Proxy) begin(m *rpc.Message, extra *mcp.RequestExtra) {
	key := m.ID.Key()
	ctx, cancel := context.WithCancelCause(context.Background())
	c := &request{Message: m, proxy: p, began: now(), extra: extra, sent: make(chan struct{}), done: make(chan struct{}), cancel: cancel}
	p.mu.Lock()
	if p.calls[key] != nil {
		p.mu.Unlock()
		cancel(nil)
		refused := &rpc.RefusedError{Code: jsonrpc.CodeInvalidRequest, Reason: errUsed.Error()}
		if p.In == nil { // the caller of Receive keeps the two apart, and waits for an answer to the second
			refused.ID = m.ID
		}
		p.refuse(refused, len(m.Line))
		return
	}
	p.calls[key] = c
	if c.token = m.Token(); c.token != nil {
		p.tokens[c.token.Key()] = c
	}
	p.mu.Unlock()
	p.asked.Store(now())
	p.running.Go(func() {
		defer close(c.done)
		defer c.placed()
		in := context.WithValue(ctx, callKey{}, c)
		if p.Tasks && m.Method == call.MethodCallTool {
			in = context.WithValue(in, kept.OutsideKey{}, c)
		}
		p.call(in, c)
	})
	p.asks.Do(func() { close(p.asking) })
	select {
	case <-c.sent:
	case <-time.After(order):
	}
}

// call runs a call and writes its answer.
func (p *Proxy) call(ctx context.Context, c *request) {
	defer p.guard(func() {
		p.forget(c)
		p.write(rpc.Failed(c.ID, internal()))
	})
	req := p.session.request(c.Message, c.extra)
	if req == nil {
		p.forget(c)
		p.refuse(&rpc.RefusedError{Code: jsonrpc.CodeInvalidParams, Reason: `"params" are not those of ` + c.Method, ID: c.ID}, len(c.Line))
		return
	}
	res, err := p.handler(ctx, c.Method, req)
	cancelled := errors.Is(context.Cause(ctx), errCancelled)
	after := p.forget(c)
	if cancelled {
		return
	}
	if after != nil {
		<-after
	}
	r, shown := c.noted()
	if c.isBehind() { // the server's answer is for later
		r, shown = reply{}, nil
	}
	answer, failed := p.answer(c.ID, r, shown, res, err)
	if !failed {
		p.session.succeeded(c.Message, r.result)
	}
	if p.hides(failed, res) {
		answer = p.hidden(answer)
	}
	p.write(answer)
}

// forget notes that a call has ended: once it has read the answer, the client may use the ID again. It returns
// what the answer must not pass.
func (p *Proxy) forget(c *request) (after <-chan struct{}) {
	c.cancel(nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.calls, c.ID.Key())
	if !c.isBehind() {
		p.endProgress(c, nil)
	}
	return c.after
}

// internal is the error of a call that this program could not answer.
func internal() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "Internal error: the server failed unexpectedly."}
}

// answer returns the answer, and whether it is a failure. res and err come from the middlewares. r comes from the
// server, and shown is what the middlewares got of it.
func (p *Proxy) answer(id rpc.ID, r reply, shown, res mcp.Result, err error) (answer *rpc.Message, failed bool) {
	if err != nil {
		var wire *jsonrpc.Error
		if !errors.As(err, &wire) { // cannot be: the middlewares make one of any error
			wire = internal()
		}
		if wire == r.wire && r.m != nil {
			return r.m, true
		}
		return rpc.Failed(id, wire), true
	}
	failed = isError(res)
	if res == shown && r.m != nil {
		return r.m, failed
	}
	if failed != isError(shown) { // nothing of a success stands in a failure
		shown = nil
	}
	raw, err := merged(r.result, shown, res)
	if err != nil {
		p.Logger.Error("an answer cannot be written", slog.String("error", err.Error()))
		return rpc.Failed(id, internal()), true
	}
	if shown != nil && r.m != nil { // the rest of the server's line stays
		return r.m.With(raw, "result"), failed
	}
	return rpc.Answered(id, raw), failed
}

func isError(res mcp.Result) bool {
	tool, _ := res.(*mcp.CallToolResult)
	return tool != nil && tool.IsError
}
