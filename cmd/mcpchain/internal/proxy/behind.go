package proxy

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/task"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A call that lasts is behind a handle once package task has answered it: the client has an ID under which it
// fetches the answer. The server goes on, and knows nothing of that.

// Handed implements kept.Outside.
func (c *request) Handed(work context.Context) bool {
	c.mu.Lock()
	c.handed = !c.cancelled
	c.mu.Unlock()
	if !c.isBehind() {
		return false
	}
	p, key := c.proxy, c.ID.Key()
	p.mu.Lock()
	p.behind[key] = c
	p.mu.Unlock()
	p.running.Add(1)
	context.AfterFunc(work, func() {
		defer p.running.Done()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.behind[key] == c {
			delete(p.behind, key)
		}
		p.endProgress(c, nil)
	})
	return true
}

// cancels notes that the client cancels the call, unless it has a handle: then it has its answer.
func (c *request) cancels() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancelled = !c.handed
	return c.cancelled
}

// sentAs notes the ID under which the server has the call.
func (c *request) sentAs(id rpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.as = id
}

// serverID returns the ID under which the server has the call.
func (c *request) serverID() rpc.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.as == nil {
		return c.ID
	}
	return c.as
}

// isBehind reports whether the client has a handle for the call.
func (c *request) isBehind() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.handed
}

// Asks implements kept.Outside. Over stdio a server does not say during which call it asks.
func (c *request) Asks() bool {
	up := c.proxy.server()
	return up != nil && c.proxy.serverWaits(up, c.began)
}

// Write implements kept.Outside.
func (c *request) Write(res *mcp.CallToolResult) json.RawMessage {
	r, shown := c.noted()
	answer, failed := c.proxy.answer(c.ID, r, shown, res, nil)
	if c.proxy.hides(failed, res) {
		answer = c.proxy.hidden(answer)
	}
	return answer.Result
}

// Read implements kept.Outside. It reads the result twice: one of the two may be changed.
func (c *request) Read(raw json.RawMessage) *mcp.CallToolResult {
	m := rpc.Answered(c.ID, raw)
	read := func() *mcp.CallToolResult {
		res, _ := c.proxy.result(call.MethodCallTool, m).(*mcp.CallToolResult)
		_ = rpc.Unmarshal(m.Value("result", "_meta"), &res.Meta) // what is added to it leaves the rest
		return res
	}
	c.note(reply{m: m, result: raw}, read())
	return read()
}

// asksForProgress returns the line of a call whose server is asked to tell of its progress, though the client is not
// interested: it reads the last one with the handle.
func (p *Proxy) asksForProgress(c *request, line *rpc.Message) *rpc.Message {
	if !p.Tasks || c.Method != call.MethodCallTool || c.Token() != nil {
		return line
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.token == nil {
		c.token = rpc.TextID(rand.Text())
		p.tokens[c.token.Key()] = c
	}
	return line.WithToken(c.token)
}

// runs sets the context of the handler as long as the server has the call, and nil then.
func (c *request) runs(work context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.work = work
}

// running returns the context that was set with runs.
func (c *request) running() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.work
}

// progressed keeps what the server tells of the progress of a call. It reports whether the client wants to know it.
func (c *request) progressed(m *rpc.Message) bool {
	if work := c.running(); work != nil {
		_, _ = c.proxy.tell(work, m.Method, read[mcp.ProgressNotificationParams](nil, c.proxy.hidden(m).Params, nil))
	}
	return c.Token() != nil && !c.isBehind()
}

// givenUp reports whether an error is, or is caused by, the client's wish that the call ends.
func givenUp(err error) bool {
	return errors.Is(err, errCancelled) || errors.Is(err, task.ErrCancelled)
}
