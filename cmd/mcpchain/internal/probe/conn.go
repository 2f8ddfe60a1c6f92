package probe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/conduct"
	"github.com/mcpchain/mcpchain/internal/words"
)

// A wire carries messages to a server. What comes back goes to the function that the wire was made with.
type wire interface {
	// send sends one message, and does not wait. A transport that can refuse a message without a message
	// calls refused.
	send(line []byte, refused func(status int, body []byte))
	// gone is closed when the server has ended; how says how then.
	gone() <-chan struct{}
	how() string
	// kill ends the server, or the connection to it.
	kill()
}

// A conn is a session with a server, in one version of the protocol. It is safe for concurrent use.
type conn struct {
	wire    wire
	version string
	limit   time.Duration // for an answer
	judge   judge
	info    serverInfo
	caps    map[string]json.RawMessage

	mu     sync.Mutex
	next   int
	asked  map[string]*exchange // by canonical ID
	odd    *exchange            // the one that may be answered without an ID
	lost   bool                 // it does not answer any more
	needed int                  // messages that nobody had asked for
	stray  string               // the last of them that was an answer, "" for none
	met    bool                 // something was answered
	noise  string               // the first line before that that was no message, "" for none

	token    string // of a call whose progress is counted, as JSON
	progress int
}

// maxUnneeded is how many messages that nobody had asked for a session may bring. What is more has no end.
const maxUnneeded = 10_000

// unneeded counts a message that nobody had asked for. It ends the server that sends too many.
func (c *conn) unneeded() {
	c.mu.Lock()
	c.needed++
	n := c.needed
	c.mu.Unlock()
	if n == maxUnneeded {
		c.judge.flood(c, n)
		c.wire.kill()
	}
}

// flooded reports whether the server was ended for what it sent.
func (c *conn) flooded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.needed >= maxUnneeded
}

// A judge looks at all that a server sends.
type judge interface {
	message(c *conn, method string, line []byte) // a request of the server's, or a notification
	noMessage(c *conn, line []byte, why string)
	answer(c *conn, x *exchange, r *reply) // x is nil for an answer to nothing
	flood(c *conn, n int)                  // the server has sent so many messages that nobody had asked for
}

// An exchange is a request with its answers.
type exchange struct {
	request conduct.Message
	sent    []byte
	tool    *tool // that is called
	begun   time.Time
	first   chan *reply // the first answer
	replies int
	allowed int  // replies, if more than one
	ignored bool // what is answered does not matter
}

// A reply is an answer of a server.
type reply struct {
	conduct.Message

	raw    []byte
	status int // of an HTTP answer that is not a message
	took   time.Duration
}

// An outcome is how an exchange ended: with a reply, or with none for a reason.
type outcome struct {
	*exchange
	*reply

	none reason
	why  string
}

type reason int

const (
	replied  reason = iota
	silent          // other requests were answered
	lost            // nothing is answered any more
	dead            // the server has ended
	noReturn        // it did not start again
)

// what says as a sentence why there was no answer.
func (o outcome) what() string {
	switch o.none {
	case dead:
		return "The server ended."
	case lost:
		return "The session is lost: nothing is answered any more."
	case silent:
		return "It is never answered."
	default:
		return "It is answered."
	}
}

// got shows what came back.
func (o outcome) got() string {
	if o.none != replied {
		return o.why
	}
	return o.reply.show()
}

func (r *reply) show() string {
	if r.status != 0 {
		return fmt.Sprintf("HTTP %d %s", r.status, clip(string(bytes.TrimSpace(r.raw)), maxShown))
	}
	return clip(string(bytes.TrimSpace(r.raw)), maxShown)
}

// maxShown is how much of a message a finding shows.
const maxShown = 300

// failed reports whether the answer is a failure.
func (r *reply) failed() bool {
	return r.status != 0 || r.Error != nil || r.result().IsError
}

func (r *reply) result() conduct.Result {
	var res conduct.Result
	_ = json.Unmarshal(r.Result, &res) // a result that cannot be read is a finding of its own
	return res
}

// code returns the code of an error, and whether the answer is an error.
func (r *reply) code() (int64, bool) {
	if r.Error == nil {
		return 0, false
	}
	return r.Error.Code, true
}

