package proxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/jsons"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// How long a middleware waits for what the server lists: to explain a failure, and by default for a
// guard, which must not let a call pass without.
const (
	lookupWait = 2 * time.Second
	guardWait  = 30 * time.Second
)

// errNotInTime says that the server did not list anything in time.
var errNotInTime = errors.New("the server did not list anything in time")

// What the server has listed answers the same question of other middlewares for a moment: those that explain one
// failure ask one after the other. A long list that takes the server some time answers it for so many times that
// time, so that a server whose calls fail all the time has little to do with lists.
const (
	moment = 100 * time.Millisecond
	times  = 20
)

// A look is one question of the middlewares to the server. Equal questions at the same time share it.
type look struct {
	done chan struct{} // closed when res and err are set
	res  mcp.Result
	err  error
}

// lookup answers the question of a middleware. While the server does not run or does not answer, it is
// what the server listed before. For a guard that is only what this run of the server has listed.
func (p *Proxy) lookup(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
	if standIns[method] == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no middleware may ask for " + method}
	}
	c, _ := ctx.Value(callKey{}).(*request)
	guard := c != nil && !c.forwarded.Load() && (p.Strict || p.Tools.ReadOnly || p.Mend)
	res, err := p.fresh(ctx, c, method, req, guard)
	if err == nil {
		return res, nil
	}
	raw := p.lists.get(method, req, guard)
	if raw == nil {
		return nil, err
	}
	return p.listed(method, raw)
}

// fresh asks the server.
func (p *Proxy) fresh(ctx context.Context, c *request, method string, req mcp.Request, guard bool) (mcp.Result, error) {
	wait := lookupWait
	if guard && (p.Strict || p.Tools.ReadOnly) { // else the call is sent all the same
		wait = min(guardWait, cmp.Or(p.Learn, guardWait))
	}
	up := p.server()
	switch {
	case c != nil && c.isSlow(method):
		return nil, errNotInTime // one wait is enough for a call
	case c != nil && c.running() != nil && p.lists.get(method, req, true) != nil:
		return nil, rpc.ErrUnsent // many servers do one thing at a time, and this one runs the call
	case !guard && up != nil && up.starts():
		return nil, errNotInTime // it answers nothing, and the time of the call may be over
	case !guard && up == nil && p.lists.get(method, req, false) != nil:
		return nil, rpc.ErrUnsent
	}
	caller := ""
	if c != nil {
		caller = c.Authorization
	}
	l, err := p.look(method, req, caller, guard)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-l.done:
		if list, ok := l.res.(*mcp.ListToolsResult); ok { // a middleware may add to it
			own := *list
			own.Tools = slices.Clone(list.Tools)
			return &own, l.err
		}
		return l.res, l.err
	case <-timer.C:
		if c != nil {
			c.noteSlow(method)
		}
		return nil, errNotInTime
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// look asks the server, or joins an equal question of now or of a moment ago. For a guard it never takes an older
// list. The question goes on when nobody waits any more: then the next one finds its answer.
func (p *Proxy) look(method string, req mcp.Request, caller string, guard bool) (*look, error) {
	params, err := json.Marshal(req.GetParams())
	if err != nil {
		return nil, err
	}
	key := method + " " + string(params) + " " + caller // others may see other lists
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.looks[key]; l != nil && !(guard && isClosed(l.done)) {
		return l, nil
	}
	l := &look{done: make(chan struct{}), err: errNotInTime}
	p.looks[key] = l
	began := time.Now()
	go func() {
		defer p.guard(func() {})
		defer func() {
			close(l.done)
			if l.err == nil {
				time.AfterFunc(max(moment, times*time.Since(began)), func() { p.forgetLook(key, l) })
			} else {
				p.forgetLook(key, l)
			}
		}()
		ctx, cancel := context.WithTimeoutCause(p.life, guardWait, errNotInTime)
		defer cancel()
		l.res, l.err = p.list(ctx, method, req, by(caller, rpc.Request(rpc.NumberID(0), method, params)))
	}()
	return l, nil
}

func (p *Proxy) forgetLook(key string, l *look) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.looks[key] == l {
		delete(p.looks, key)
	}
}

// listChanged forgets what the server has listed if a notification says that it lists something else now.
func (p *Proxy) listChanged(method string) {
	if p.lists.changed(method) {
		p.mu.Lock()
		defer p.mu.Unlock()
		clear(p.looks)
		p.forgetRemembered() // last: what is asked from now on joins no question of before
	}
}

func (p *Proxy) forgetRemembered() {
	if place := p.place.Load(); place != nil {
		place.Forget()
	}
}

// compare tells the client which lists of the server have changed since the run before, as far as anybody has read
// them, and the server says that it announces such changes: the new run does not know that there was another one.
func (p *Proxy) compare(before map[string]json.RawMessage) {
	defer p.guard(func() {})
	ctx, cancel := context.WithTimeoutCause(p.life, guardWait, errNotInTime)
	defer cancel()
	for _, what := range p.session.announced() {
		for key, was := range before {
			cursor, ok := strings.CutPrefix(key, what+"/list ")
			if !ok {
				continue
			}
			params := marshal(mcp.ListToolsParams{Cursor: cursor}) // the others have the same
			r, err := p.read(ctx, by(p.session.caller(), rpc.Request(rpc.NumberID(0), what+"/list", params)))
			if err == nil && r.err == nil && r.wire == nil && !same(was, r.result) {
				changed := rpc.Request(nil, "notifications/"+what+"/list_changed", nil)
				p.listChanged(changed.Method)
				p.write(changed)
				break
			}
		}
	}
}

// same reports whether two values are the same but for white space and the order of their members.
func same(one, other json.RawMessage) bool {
	a, errA := jsons.Canonical(one)
	b, errB := jsons.Canonical(other)
	return bytes.Equal(one, other) || errA == nil && errB == nil && bytes.Equal(a, b)
}

// list asks the server for a list, waits for it, and keeps it.
func (p *Proxy) list(ctx context.Context, method string, req mcp.Request, m *rpc.Message) (mcp.Result, error) {
	r, err := p.read(ctx, m)
	switch {
	case err != nil:
		return nil, err
	case r.wire != nil:
		return nil, r.wire
	case r.err != nil:
		return nil, r.err
	}
	p.lists.keep(method, req, r.result)
	return p.listed(method, r.result)
}

// read asks the server what changes nothing. If the run ends, or the session is lost, the next one is asked.
func (p *Proxy) read(ctx context.Context, m *rpc.Message) (reply, error) {
	for lost := false; ; {
		up, err := p.current(ctx)
		if err != nil {
			return reply{}, err
		}
		r, err := up.renamed(ctx, m, nil)
		if !errors.Is(err, rpc.ErrUnsent) && (!r.lost || lost) {
			return r, err
		}
		lost = lost || r.lost
		select {
		case <-up.ended:
		case <-ctx.Done():
			return reply{}, errNotInTime
		}
	}
}

// listed reads a list as the middlewares get it.
func (p *Proxy) listed(method string, raw json.RawMessage) (mcp.Result, error) {
	if method == "tools/list" {
		raw, _ = p.Tools.filter(raw)
	}
	res := standIns[method]()
	if err := rpc.Unmarshal(raw, res); err != nil {
		return nil, err
	}
	if list, ok := res.(*mcp.ListToolsResult); ok {
		p.bound(list)
	}
	return res, nil
}

// isSlow reports whether a list did not come in time for the call before.
func (c *request) isSlow(method string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.slow, method)
}

func (c *request) noteSlow(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slow = append(c.slow, method)
}
