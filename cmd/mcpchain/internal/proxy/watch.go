package proxy

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/jsons"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// alone is how long a server may be silent by default that does nothing but run one call. Many servers
// do one thing at a time, and answer no ping meanwhile.
const alone = 10 * time.Minute

// watch records what comes instead of answers, and ends a server that hangs: it writes nothing and answers no ping,
// while somebody waits for it. It gets no ping before it has answered anything: its start has a time of its own.
// Nor does it while it waits for the client itself.
func (u *upstream) watch() {
	hang, start := u.proxy.Hang, u.proxy.StartTimeout
	often := soonAnswered / 10
	for _, within := range []time.Duration{hang, start} {
		if within > 0 {
			often = min(often, max(within/30, time.Millisecond))
		}
	}
	tick := time.NewTicker(often)
	defer tick.Stop()
	var (
		asked   int64 // since when somebody has waited for its start, zero if nobody has
		pinged  int64 // when the ping was sent that is not answered, zero for none
		several int64 // since when the server has more to do than one call, zero if it has not
	)
	for {
		select {
		case <-u.process.Ended():
			return
		case <-tick.C:
		}
		wrote, at, work := u.wrote.Load(), now(), u.work()
		u.tell(at)
		if !u.answered.Load() {
			if asked == 0 && work != idle {
				asked = at
			}
			if start > 0 && work != idle && time.Duration(at-asked) >= start {
				u.proxy.Logger.Error("the server has not answered anything since its start and is ended; -start-timeout=0 leaves it alone", slog.Duration("waited", time.Duration(at-asked).Round(time.Second)))
				u.kill(u.startError())
				return
			}
			continue
		}
		if hang <= 0 {
			continue
		}
		if work != manyCalls {
			several = 0
		} else if several == 0 {
			several = at
		}
		patience, since := hang, pinged
		if several != 0 {
			since = max(pinged, several)
		}
		if work == oneCall {
			patience = max(hang, cmp.Or(u.proxy.Alone, alone))
		}
		switch {
		case work == idle || u.proxy.serverWaits(u, math.MinInt64), wrote > pinged && pinged != 0:
			pinged = 0
		case pinged != 0 && time.Duration(at-since) >= patience:
			u.proxy.Logger.Error("the server answers no ping and is ended; -hang=0 leaves it alone", slog.Duration("silent", time.Duration(at-wrote)))
			u.silenced()
			u.kill(&silentError{patience})
			return
		case pinged == 0 && time.Duration(at-max(wrote, u.proxy.asked.Load())) >= hang/6:
			pinged = at
			id := rpc.RandomID()
			u.mu.Lock()
			u.remember(id.Key(), ours()) // whatever it answers, it is alive
			u.mu.Unlock()
			select {
			case u.queue <- outgoing{rpc.Request(id, "ping", nil), ""}:
			default: // it does not even read
			}
		}
	}
}

// work is what a run has to do.
type work uint8

const (
	idle      work = iota // nobody waits for it
	oneCall               // one call of the client, and nothing else was asked
	manyCalls             // something else: it should at least answer pings
	overtime              // a call that ran into its time limit, and nothing was heard since
)

// work says what the run has to do.
func (u *upstream) work() work {
	overdue := u.overdue.Load()
	if overdue != 0 && overdue >= u.wrote.Load() {
		return overtime
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	calls, asked := 0, 0
	for _, w := range u.waiting {
		switch {
		case w.of == nil || w.of.Method == call.MethodListen: // an internal look-up, or what lasts as long as the session
		case w.of.isBehind(): // its time limit bounds it, whatever waits behind it
			return idle
		case slices.Contains(lasting, w.of.Method):
			calls++
			asked++
		default:
			asked++
		}
	}
	switch {
	case len(u.waiting) == 0:
		return idle
	case calls == 1 && asked == 1:
		return oneCall
	default:
		return manyCalls
	}
}

// Busy reports whether a call of the client runs, or may run: the server has not answered it, though it was told to
// stop. A subscription does not count.
func (p *Proxy) Busy() bool {
	p.mu.Lock()
	up, busy := p.up, len(p.behind) > 0
	for _, c := range p.calls {
		busy = busy || c.Method != call.MethodListen
	}
	p.mu.Unlock()
	return busy || up != nil && up.mayRun()
}

// mayRun reports whether the run still owes an answer that nobody waits for. A call counts no longer than a server
// may be silent that runs one call.
func (u *upstream) mayRun() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, late := range u.late {
		if time.Since(late.left) < cmp.Or(u.proxy.Alone, alone) {
			return true
		}
	}
	return false
}

// lasting are the methods whose calls may take long.
var lasting = []string{call.MethodCallTool, call.MethodReadResource, call.MethodGetPrompt, call.MethodComplete}

// silenced notes, for a run that is ended, the calls over their time limits since it last wrote anything. It may
// have finished earlier ones.
func (u *upstream) silenced() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, late := range u.late {
		if late.level == slog.LevelWarn && late.left.Sub(epoch) >= time.Duration(u.wrote.Load()) {
			u.proxy.silent.Put(late.call, true)
		}
	}
}

// withoutAdvice returns the failure of a call whose run was ended in silence, or of one over its time limit. If the
// same call ended a run before, the failure advises no repetition. Other errors stay.
func (p *Proxy) withoutAdvice(req mcp.Request, err error) error {
	hung, silent := errors.AsType[*silentError](err)
	elsewhere, left := errors.AsType[*call.ElsewhereError](err)
	if !silent && (!left || givenUp(err)) {
		return err
	}
	key := sameCall(req)
	again, _ := p.silent.Get(key)
	switch {
	case silent:
		p.silent.Put(key, true)
		return hungError(hung, again)
	case again:
		return overdueError(elsewhere)
	default:
		return err
	}
}

// answeredAgain forgets that a run was ended while it ran a call.
func (p *Proxy) answeredAgain(req mcp.Request) {
	if p.silent.Len() == 0 {
		return
	}
	if key := sameCall(req); key != "" {
		if before, _ := p.silent.Get(key); before {
			p.silent.Put(key, false)
		}
	}
}

// sameCall returns what calls have in common that are the same: what is called, and the arguments.
func sameCall(req mcp.Request) string {
	args, err := jsons.Canonical(call.ArgumentsOf(req))
	if err != nil {
		args = call.ArgumentsOf(req)
	}
	sum := sha256.Sum256(slices.Concat([]byte(call.Target(req)), []byte{0}, args))
	return string(sum[:])
}