// text returns what a model reads of a failure.
func (r *reply) text() string {
	if r.Error != nil {
		return r.Error.Message
	}
	var all []string
	for _, block := range r.result().Content {
		all = append(all, block.Text)
	}
	return strings.Join(all, "\n")
}

// id returns an ID for the next request.
func (c *conn) id() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return strconv.Itoa(c.next)
}

// line writes a request. params is a JSON object; those of a current session get the _meta that they need.
func (c *conn) line(id, method, params string) []byte {
	if c.version == conduct.Current && !strings.Contains(params, `"_meta"`) {
		params = strings.TrimSuffix(strings.TrimSpace(params), "}")
		if params != "{" {
			params += ","
		}
		params += currentMeta + "}"
	}
	if id != "" {
		id = `"id":` + id + `,`
	}
	return []byte(`{"jsonrpc":"2.0",` + id + `"method":` + quote(method) + `,"params":` + params + `}`)
}

const currentMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + conduct.Current + `","io.modelcontextprotocol/clientInfo":` + clientInfo + `,"io.modelcontextprotocol/clientCapabilities":{}}`

const clientInfo = `{"name":"mcpchain-check","version":"1"}`

// begin sends a request, which has this ID.
func (c *conn) begin(line []byte, id string) *exchange {
	x := &exchange{sent: line}
	_ = json.Unmarshal(line, &x.request) // a deeply nested one is not a message here
	return c.start(x, id, false)
}

// beginOdd sends a line that may be answered under an ID, or without one.
func (c *conn) beginOdd(line []byte, id string) *exchange {
	return c.start(&exchange{sent: line}, id, true)
}

func (c *conn) start(x *exchange, id string, odd bool) *exchange {
	c.expect(x, id, odd)
	c.wire.send(x.sent, func(status int, body []byte) { c.settle(x, &reply{raw: body, status: status}) })
	return x
}

// expect remembers an exchange, so that it gets its answer.
func (c *conn) expect(x *exchange, id string, odd bool) {
	x.begun, x.first = time.Now(), make(chan *reply, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if odd {
		c.odd = x
	}
	if id = canonicalID(json.RawMessage(id)); id != "" {
		c.asked[id] = x
	}
}

// settle notes an answer.
func (c *conn) settle(x *exchange, r *reply) {
	if x != nil {
		r.took = time.Since(x.begun)
		c.mu.Lock()
		x.replies++
		c.met = true
		c.mu.Unlock()
	}
	c.judge.answer(c, x, r)
	if x != nil {
		select {
		case x.first <- r:
		default: // it was answered before
		}
	}
}

// await waits for the answer to a request.
func (c *conn) await(x *exchange, limit time.Duration) outcome {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case r := <-x.first:
		return outcome{exchange: x, reply: r}
	case <-timer.C:
		return outcome{exchange: x, none: silent, why: c.nothing(limit)}
	case <-c.wire.gone():
		select { // it may have answered before it ended
		case r := <-x.first:
			return outcome{exchange: x, reply: r}
		case <-time.After(100 * time.Millisecond):
		}
		if c.flooded() {
			return outcome{exchange: x, none: dead, why: fmt.Sprintf("the check ended the session, because the server had sent %d messages that nobody had asked for", maxUnneeded)}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return outcome{exchange: x, none: dead, why: "the server ended: " + c.wire.how() + c.instead()}
	}
}

// nothing says that no answer came, and what came instead.
func (c *conn) nothing(limit time.Duration) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stray != "" {
		return "nothing in " + words.Duration(limit) + " under this ID, but an answer that nobody had asked for: " + c.stray
	}
	return "nothing in " + words.Duration(limit) + c.instead()
}

// instead says what the server wrote that is no message. The caller holds c.mu.
func (c *conn) instead() string {
	if c.met || c.noise == "" {
		return ""
	}
	return "; it wrote what is no message: " + c.noise
}

func (c *conn) noMessage(line []byte, why string) {
	c.mu.Lock()
	c.noise = cmp.Or(c.noise, clip(string(line), 200))
	c.mu.Unlock()
	c.judge.noMessage(c, line, why)
	c.unneeded()
}

// ask sends a request and waits for its answer. Without one it finds out whether the session is lost.
func (c *conn) ask(method, params string) outcome {
	id := c.id()
	return c.settled(c.await(c.begin(c.line(id, method, params), id), c.limit))
}

