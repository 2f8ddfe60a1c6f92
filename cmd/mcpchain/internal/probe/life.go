package probe

import (
	"encoding/json"
	"time"

	"github.com/mcpchain/mcpchain/internal/conduct"
	"github.com/mcpchain/mcpchain/internal/words"
)

// The checks of how a session begins and ends.
func lifeChecks() []*Check {
	const stays = "Each session leaves a process behind, until the machine has no memory left."
	return []*Check{
		{Name: "unknown-version", Title: "An unknown version of the protocol is answered with one that the server speaks, or refused.", Why: "A client of next year has to find out that it is too new.", run: func(t *trial) {
			for _, version := range []string{"1999-01-01", "2099-12-31"} {
				t.fresh(func(c *conn) {
					o := t.initialize(c, `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":`+clientInfo+`}`)
					if !t.answered(version, o) || o.failed() {
						return
					}
					var res struct {
						ProtocolVersion string `json:"protocolVersion"`
					}
					if json.Unmarshal(o.Result, &res) != nil || res.ProtocolVersion == version || res.ProtocolVersion == "" {
						t.found(version, "The server agrees to a version that there is not.", string(o.sent), o.got())
					}
				})
			}
		}},
		{Name: "odd-initialize", Title: "An initialize without what it needs is answered, with -32602 if it is refused.", Why: "Else the client believes that it has a session, and each call fails.", run: func(t *trial) {
			for _, odd := range [][2]string{{"no version", ""}, {"a number", `"protocolVersion":5,`}} {
				t.fresh(func(c *conn) {
					o := t.initialize(c, `{`+odd[1]+`"capabilities":{},"clientInfo":`+clientInfo+`}`)
					if t.answered(odd[0], o) && o.failed() {
						t.coded(odd[0], o, codeInvalidParams, codeInvalidRequest)
					}
				})
			}
		}},
		{Name: "before-initialize", Title: "A request before initialize is answered.", Why: "A client whose session was lost sends one, and waits for ever.", run: func(t *trial) {
			t.fresh(func(c *conn) {
				id := c.id()
				t.answered("", c.await(c.begin(c.line(id, "tools/list", "{}"), id), t.startLimit()))
			})
		}},
		{Name: "initialize-twice", Title: "A second initialize is answered, and the session goes on.", Why: "Clients that connect again over the same pipe send one.", run: func(t *trial) {
			if t.version == conduct.Current {
				t.skip(conduct.Current + " has no initialize")
				return
			}
			c := t.conn()
			id := c.id()
			t.answered("", c.after(c.begin(c.line(id, "initialize", initializeParams), id)))
		}},
		{Name: "ends-with-input", Title: "The server ends when its standard input is closed.", Why: stays, over: overStdio, run: ends(func(_ *trial, _ *conn, child *child) {
			child.hangUp()
		})},
		{Name: "ends-in-a-call", Title: "The server ends when its caller has gone in the middle of calls.", Why: stays, over: overStdio, run: ends(func(t *trial, c *conn, child *child) {
			for _, tool := range t.callable[:min(len(t.callable), maxCalled)] {
				if good, ok := tool.good(); ok {
					c.beginCall(tool, object(good, ""), c.id())
				}
			}
			c.listOften(20)
			child.hangUp()
		})},
		{Name: "ends-unread", Title: "The server ends when nobody reads what it writes, and its standard input is closed.", Why: "A client that crashed reads nothing. " + stays, over: overStdio, run: ends(func(_ *trial, c *conn, child *child) {
			child.stopReading()
			c.listOften(20)
			child.hangUp()
		})},
		{Name: "ends-when-told", Title: "The server ends when it gets SIGTERM.", Why: "Clients and systems ask so before they kill, and a server that is killed cannot put away what it was doing.", over: overStdio, run: ends(func(t *trial, _ *conn, child *child) {
			if !terminate(child.cmd) {
				t.skip("this system has no such signal")
				child.hangUp()
			}
		})},
		{Name: "leaves-nothing", Title: "With the server ends all that it has started.", Why: stays, over: overStdio, run: func(t *trial) {
			_, after := t.leave(func(_ *trial, _ *conn, child *child) { child.hangUp() })
			if after > 0 {
				t.found("", "The server has ended, and what it had started still runs.", "", words.Plural(after, "process", "processes"))
			}
		}},
	}
}

func (c *conn) listOften(n int) {
	for range n {
		id := c.id()
		c.begin(c.line(id, "tools/list", "{}"), id)
	}
}

// initialize sends the first request of a session.
func (t *trial) initialize(c *conn, params string) outcome {
	id := c.id()
	return c.await(c.begin(c.line(id, "initialize", params), id), t.startLimit())
}

// startLimit is how long the first answer of a server may take.
func (t *trial) startLimit() time.Duration { return max(t.Limit, 3*t.started) }

// fresh starts a server for one check, without a greeting.
func (t *trial) fresh(use func(c *conn)) {
	c, err := t.connect(conduct.Older, nil)
	if err != nil {
		t.noReturn(err)
		return
	}
	defer t.close(c)
	use(c)
}

// endLimit is how long a server may take to end.
const endLimit = 5 * time.Second

// ends returns a check that a server ends when its caller goes.
func ends(leave func(t *trial, c *conn, child *child)) func(t *trial) {
	return func(t *trial) {
		if ended, _ := t.leave(leave); !ended && t.asked {
			t.found("", "The server still runs "+words.Duration(endLimit)+" later.", "", "")
		}
	}
}

// leave starts a server, lets its caller go, and waits for its end. after is how many processes that
// it has started still run a second later.
func (t *trial) leave(leave func(t *trial, c *conn, child *child)) (ended bool, after int) {
	c, err := t.open(t.version)
	if err != nil {
		t.noReturn(err)
		return true, 0
	}
	defer t.close(c)
	child, ok := c.wire.(*child)
	if !ok {
		return true, 0
	}
	t.asked = true
	leave(t, c, child)
	select {
	case <-child.exited:
	case <-time.After(endLimit):
		return false, 0
	}
	for range 10 {
		if after = left(child.cmd); after == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return true, after
}
