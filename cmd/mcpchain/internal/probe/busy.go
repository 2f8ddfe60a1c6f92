package probe

import (
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/conduct"
	"github.com/mcpchain/mcpchain/internal/words"
)

// The checks of many requests at once, and of those that are taken back.
func busyChecks() []*Check {
	return []*Check{
		{Name: "many-at-once", Title: "Fifty requests at once are all answered.", Why: "Agents call in parallel. What is lost is waited for until the client gives up.", both: true, run: manyAtOnce},
		{Name: "late-reader", Title: "Requests are answered when their caller reads late.", Why: "A client that is busy reads nothing for a while. A server must not lose answers, nor stop for ever.", over: overStdio, run: lateReader},
		{Name: "many-failures", Title: "After 200 failures a request is answered as before.", Why: "A model in a loop fails as often, and other work must not suffer.", run: manyFailures},
		{Name: "progress-ends", Title: "A call that is taken back reports no more progress.", Why: "Some clients end the session at progress that they do not expect, and the work goes on unseen.", run: progressEnds},
		{Name: "writes-kept", Title: "What fifty calls at once were told is written can be read.", Why: "A write that is lost behind a success is found by nobody, until it is needed.", run: writesKept},
		{Name: "cancelled-call", Title: "A call that is taken back is survived, and answered at most once.", Why: "Clients cancel when a person stops the model.", both: true, run: cancelledCall},
	}
}

func manyAtOnce(t *trial) {
	const n = 50
	c, quick := t.conn(), t.quick()
	t.skipped = ""
	all := make([]*exchange, n)
	for i := range all {
		id := c.id()
		switch {
		case i%2 == 0 && len(quick) > 0:
			all[i] = c.beginCall(quick[i/2%len(quick)], `{"mcpchain_unknown":1}`, id)
		case i%3 == 0:
			all[i] = c.begin(c.line(id, "tools/call", `{"name":"`+noSuch+`","arguments":{}}`), id)
		default:
			all[i] = c.begin(c.line(id, "tools/list", "{}"), id)
		}
	}
	t.asked = true
	t.allAnswered(c, all)
}

// allAnswered notes a finding if some of many requests have no answer.
func (t *trial) allAnswered(c *conn, all []*exchange) {
	deadline := time.Now().Add(2 * c.limit)
	missing, last := 0, outcome{}
	for _, x := range all {
		if o := c.await(x, max(time.Until(deadline), 10*time.Millisecond)); o.none != replied {
			missing++
			last = o
		}
	}
	if missing > 0 {
		last = c.settled(last)
		if last.none == silent {
			last.why = "nothing in " + words.Duration(2*c.limit)
		}
		t.weighed(User, last.none, "", fmt.Sprintf("%d of %d requests are not answered.", missing, len(all)), string(last.sent), last.got())
	}
}

func lateReader(t *trial) {
	const atLeast = 256 << 10 // bytes, which no pipe holds
	one := t.conn().ask("tools/list", "{}")
	if !t.answered("", one) {
		return
	}
	n := min(max(atLeast/len(one.raw), 20), 300)
	hold := make(chan struct{})
	c, err := t.connect(conduct.Older, hold)
	if err != nil {
		close(hold)
		t.noReturn(err)
		return
	}
	defer t.close(c)
	id := c.id()
	c.begin(c.line(id, "initialize", initializeParams), id)
	c.wire.send(c.line("", "notifications/initialized", "{}"), func(int, []byte) {})
	all := make([]*exchange, n)
	for i := range all {
		id := c.id()
		all[i] = c.begin(c.line(id, "tools/list", "{}"), id)
	}
	time.Sleep(t.started + 500*time.Millisecond)
	close(hold)
	t.asked = true
	t.allAnswered(c, all)
}

func manyFailures(t *trial) {
	const n = 200
	c := t.conn()
	before := c.ask("tools/list", "{}")
	for i := range n {
		if o := c.ask("tools/call", fmt.Sprintf(`{"name":"%s_%d","arguments":{}}`, noSuch, i%3)); !t.answered("", o) || t.late() {
			return
		}
	}
	after := c.ask("tools/list", "{}")
	if !t.answered("", after) {
		return
	}
	if before.none == replied && !before.failed() && after.failed() {
		t.found("", "A request that was right before fails now.", string(after.sent), after.got())
	}
}

func cancelledCall(t *trial) {
	c := t.conn()
	id := c.id()
	line := c.line(id, "tools/list", "{}")
	if len(t.callable) > 0 {
		if good, ok := t.callable[0].good(); ok {
			line = c.line(id, "tools/call", `{"name":`+quote(t.callable[0].Name)+`,"arguments":`+object(good, "")+`}`)
		}
	}
	// Nobody reads the answer, if there is one, so it is not judged.
	c.start(&exchange{sent: line, ignored: true}, id, false)
	c.wire.send(c.line("", "notifications/cancelled", `{"requestId":`+id+`,"reason":"mcpchain check"}`), func(int, []byte) {})
	t.asked = true
	if alive := c.alive(); alive.none != replied {
		t.weighed(User, alive.none, "", alive.what(), string(line), alive.got())
	}
}
