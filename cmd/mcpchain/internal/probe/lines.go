package probe

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/conduct"
)

// The checks of lines that are not messages, or odd ones.
func lineChecks() []*Check {
	// odd sends lines one after the other. ID in a line stands for an ID of its own.
	odd := func(codes []int64, lines ...[2]string) func(t *trial) {
		return func(t *trial) {
			for _, line := range lines {
				codes := codes
				if codes != nil && strings.Contains(line[1], `"ping"`) && json.Valid([]byte(strings.Replace(line[1], "ID", "1", 1))) {
					codes = append(slices.Clone(codes), codeMethodNotFound) // it may have no ping
				}
				o := t.odd(line[1], codes == nil)
				if t.answered(line[0], o) && o.failed() {
					t.coded(line[0], o, codes...)
				}
			}
		}
	}
	long := func(argument func() string) func(t *trial) { // which is made when it is sent
		return func(t *trial) {
			odd(nil, [2]string{"", `{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"` + noSuch + `","arguments":{"a":` + argument() + `}}}`})(t)
		}
	}
	survived := func(lines ...[2]string) func(t *trial) {
		return func(t *trial) {
			for _, line := range lines {
				if o := t.survive(line[1]); o.none == lost || o.none == dead {
					t.answered(line[0], o)
				}
				t.asked = true
			}
		}
	}
	const bug = "A client's bug, or a proxy's, then blocks its caller until that gives up, and nobody sees why."
	invalid, params := [...]int64{codeInvalidRequest, codeInvalidParams, codeParse}, [...]int64{codeInvalidParams, codeInvalidRequest, codeParse}
	return []*Check{
		{Name: "no-json", Title: "A line that is no JSON is answered, with -32700.", Why: bug, run: odd([]int64{codeParse}, [2]string{"a text", `this is no JSON`}, [2]string{"half a message", `{"jsonrpc":"2.0","id":ID,"method":"ping"`})},
		{Name: "no-object", Title: "JSON that is no message is answered, with -32600.", Why: bug, run: odd(invalid[:], [2]string{"a number", `5`}, [2]string{"a text", `"ping"`}, [2]string{"null", `null`})},
		{Name: "no-method", Title: "A message without a method is answered, with -32600.", Why: bug, run: odd(append(invalid[:], codeMethodNotFound), [2]string{"none", `{"jsonrpc":"2.0","id":ID,"params":{}}`}, [2]string{"a number", `{"jsonrpc":"2.0","id":ID,"method":5}`})},
		{Name: "wrong-jsonrpc", Title: "Another version of JSON-RPC is answered, with -32600 if it is refused.", Why: bug, run: odd(invalid[:], [2]string{"1.0", `{"jsonrpc":"1.0","id":ID,"method":"ping"}`}, [2]string{"none", `{"id":ID,"method":"ping"}`})},
		{Name: "odd-params", Title: "Params that are no object are answered, with -32602 if they are refused.", Why: bug, run: odd(params[:],
			[2]string{"a list", `{"jsonrpc":"2.0","id":ID,"method":"tools/list","params":[1,2]}`},
			[2]string{"a text", `{"jsonrpc":"2.0","id":ID,"method":"tools/list","params":"x"}`},
			[2]string{"a number", `{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":5}`})},
		{Name: "no-params", Title: "A call without params is answered, with -32602.", Why: bug, run: odd(params[:],
			[2]string{"none", `{"jsonrpc":"2.0","id":ID,"method":"tools/call"}`},
			[2]string{"null", `{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":null}`})},
		{Name: "odd-meta", Title: "An odd _meta is answered, with -32602 if it is refused.", Why: bug, run: odd(params[:],
			[2]string{"a number", `{"jsonrpc":"2.0","id":ID,"method":"tools/list","params":{"_meta":5}}`},
			[2]string{"an odd progress token", `{"jsonrpc":"2.0","id":ID,"method":"tools/list","params":{"_meta":{"progressToken":{"a":1}}}}`})},
		{Name: "odd-id", Title: "An ID that is neither a text nor a number is answered, with -32600 if it is refused.", Why: bug, run: odd(invalid[:],
			[2]string{"an object", `{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`},
			[2]string{"a list", `{"jsonrpc":"2.0","id":[1],"method":"ping"}`},
			[2]string{"true", `{"jsonrpc":"2.0","id":true,"method":"ping"}`})},
		{Name: "ids-kept", Title: "Any legal ID is answered under the same ID.", Why: "Clients find the request of an answer by its ID: with another one they wait for ever.", run: keptIDs},
		{Name: "id-twice", Title: "Of two requests with one ID one is answered, or both are.", Why: bug, run: sameID},
		{Name: "batch", Title: "A batch is answered, with -32600 if it is refused.", Why: "Clients of 2025-03-26 send batches, and wait for their answers.", run: odd(invalid[:],
			[2]string{"of one", `[{"jsonrpc":"2.0","id":ID,"method":"ping"}]`}, [2]string{"of none", `[]`})},
		{Name: "deep-nesting", Title: "Arguments of 20,000 levels are answered.", Why: "A parser that calls itself for each level ends the server, and a stranger can send such a message.", run: long(func() string { return strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) })},
		{Name: "huge-message", Title: "A message of 11 MB is answered.", Why: "Arguments with a file in them become as large. A server that ends takes all its sessions with it.", run: long(func() string { return `"` + strings.Repeat("mcpchain ", 11_000_000/9) + `"` })},
		{Name: "broken-utf8", Title: "Bytes that are no UTF-8 are survived.", Why: "They stand in files and in names, and clients copy them into arguments.", run: survived(
			[2]string{"bytes", `{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"` + noSuch + "\xff\xfe\xc3" + `"}}`},
			[2]string{"half a surrogate", `{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"` + noSuch + `\ud800"}}`},
			[2]string{"a null character", `{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"` + noSuch + `\u0000"}}`})},
		{Name: "empty-line", Title: "Empty lines are survived.", Why: "Some clients and shells send them.", over: overStdio, run: survived([2]string{"empty", ""}, [2]string{"blank", "  \t "})},
		{Name: "unasked-answer", Title: "An answer to nothing is ignored.", Why: "It comes late from a client that was asked before, and must not end the session.", run: survived(
			[2]string{"a result", `{"jsonrpc":"2.0","id":999999,"result":{}}`},
			[2]string{"an error", `{"jsonrpc":"2.0","id":"no-such","error":{"code":-32603,"message":"x"}}`},
			[2]string{"an error without an ID", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`})},
		{Name: "odd-notification", Title: "Notifications that nobody knows, and odd ones, are survived.", Why: "New clients send new ones.", run: survived(
			[2]string{"unknown", `{"jsonrpc":"2.0","method":"notifications/mcpchain_no_such","params":{}}`},
			[2]string{"cancelled without params", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`},
			[2]string{"cancelled for nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":424242}}`},
			[2]string{"cancelled with an odd ID", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":[1]}}}`},
			[2]string{"progress for nothing", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"no","progress":1}}`})},
		{Name: "notification-unanswered", Title: "A notification is not answered, whatever its method.", Why: "Nobody waits for such an answer, and some clients end the session.", over: overStdio, run: silentNotification},
		{Name: "slow-message", Title: "A message that comes in parts is read as one.", Why: "Pipes cut long messages anywhere.", over: overStdio, run: inParts},
	}
}

// odd sends a line, and a request after it. What takes long to read is waited for first.
func (t *trial) odd(line string, long bool) outcome {
	c, x := t.sendOdd(line)
	if long {
		o := c.settled(c.await(x, 3*c.limit))
		if o.none != replied {
			return o
		}
		if alive := c.alive(); alive.none != replied {
			o = outcome{exchange: x, none: alive.none, why: alive.why}
		}
		return o
	}
	return c.after(x)
}

// survive sends a line that need not be answered, and a request after it. A server that answers that one can still
// end a moment later, of what it read before. What it still answers without an ID answers this line, until another
// one is sent.
func (t *trial) survive(line string) outcome {
	c, x := t.sendOdd(line)
	if alive := c.alive(); alive.none != replied {
		return outcome{exchange: x, none: alive.none, why: alive.why}
	}
	return c.await(x, 100*time.Millisecond)
}

// sendOdd sends a line. ID in it stands for an ID of its own. What has an odd ID may be answered under
// that one, too: the specification leaves it open.
func (t *trial) sendOdd(line string) (*conn, *exchange) {
	c := t.conn()
	id := oddID([]byte(line))
	if strings.Contains(line, "ID") {
		id = c.id()
		line = strings.Replace(line, "ID", id, 1)
	}
	return c, c.beginOdd([]byte(line), id)
}

// ping returns a request that every server answers, under an ID.
func (c *conn) ping(id string) []byte {
	if c.version == conduct.Current {
		return c.line(id, "server/discover", "{}")
	}
	return c.line(id, "ping", "{}")
}

func keptIDs(t *trial) {
	for _, id := range []string{`"mcpchain"`, `0`, `-7`, `9007199254740991`, `"` + strings.Repeat("x", 1000) + `"`, `"ünï \" \\ /"`} {
		c := t.conn()
		t.answered(clip(id, 40), c.after(c.begin(c.ping(id), id)))
	}
}

func sameID(t *trial) {
	c := t.conn()
	id := c.id()
	c.begin(c.ping(id), id)
	second := &exchange{sent: c.ping(id), allowed: 2}
	c.start(second, id, true) // gets both answers: a refusal of the second may have no ID, because that is taken
	t.asked = true
	if alive := c.alive(); alive.none != replied {
		t.answered("", outcome{exchange: second, none: alive.none, why: alive.why})
		return
	}
	deadline := time.Now().Add(maxGrace)
	for {
		c.mu.Lock()
		n := second.replies
		c.mu.Unlock()
		switch {
		case n >= 2 || n == 1 && time.Now().After(deadline): // which of them, and whether both, is left open
			return
		case time.Now().After(deadline):
			t.found("", "Of two requests with one ID none is answered.", string(second.sent), "")
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func silentNotification(t *trial) {
	for _, method := range []string{"tools/list", "mcpchain/no_such_method"} {
		o := t.odd(`{"jsonrpc":"2.0","method":"`+method+`","params":{}}`, false)
		switch o.none {
		case replied:
			t.found(method, "A notification is answered.", string(o.sent), o.got())
		case dead, lost:
			t.answered(method, o)
		default:
			t.asked = true
		}
	}
}

func inParts(t *trial) {
	c := t.conn()
	child, ok := c.wire.(*child)
	if !ok {
		return
	}
	id := c.id()
	line := append(c.ping(id), '\n')
	x := &exchange{sent: line}
	c.expect(x, id, false)
	child.sendSlowly(line, 20*time.Millisecond)
	t.answered("", c.settled(c.await(x, c.limit)))
}