// settled finds out what it means that there is no answer.
func (c *conn) settled(o outcome) outcome {
	if o.none != silent {
		return o
	}
	if alive := c.alive(); alive.none != replied {
		o.none, o.why = alive.none, alive.why
	}
	return o
}

// alive asks for what every server answers.
func (c *conn) alive() outcome {
	method := "ping"
	if c.version == conduct.Current {
		method = "server/discover"
	}
	id := c.id()
	o := c.await(c.begin(c.line(id, method, "{}"), id), c.limit)
	if o.none == silent {
		o.none, o.why = lost, c.nothing(c.limit)+", neither to this nor to a "+method+" after it"
	}
	if o.none != replied {
		c.mu.Lock()
		c.lost = true
		c.mu.Unlock()
	}
	return o
}

// How much longer the answer to an odd message may take than the answer to a request after it.
const minGrace, maxGrace = 300 * time.Millisecond, time.Second

// after sends a request behind an exchange, waits for it, and then a little for the exchange: a server
// that answers the later one and is silent on the earlier one does not answer it.
func (c *conn) after(x *exchange) outcome {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.odd = nil
	}()
	var o outcome
	for range 2 { // once could be by chance, on a machine that has much to do
		alive := c.alive()
		if alive.none != replied {
			select {
			case r := <-x.first: // it was answered, and then there was an end
				alive.why = "the answer " + r.show() + ", and then " + alive.why
			default:
			}
			return outcome{exchange: x, none: alive.none, why: alive.why}
		}
		if o = c.await(x, min(max(minGrace, 20*alive.took), maxGrace)); o.none != silent {
			return o
		}
	}
	o.why = "nothing, while requests after it were answered"
	return o
}

// usable reports whether the session can be used further.
func (c *conn) usable() bool {
	select {
	case <-c.wire.gone():
		return false
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.lost
}

// receive takes one line, or one body, that the server sent.
func (c *conn) receive(line []byte) {
	trimmed := bytes.TrimSpace(line)
	if len(trimmed) > 0 && trimmed[0] == '[' {
		var all []json.RawMessage
		if json.Unmarshal(trimmed, &all) == nil {
			for _, one := range all {
				c.receive(one)
			}
			return
		}
	}
	if c.flooded() {
		return
	}
	r := &reply{raw: trimmed}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(trimmed, &members); err != nil {
		c.noMessage(trimmed, err.Error())
		return
	}
	if err := json.Unmarshal(trimmed, &r.Message); err != nil {
		c.noMessage(trimmed, err.Error())
		return
	}
	id := canonicalID(members["id"])
	if r.Method != "" {
		c.judge.message(c, r.Method, trimmed)
		if r.Method == "notifications/progress" {
			c.progressed(members["params"])
		}
		if c.unneeded(); id != "" {
			c.answer(string(members["id"]), r.Method)
		}
		return
	}
	if r.Version == "" && r.Result == nil && r.Error == nil {
		c.noMessage(trimmed, "it has none of method, result and error")
		return
	}
	c.mu.Lock()
	x := c.asked[id]
	if x == nil && id == "" {
		x = c.odd
	}
	if x == nil {
		c.stray = clip(string(trimmed), maxShown)
	}
	again := x == nil || x.replies > max(1, x.allowed)
	c.mu.Unlock()
	c.settle(x, r)
	if again {
		c.unneeded()
	}
}

// progressed counts the progress of one call.
func (c *conn) progressed(params json.RawMessage) {
	var of struct {
		Token json.RawMessage `json:"progressToken"`
	}
	_ = json.Unmarshal(params, &of)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token != "" && canonicalID(of.Token) == canonicalID(json.RawMessage(c.token)) {
		c.progress++
	}
}

// follow counts progress for a token from now on. It returns how much there has been.
func (c *conn) follow(token string) (progress int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token != token {
		c.token, c.progress = token, 0
	}
	return c.progress
}

// answer answers a request of the server's: it has asked for what this client does not have.
func (c *conn) answer(id, method string) {
	if method == "ping" {
		c.wire.send([]byte(`{"jsonrpc":"2.0","id":`+id+`,"result":{}}`), func(int, []byte) {})
		return
	}
	c.wire.send([]byte(`{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32601,"message":"This client has no such method."}}`), func(int, []byte) {})
}
